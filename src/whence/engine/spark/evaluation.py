"""The relations after an evaluation on Spark: as frames, and as tables at the driver."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from whence.engine.spark.frames import (
    Columns,
    as_spark,
    batches_of,
    numbered,
    ordered,
    shown,
    spark_schema,
)
from whence.engine.spark.model import SparkPlan
from whence.engine.spark.shuffle import empty_table, from_ipc, truths
from whence.engine.spark.sources import AtDriver, InBlobs, InFrame, Source, gathered, taken
from whence.engine.spark.stats import SparkStats

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

    from whence.engine.spark.gang.job import Gang
    from whence.engine.spark.held import Held
    from whence.engine.spark.rounds.kept import Kept

Change: TypeAlias = Callable[[pa.Table], pa.Table]


class SparkEvaluation:
    """The relations of one evaluation; what they take in Spark's memory goes with `close`."""

    def __init__(self, spark: SparkSession, stats: SparkStats) -> None:
        self.spark = spark
        self.plan = SparkPlan(())
        """How the program was cut into groups."""
        self.stats = stats
        self.selected: frozenset[str] = frozenset()
        self.columns: Mapping[str, Columns] = {}
        self.results: dict[str, Source] = {}
        """The relations that groups have written."""
        self.given: dict[str, list[Source]] = {}
        """Inputs and stated facts; some may be there twice."""
        self.held: list[Held | Kept] = []
        self.broadcasts: list[Broadcast[bytes]] = []
        self.gangs: list[Gang] = []

    def __enter__(self) -> SparkEvaluation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what the relations take; frames that were handed out are of no use any more."""
        if self.spark.sparkContext._jsc is not None:  # a session that was stopped has let it go
            for held in self.held:
                held.unpersist()
            for broadcast in self.broadcasts:
                broadcast.destroy()
        for gang in self.gangs:
            gang.close()
        self.held, self.broadcasts, self.gangs = [], [], []

    def sources(self, relation: str) -> Sequence[Source]:
        """Return where the tuples of a relation are."""
        found = self.results.get(relation)
        return self.given.get(relation, []) if found is None else [found]

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        found = self.results.get(relation)
        return self._normal(relation).num_rows if found is None else found.rows

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples as a table at the driver."""
        columns = self.columns[relation]
        found = shown(self._normal(relation), columns)
        return _ordered(found, columns) if ordered else found

    def _normal(self, relation: str) -> pa.Table:
        found = gathered(self.sources(relation), self.columns[relation])
        return found if relation in self.results else distinct(found)

    def frame(
        self, relation: str, *, change: Change | None = None, schema: str | None = None
    ) -> DataFrame:
        """Return the tuples as a Spark frame.

        `change` makes of each table of tuples another one, which has the `schema`.
        """
        columns = self.columns[relation]
        schema = schema or spark_schema(columns)
        outward = functools.partial(_outward, columns, change)
        sources = self.sources(relation)
        if relation not in self.results and all(isinstance(s, AtDriver) for s in sources):
            return self.spark.createDataFrame(outward(self._normal(relation)), schema)
        whole = self._union(sources, columns, outward, schema)
        return whole if relation in self.results else whole.distinct()

    def exact_frame(self, relation: str, columns: Columns) -> DataFrame:
        """Return the tuples as rounds take them: with records as they are between processes."""
        outward = functools.partial(_inward, columns)
        return self._union(self.sources(relation), columns, outward, spark_schema(columns))

    def _union(
        self, sources: Sequence[Source], columns: Columns, outward: Change, schema: str
    ) -> DataFrame:
        frames = [self._frame(source, columns, outward, schema) for source in sources]
        if not frames:
            none = outward(empty_table(columns.kinds))
            return self.spark.createDataFrame(none, schema)
        return functools.reduce(lambda a, b: a.unionAll(b), frames)

    def _frame(self, source: Source, columns: Columns, outward: Change, schema: str) -> DataFrame:
        match source:
            case AtDriver(table=table):
                return self.spark.createDataFrame(outward(table), schema)
            case InBlobs(table=table) if table is not None:
                return self.spark.createDataFrame(outward(table), schema)
            case InBlobs():
                return source.own.mapInArrow(functools.partial(_unpacked, outward), schema)
            case InFrame(frame=frame):
                assert frame is not None
                bare = replace(source, frame=None)
                changed = functools.partial(_changed, columns, bare, outward)
                return numbered(frame).mapInArrow(changed, schema)


_ordered = ordered


def distinct(table: pa.Table) -> pa.Table:
    """Return each row of a normal table once."""
    if not table.num_columns:
        return truths(min(table.num_rows, 1))
    return table.group_by(table.column_names, use_threads=False).aggregate([]).cast(table.schema)


def _outward(columns: Columns, change: Change | None, table: pa.Table) -> pa.Table:
    found = shown(table, columns)
    return as_spark(found if change is None else change(found))


def _inward(columns: Columns, table: pa.Table) -> pa.Table:
    if columns.kinds:
        table = table.rename_columns(list(columns.names))
    return as_spark(table)


def _unpacked(outward: Change, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for payload in batch.column(0):
            yield from batches_of(outward(from_ipc(payload.as_buffer())))


def _changed(
    columns: Columns, source: InFrame, outward: Change, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from batches_of(outward(taken(source, pa.Table.from_batches([batch]), columns)))
