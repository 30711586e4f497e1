"""What a task of a streaming batch does: find the views it holds, or make them, and apply.

A worker process keeps the views of the last batch. Which views a task works on is decided when all
have met, so that each works on those that its process holds, wherever Spark has put it.
"""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from whence.diagnostics import WhenceError
from whence.engine.spark.decomposed import unpacked_functors
from whence.engine.spark.gang.endpoint import Access
from whence.spark.streaming.changed import write_changes, write_view
from whence.spark.streaming.mailbox import Correspondence, Mailbox, PeerStopped
from whence.spark.streaming.meeting import Holding, Mode, Orders, meet
from whence.spark.streaming.program import Streamed
from whence.spark.streaming.state import Delta, Folder
from whence.view.base import Update
from whence.view.partitioned import Partition, Settings
from whence.view.partitioned_exchange import Alone, Exchange, Post
from whence.view.partitioned_part import Moved

if TYPE_CHECKING:
    from pyspark import Broadcast


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of a query need to know, sent to each process once."""

    streamed: Streamed
    folder: Path
    strategy: str
    threads: int
    functors: bytes


@dataclass(slots=True)
class Held:
    """The views of one partition after a batch, and what that batch changed."""

    version: int
    epoch: str
    """Views that were made together have the same; only those fit each other's ranks."""
    partition: Partition
    moved: Moved


@dataclass(slots=True)
class Told:
    """What a task tells the driver."""

    role: int
    staging: str
    files: list[str] = field(default_factory=list)
    """The relations of which there are changes in the staging folder."""
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each output, how many tuples came and went."""
    rebuilt: bool = False
    rounds: int = 0
    sent: int = 0
    size: int = 0
    """Bytes that went to other tasks."""
    seconds: dict[str, float] = field(default_factory=dict)
    base: int = 0
    failed: bytes = b""
    """The mistake that ended it, pickled."""
    stopped: bool = False
    """Whether the mistake of another task ended it."""


_held: dict[tuple[str, int], Held] = {}
_jobs: dict[str, Job] = {}
_boxes: dict[str, Mailbox] = {}


def run_batch(
    run: str, job: Broadcast[bytes], service: str, access: Access, token: str, _: Iterable[int]
) -> Iterator[bytes]:
    """Take part in one batch; what comes out is for the driver."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    started = time.perf_counter()
    if run not in _jobs:
        _jobs[run] = pickle.loads(job.value)
        _forget_others(run, _jobs[run].folder)
    known = _jobs[run]
    box = _mailbox(run, service, access) if known.streamed.speaks else None
    if box is not None:
        box.open(token)
    location = "" if box is None else box.location
    attempt = context.taskAttemptId()
    orders = meet(service, access, token, attempt, context.partitionId(), _holdings(run), location)
    met = time.perf_counter()
    told = Told(orders.role, orders.staging)
    exchange: Correspondence | Alone = Alone()
    if box is not None:
        exchange = Correspondence(box, access, token, orders.role, orders.locations)
    try:
        _work(run, known, orders, exchange, told)
    except WhenceError as error:
        told.failed = pickle.dumps((type(error), error.diagnostics))
        if isinstance(exchange, Correspondence):
            exchange.stop()
    except PeerStopped:
        told.stopped = True
    finally:
        if isinstance(exchange, Correspondence):
            exchange.close()
    told.seconds |= {"meet": met - started, "task": time.perf_counter() - started}
    yield pickle.dumps(told)


def _work(run: str, job: Job, orders: Orders, exchange: Exchange, told: Told) -> None:
    """Bring the views of one partition to the batch, and write what changed."""
    streamed, folder = job.streamed, Folder(job.folder)
    held = _held.pop((run, orders.role), None)
    _drop(run)
    post = Post(exchange)
    started = time.perf_counter()
    if orders.mode is Mode.AGAIN:
        assert held is not None
        moved, partition = held.moved, held.partition
    else:
        if orders.mode is Mode.APPLY:
            assert held is not None
            partition = held.partition
        else:
            partition = _made(job, orders, folder, post)
            told.rebuilt = orders.before.batch >= 0
            told.seconds["make"] = time.perf_counter() - started
            started = time.perf_counter()
        delta = Delta.decode(orders.delta)
        moved = partition.apply(_batch(delta), post)
    told.seconds["apply"] = time.perf_counter() - started
    started = time.perf_counter()
    staging = job.folder / "staging" / orders.staging
    for relation in moved:
        name = f"changes/{relation}/part-{orders.role:05d}.parquet"
        counts = write_changes(streamed, relation, moved, staging / name)
        told.rows[relation] = counts
        if any(counts):
            told.files.append(relation)
    if orders.compact:
        into = staging / "snapshot"
        share = orders.role, streamed.tasks
        told.base = folder.compact(
            into, orders.before, orders.batch, _first(streamed), share, streamed.kinds
        )
        for relation in streamed.outputs:
            table = partition.table(relation)
            if table is not None and table.num_rows:
                name = f"views/{relation}/part-{orders.role:05d}.parquet"
                write_view(streamed, relation, table, into / name)
    told.seconds["write"] = time.perf_counter() - started
    told.rounds, told.sent, told.size = post.rounds, post.tuples, post.bytes
    _held[run, orders.role] = Held(orders.batch, orders.epoch, partition, moved)


def _made(job: Job, orders: Orders, folder: Folder, post: Post) -> Partition:
    """Make the views of one partition from the base facts before the batch."""
    streamed, before = job.streamed, orders.before
    settings = Settings(job.strategy, job.threads, functors=unpacked_functors(job.functors))
    partition = Partition(
        streamed.groups, streamed.outputs, task=orders.role, tasks=streamed.tasks, settings=settings
    )
    if before.batch >= 0:  # else the first batch has the facts of the text too
        base = folder.base(before.snapshot, orders.batch - 1, _first(streamed))
        partition.apply(_batch(Delta(came={**base.came, **streamed.constants})), post)
    return partition


def _first(streamed: Streamed) -> dict[str, pa.Table]:
    """Return the facts of the program's text, as views take them."""
    return {name: streamed.taken(name, table) for name, table in streamed.facts.items()}


def _batch(delta: Delta) -> dict[str, Update]:
    names = {*delta.came, *delta.went}
    return {name: Update(delta.came.get(name), delta.went.get(name)) for name in names}


def _holdings(run: str) -> tuple[Holding, ...]:
    """Return what this process holds of a query."""
    held = [(role, one) for (known, role), one in _held.items() if known == run]
    return tuple(Holding(role, one.version, one.epoch) for role, one in held)


def _drop(run: str) -> None:
    """Drop the views of other partitions: another process has newer ones."""
    for key in [key for key in _held if key[0] == run]:
        del _held[key]


def _forget_others(run: str, folder: Path) -> None:
    """Drop what another driver of the same query had this process hold."""
    for known in [r for r, job in _jobs.items() if r != run and job.folder == folder]:
        del _jobs[known]
        _drop(known)
        box = _boxes.pop(known, None)
        if box is not None:
            box.shutdown()


def _mailbox(run: str, service: str, access: Access) -> Mailbox:
    """Return the endpoint of this process, at the address that the driver is reached from."""
    if run not in _boxes:
        host, port = service.split("://")[1].rsplit(":", 1)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host.strip("[]"), int(port)))
            _boxes[run] = Mailbox(probe.getsockname()[0], access)
    return _boxes[run]
