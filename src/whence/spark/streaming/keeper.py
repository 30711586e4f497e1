"""What the driver does with each batch: read it, have tasks apply it, let it count.

Every step may be taken twice: a batch that counts is passed over, what it does to base facts is
kept before anything else, and what it changed appears at once under the batch's own number.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
import pickle
import secrets
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from whence.diagnostics import WhenceError
from whence.engine.spark.decomposed import packed_functors, pickled
from whence.engine.spark.gang.endpoint import Access
from whence.engine.spark.gang.job import tls_of
from whence.engine.spark.session import is_local
from whence.functor.user import UserFunctors
from whence.spark.streaming.alive import KeepAlive
from whence.spark.streaming.changed import batch_column
from whence.spark.streaming.incoming import OnBadRow, Reader, Soft, lines_of, refuse, work_out
from whence.spark.streaming.meeting import Meeting, Orders
from whence.spark.streaming.program import Streamed
from whence.spark.streaming.state import Committed, Delta, Folder, merged
from whence.spark.streaming.task import Job, Told, run_batch
from whence.view.windows import Window

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOPBACK = "127.0.0.1"
_BATCHES = 100
"""Batches after which there is a new snapshot."""
_ROWS = 4, 10_000
"""Or when so many times as many rows have come and gone as the last one has, and so many."""

_ATTEMPTS = 4
_LOST = ("Could not recover from a failed barrier ResultStage", "PeerLost", "attempt is over")
"""What Spark says when an executor dies under tasks that run together, which it does not try
again; a shuffle behind them would let it, and cost every batch. Or a peer noticed it first."""

Sink = Callable[["SparkSession", Path, int, Mapping[str, Path]], None]
"""What takes the changes of a batch: the folder of each relation that changed."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a stream's views are kept."""

    windows: Mapping[str, Window] = field(default_factory=dict)
    watermark: float = 0.0
    on_bad_row: OnBadRow = "stop"
    strategy: str = "auto"
    threads: int = 1
    functors: UserFunctors | None = None
    sink: Sink | None = None
    compact_every: int = _BATCHES


@dataclass(slots=True)
class Done:
    """What one batch cost, in seconds and tuples."""

    batch: int
    seconds: dict[str, float]
    updates: int
    """Base facts that came and went."""
    late: int
    """Updates that the watermark had passed."""
    bad: int
    """Updates that were put aside."""
    changes: dict[str, tuple[int, int]]
    """For each output, how many tuples came and went."""
    tasks: list[Told]


