"""Where relations are between groups, and how tasks are given their copies of them.

What is small, or wanted everywhere, goes through the driver and is broadcast: one job less, and
every task takes its share itself. The rest is packed where it is and moved by one shuffle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from whence.diagnostics import WhenceError
from whence.engine.spark.cut.known import BROADCAST_BYTES
from whence.engine.spark.frames import Columns, normal, numbered
from whence.engine.spark.model import EVERYWHERE, Copy
from whence.engine.spark.shuffle import (
    BLOB_BYTES,
    BLOBS,
    Reader,
    blobs,
    from_ipc,
    joined,
    mistake,
    no_blobs,
    shares,
    to_ipc,
)

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES = 16 << 20
"""What is not larger goes through the driver, though it might be packed where it is."""


@dataclass(frozen=True, slots=True)
class FrameInput:
    """Facts in a frame; `take` makes of a table of its rows the facts that the plan wants."""

    frame: DataFrame
    take: Callable[[pa.Table], pa.Table] | None = None


@dataclass(frozen=True, slots=True)
class AtDriver:
    """A relation as a normal table."""

    table: pa.Table

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)


@dataclass(frozen=True, slots=True)
class InFrame:
    """A relation in a frame: of the user's, or what rounds have made."""

    frame: DataFrame | None
    take: Callable[[pa.Table], pa.Table] | None
    rows: int
    exact: bool = False
    """Whether records are written as they are between processes."""


@dataclass(frozen=True, slots=True)
class InBlobs:
    """A relation that a group has written, in a persisted frame of blobs."""

    blobs: DataFrame
    copy: int
    rows: int
    everywhere: bool = False
    """Whether each task has written all of it."""
    table: pa.Table | None = None
    """The tuples, where they are few and have come to the driver."""

    @property
    def own(self) -> DataFrame:
        """Only the blobs of this relation, each tuple once."""
        wanted = f"copy = {self.copy}" + (" AND task = 0" if self.everywhere else "")
        return self.blobs.where(wanted).select("payload")


Source: TypeAlias = AtDriver | InFrame | InBlobs


# ── what there is ──


def found_input(given: pa.Table | FrameInput, columns: Columns) -> Source:
    """Return where an input is; a small frame is brought to the driver, since that tells all."""
    if isinstance(given, pa.Table):
        return AtDriver(normal(given, columns))
    found = InFrame(given.frame, given.take, 0)
    width = 8 * max(1, len(columns.kinds))
    size = _estimated_bytes(given.frame)
    if size is not None and size <= SMALL_BYTES:
        return AtDriver(_collected(found, columns))
    rows = given.frame.count()
    if rows * width <= SMALL_BYTES and size is None:
        return AtDriver(_collected(found, columns))
    return replace(found, rows=rows)


def taken(source: InFrame, table: pa.Table, columns: Columns) -> pa.Table:
    """Return rows of a frame as a normal table."""
    return normal(table if source.take is None else source.take(table), columns, exact=source.exact)


def _estimated_bytes(frame: DataFrame) -> int | None:
    """Return what Spark thinks of the size of a frame; None where it has no idea."""
    found = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return None if found >= 1 << 60 else found


def _collected(source: InFrame, columns: Columns) -> pa.Table:
    assert source.frame is not None
    return taken(source, numbered(source.frame).toArrow(), columns)


def gathered(sources: Sequence[Source], columns: Columns) -> pa.Table:
    """Return the tuples of all sources of a relation as one normal table at the driver."""
    tables = []
    for source in sources:
        match source:
            case AtDriver(table=table):
                tables.append(table)
            case InBlobs(table=table) if table is not None:
                tables.append(table)
            case InFrame():
                tables.append(_collected(source, columns))
            case InBlobs():
                payloads = source.own.toArrow().column(0)
                tables += [from_ipc(payload.as_buffer()) for payload in payloads]
    return joined(tables, columns.kinds)


# ── what tasks are given ──


@dataclass(frozen=True, slots=True)
class Delivery:
    """The input of a group's tasks: one partition each, and how to read it."""

    frame: DataFrame
    reader: Reader
    broadcasts: tuple[Broadcast[bytes], ...]
    broadcast_bytes: int
    """What every task is sent."""
    moved: frozenset[str]
    """The names of the copies that come through a shuffle."""


