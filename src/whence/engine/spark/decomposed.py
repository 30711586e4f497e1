"""Groups whose tasks never speak to each other: each runs the embedded engine on its share."""

from __future__ import annotations

import functools
import pickle
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.engine.base import Limits
from whence.engine.local.engine import LocalEngine
from whence.engine.local.guard import peak_bytes
from whence.engine.local.records import ExactRecordText
from whence.engine.spark.model import EVERYWHERE, Group
from whence.engine.spark.shuffle import BLOBS, TOLD, Outputs, Reader, Tables, run_task, task_number
from whence.engine.spark.stats import TaskStats, worker_name
from whence.functor.user import UserFunctors
from whence.plan.build import build_plan
from whence.plan.nodes import Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.engine.spark.sources import Delivery


@dataclass(frozen=True, slots=True)
class Written:
    """One of the relations that a task gives back."""

    index: int
    """Its place in `Group.writes`."""
    name: str
    everywhere: bool
    """Whether every task has all of it, so that one of them is enough."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a task of a decomposed group is told to do."""

    plan: bytes
    functors: bytes
    written: tuple[Written, ...]
    limits: Limits
    threads: int

    def __call__(self, task: int, tables: Tables) -> Outputs:
        """Evaluate the group's program over the task's tables."""
        started = time.perf_counter()
        plan: Plan = pickle.loads(self.plan)
        engine = LocalEngine(functors=unpacked_functors(self.functors), records=ExactRecordText)
        limits = self.limits
        if limits.max_tuples is not None:  # copies of what is given are not what is derived
            given = sum(table.num_rows for table in tables.values())
            limits = replace(limits, max_tuples=limits.max_tuples + given)
        found = engine.evaluate(plan, tables, limits=limits, threads=self.threads)
        for one in self.written:
            if task == 0 or not one.everywhere:
                yield one.index, found.table(one.name)
        stats = found.stats
        derived = [name for name in stats.relations if name not in tables]
        yield (
            TOLD,
            TaskStats(
                seconds=time.perf_counter() - started,
                prepare_seconds=stats.prepare_seconds,
                tuples=sum(stats.relations[name].tuples for name in derived),
                rounds=max((stats.relations[name].rounds for name in derived), default=0),
                read={name: (table.num_rows, table.nbytes) for name, table in tables.items()},
                peak_memory_bytes=peak_bytes(),
                worker=worker_name(),
            ),
        )


def written_of(group: Group, wanted: frozenset[str] | None) -> tuple[Written, ...]:
    """Return the relations that tasks give back: those that somebody wants."""
    return tuple(
        Written(index, copy.name, copy.placement is EVERYWHERE)
        for index, copy in enumerate(group.writes)
        if wanted is None or copy.relation in wanted
    )


def run_decomposed(
    group: Group,
    delivery: Delivery,
    *,
    wanted: frozenset[str] | None,
    functors: bytes,
    limits: Limits,
    threads: int,
) -> DataFrame:
    """Return the frame of blobs that the tasks of a group give, still to be computed."""
    plan = build_plan(group.program, asked=group.asked, inputs=[c.name for c in group.reads])
    share = Share(pickled(plan), functors, written_of(group, wanted), limits, threads)
    return delivery.frame.mapInArrow(functools.partial(_run, share, delivery.reader), BLOBS)


def _run(
    share: Share, reader: Reader, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from run_task(share, reader, task_number(), batches)


# ── what is sent along ──


def pickled(value: object) -> bytes:
    """Return a value as bytes, however deep its trees are."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except RecursionError:
        return _with_more_stack(functools.partial(pickle.dumps, value, pickle.HIGHEST_PROTOCOL))


def _with_more_stack(dump: functools.partial[bytes]) -> bytes:
    found: list[bytes] = []

    def run() -> None:
        found.append(dump())

    limit, size = sys.getrecursionlimit(), threading.stack_size(512 << 20)
    sys.setrecursionlimit(1_000_000)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    return found[0]


def packed_functors(functors: UserFunctors | None) -> bytes:
    """Return the functions of the user's as bytes that another process understands."""
    from pyspark import cloudpickle

    try:
        known = dict((functors or UserFunctors()).functors)
        found: bytes = cloudpickle.dumps(known)  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever a function of the user's refers to may raise anything
        raise UsageError(
            Diagnostic(
                "W1026",
                f"a functor cannot be sent to Spark's tasks: {first_line(error)}",
                hint="let it use nothing but values and modules, no open files or connections",
            )
        ) from None
    return found


def unpacked_functors(functors: bytes) -> UserFunctors:
    """Return the functions of the user's in a task."""
    try:
        found: dict[str, Any] = pickle.loads(functors)
    except Exception as error:
        raise DataError(
            Diagnostic(
                "W1027",
                f"a functor is not understood where Spark's tasks run: {first_line(error)}",
                hint="send its module along: `spark.sparkContext.addPyFile(…)`",
            )
        ) from None
    return UserFunctors(found)


def first_line(error: Exception) -> str:
    """Return what an error says, in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