class Keeper:
    """Keeps the views of a program current, batch by batch; `foreachBatch` calls it."""

    def __init__(
        self, spark: SparkSession, streamed: Streamed, folder: Folder, options: Options
    ) -> None:
        self.spark = spark
        self.streamed = streamed
        self.folder = folder
        self.options = options
        self.failure: WhenceError | None = None
        """The mistake that ended the query."""
        self.last: Done | None = None
        """What the last batch cost."""
        self.committed = folder.committed
        self._run = uuid.uuid4().hex
        self._access = Access(secrets.token_bytes(32), tls_of(spark))
        logging.getLogger("py4j.clientserver").addFilter(_is_no_mistake)
        self._reader = Reader(
            {name: streamed.columns(name) for name in streamed.inputs},
            {
                d.name: streamed.columns(d.name)
                for d in streamed.source.relations
                if d.name not in streamed.inputs
            },
        )
        self._soft = Soft(options.windows, options.watermark, self.committed)
        if options.windows and self.committed.batch >= 0:
            before = folder.base(self.committed.snapshot, self.committed.batch, {})
            self._soft.restore(before.stamped)
        self._first = {name: streamed.taken(name, t) for name, t in streamed.facts.items()}
        job = Job(
            streamed,
            folder.path,
            options.strategy,
            options.threads,
            packed_functors(options.functors),
        )
        self._job = spark.sparkContext.broadcast(pickled(job))
        conf, local = spark.sparkContext.getConf(), is_local(spark)
        host = _LOOPBACK if local else conf.get("spark.driver.host", _LOOPBACK)
        bound = host if local else conf.get("spark.driver.bindAddress", host)
        self._meeting = Meeting(bound, self._access, streamed.tasks, together=streamed.speaks)
        self._service = self._access.location(host, self._meeting.port)
        self._alive = KeepAlive(spark, streamed.tasks)
        folder.clean(self.committed)  # what a driver that was killed left behind

    def watch(self, query: StreamingQuery) -> None:
        """Keep processes with views alive while the query is."""
        self._alive.begin(query)

    def close(self) -> None:
        """End the service at the driver."""
        self._alive.end()
        self._meeting.shutdown()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Apply one batch; what is wrong with it is kept for whoever waits for the query."""
        try:
            self._apply(frame, batch)
        except WhenceError as error:
            self.failure = error
            raise

    def _apply(self, frame: DataFrame, batch: int) -> None:
        with self._alive.busy:
            self._apply_now(frame, batch)

    def _apply_now(self, frame: DataFrame, batch: int) -> None:
        started = time.perf_counter()
        before = self.committed
        if batch <= before.batch:
            return
        delta = self.folder.delta(batch)
        if delta is None:
            delta = self._read(frame, batch)
        else:
            self._soft.follow(delta)
        read = time.perf_counter()
        rows = before.rows + delta.rows
        since = batch - before.snapshot
        compact = since >= self.options.compact_every or rows > max(
            _ROWS[0] * before.base, _ROWS[1]
        )
        told = self._run_tasks(batch, delta, before, compact)
        ran = time.perf_counter()
        self._publish(batch, told, compact)
        after = replace(before, batch=batch, rows=rows, **delta.told)  # type: ignore[arg-type]
        if compact:
            base = sum(one.base for one in told)
            after = replace(after, snapshot=batch, rows=0, base=base)
        self.folder.commit(after)
        self.committed = self._soft.committed = after
        if compact:
            self.folder.clean(after)
        changes = _changes(told)
        now = time.perf_counter()
        seconds = {"read": read - started, "tasks": ran - read, "commit": now - ran}
        late, bad = after.late - before.late, after.bad - before.bad
        self.last = Done(batch, seconds, delta.rows, late, bad, changes, told)
        self._alive.touch()

    def _read(self, frame: DataFrame, batch: int) -> Delta:
        """Read the updates of a batch, and keep what they come to."""
        table: pa.Table = frame.toArrow()
        found = self._reader.read(table)
        if self.options.on_bad_row == "stop":
            refuse(found.bad)
        elif found.bad:
            folder = self.folder.path / "bad"
            folder.mkdir(exist_ok=True)
            beside = folder / f".{batch}.tmp"
            lines = "".join(f"{line}\n" for line in lines_of(found.bad))
            # Bytes that were no UTF-8 are lone surrogates by now, and JSON's `\\udc…` here.
            beside.write_text(lines, "utf-8", errors="backslashreplace")
            beside.rename(folder / f"batch-{batch:012d}.jsonl")
        streamed = self.streamed
        columns = {name: streamed.columns(name) for name in streamed.inputs}
        delta = work_out(found.facts, self._soft, columns, len(found.bad))
        for part in (delta.came, delta.went):
            for name, facts in part.items():
                part[name] = streamed.taken(name, facts)
        self.folder.put_delta(batch, delta)
        return delta

    def _run_tasks(self, batch: int, delta: Delta, before: Committed, compact: bool) -> list[Told]:
        given = delta
        if before.batch < 0:  # the facts of the text come with the first batch
            came = merged([Delta(came=dict(self._first)), delta]).came
            given = Delta(came={**came, **self.streamed.constants})
        body = given.encode() if before.batch < 0 else delta.encode()
        context = self.spark.sparkContext
        context.setJobDescription(f"whence: batch {batch}, {delta.rows} base facts come and go")
        orders = Orders(batch, before, body, compact)
        for attempt in itertools.count(1):
            try:
                told = self._run_once(orders)
                if len({one.staging for one in told}) == 1:
                    break
                raise RuntimeError("this attempt is over: tasks of several have answered")
            except Exception as error:
                if attempt == _ATTEMPTS or not any(what in str(error) for what in _LOST):
                    raise
        for one in told:
            if one.failed:
                kind, diagnostics = pickle.loads(one.failed)
                raise kind(*diagnostics)
        return told

    def _run_once(self, orders: Orders) -> list[Told]:
        token = self._meeting.begin(orders)
        work = functools.partial(
            run_batch, self._run, self._job, self._service, self._access, token
        )
        tasks = self.streamed.tasks
        slots = self.spark.sparkContext.parallelize(range(tasks), tasks)
        found = slots.barrier().mapPartitions(work) if tasks > 1 else slots.mapPartitions(work)
        return [pickle.loads(one) for one in found.collect()]

    def _publish(self, batch: int, told: list[Told], compact: bool) -> None:
        """Let what the batch changed appear, and the snapshot if there is one."""
        path = self.folder.path
        staging = path / "staging" / told[0].staging
        appeared: dict[str, Path] = {}
        for relation in sorted({name for one in told for name in one.files}):
            names = [c.name for c in self.streamed.shown_columns(relation)]
            target = path / "changes" / relation / f"{batch_column(names)}={batch}"
            appeared[relation] = target
            if not target.exists():  # else it appeared before the driver ended
                target.parent.mkdir(parents=True, exist_ok=True)
                _sync_all(staging / "changes" / relation)
                os.rename(staging / "changes" / relation, target)
                _sync(target.parent)
        if self.options.sink is not None and appeared:
            self.options.sink(self.spark, path, batch, appeared)
        if compact:
            target = self.folder.snapshot_path(batch)
            shutil.rmtree(target, ignore_errors=True)
            for parent, _, _ in os.walk(staging / "snapshot"):
                _sync_all(Path(parent))
            os.rename(staging / "snapshot", target)
            _sync(target.parent)
        shutil.rmtree(staging, ignore_errors=True)


def _is_no_mistake(record: logging.LogRecord) -> bool:
    """Say whether Spark's bridge may log this: a mistake of the user's is told without a trace."""
    return record.exc_info is None or not isinstance(record.exc_info[1], WhenceError)


def _changes(told: list[Told]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for one in told:
        for name, (came, went) in one.rows.items():
            before = found.get(name, (0, 0))
            found[name] = before[0] + came, before[1] + went
    return found


def _sync_all(folder: Path) -> None:
    """Make the files of a folder durable."""
    for entry in os.scandir(folder):
        if entry.is_file():
            _sync(Path(entry.path))
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