def deliver(
    spark: SparkSession,
    reads: Sequence[Copy],
    columns: Mapping[str, Columns],
    sources: Mapping[str, Sequence[Source]],
    tasks: int,
) -> Delivery:
    """Return the copies of relations, on their way to tasks.

    `columns` are by the names of copies, `sources` by those of relations.
    """
    shared: dict[str, Broadcast[bytes]] = {}
    packed: list[DataFrame] = []
    moved: set[str] = set()
    size = 0
    for relation in dict.fromkeys(copy.relation for copy in reads):
        copies = [(i, copy) for i, copy in enumerate(reads) if copy.relation == relation]
        own = columns[copies[0][1].name]
        there = sources.get(relation, ())
        if _through_driver(there, own, [copy for _, copy in copies], tasks):
            payload = to_ipc(gathered(there, own))
            size += len(payload)
            shared[relation] = spark.sparkContext.broadcast(payload)
        else:
            moved.update(copy.name for _, copy in copies)
            packed += [_packed(spark, s, Packing(tuple(copies), own, tasks)) for s in there]
    frame = no_blobs(spark, tasks)
    if packed:
        # The empty blobs see to it that every task has a partition with something in it.
        whole = functools.reduce(lambda a, b: a.unionAll(b), packed, frame)
        frame = whole.repartitionById(tasks, whole["task"])
    kinds = tuple(columns[copy.name].kinds for copy in reads)
    reader = Reader(tuple(reads), kinds, tasks, shared)
    return Delivery(frame, reader, tuple(shared.values()), size, frozenset(moved))


def _through_driver(
    sources: Sequence[Source], columns: Columns, copies: Iterable[Copy], tasks: int
) -> bool:
    if any(copy.placement is EVERYWHERE for copy in copies):
        return True
    size = sum(source.rows for source in sources) * 8 * max(1, len(columns.kinds))
    at_driver = all(isinstance(source, AtDriver) for source in sources)
    return size <= (BROADCAST_BYTES if at_driver and tasks <= 4 else SMALL_BYTES)


@dataclass(frozen=True, slots=True)
class Packing:
    """What is made of the tuples of one relation: blobs for the copies that tasks have of it."""

    copies: tuple[tuple[int, Copy], ...]
    columns: Columns
    tasks: int

    def blobs(self, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Return normal tables as blobs for tasks; small tables are put together first."""
        waiting: list[pa.Table] = []
        size = 0
        for table in tables:
            waiting.append(table)
            size += table.nbytes
            if size >= BLOB_BYTES:
                yield from self._spread(joined(waiting, self.columns.kinds))
                waiting, size = [], 0
        if waiting:
            yield from self._spread(joined(waiting, self.columns.kinds))

    def _spread(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        for index, copy in self.copies:
            for task, part in enumerate(
                shares(table, copy.placement, self.columns.kinds, self.tasks)
            ):
                yield from blobs(task, index, part)


def _packed(spark: SparkSession, source: Source, packing: Packing) -> DataFrame:
    match source:
        case AtDriver(table=table):
            found = list(packing.blobs([table]))
            if not found:
                return no_blobs(spark, 1)
            return spark.createDataFrame(pa.Table.from_batches(found))
        case InFrame(frame=frame):
            assert frame is not None
            bare = replace(source, frame=None)  # a frame is nothing that tasks can have
            return numbered(frame).mapInArrow(functools.partial(_pack, packing, bare), BLOBS)
        case InBlobs():
            return source.own.mapInArrow(functools.partial(_repack, packing), BLOBS)


def _pack(
    packing: Packing, source: InFrame, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    try:
        tables = (taken(source, pa.Table.from_batches([b]), packing.columns) for b in batches)
        yield from packing.blobs(tables)
    except WhenceError as error:
        yield mistake(0, error)


def _repack(packing: Packing, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from packing.blobs(
        from_ipc(payload.as_buffer()) for batch in batches for payload in batch.column(0)
    )
