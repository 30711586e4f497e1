"""A traced DataFrame: what it shows is the user's, what it hides says where each row comes from.

Operators that keep rows apart keep the hidden columns. Those that bring rows together put a tap
below them (`grouped.py`, `windows.py`), and rows then come from the collection that it numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults
from whence.lineage.capture.frames.columns import (
    as_column,
    expanded,
    is_aggregate,
    key_hash,
    quoted,
)
from whence.lineage.capture.frames.windows import over_windows
from whence.lineage.capture.staging import Numbers, Operator
from whence.lineage.capture.taps import group_tap, row_tap
from whence.lineage.capture.tracer import HIDDEN, Reference, Tracer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from whence.lineage.capture.frames.grouped import TracedGroups
    from whence.lineage.capture.frames.writer import TracedWriter
    from whence.lineage.capture.rdds.rdd import TracedRDD

# Each row of the result is a row of the frame, whose hidden columns Spark keeps by itself.
_KEEP: Final = frozenset(
    (
        *("filter", "where", "orderBy", "sort", "sortWithinPartitions", "drop", "sample", "hint"),
        *("repartition", "repartitionByRange", "coalesce", "alias", "withMetadata"),
        *("cache", "persist", "unpersist", "checkpoint", "localCheckpoint"),
        *("withColumnRenamed", "withColumnsRenamed"),
    )
)
# What tells about a frame without its hidden columns.
_TELL: Final = frozenset(("schema", "dtypes", "printSchema", "storageLevel", "colRegex"))


class TracedFrame:
    """A DataFrame whose lineage is captured; made by a tracer."""

    def __init__(
        self,
        tracer: Tracer,
        frame: DataFrame,
        references: Sequence[Reference],
        operators: Sequence[Operator] = (),
    ) -> None:
        self._tracer = tracer
        self._frame = frame
        self._references = tuple(references)
        self._operators = tuple(dict.fromkeys(operators))

    # ── what it is ──

    @property
    def columns(self) -> list[str]:
        """The names of the user's columns."""
        return [name for name in self._frame.columns if not name.startswith(HIDDEN)]

    @property
    def untraced(self) -> DataFrame:
        """The frame as Spark's own; what is made of it has no lineage."""
        return self._frame.drop(*(r.column for r in self._references))

    @property
    def sparkSession(self) -> Tracer:
        """The tracer."""
        return self._tracer

    def __getattr__(self, name: str) -> Any:
        from pyspark.sql import DataFrame

        if name.startswith("_"):
            raise AttributeError(name)
        if name in _KEEP:
            return self._kept(getattr(self._frame, name))
        if name in _TELL:
            return getattr(self.untraced, name)
        if name in self.columns and not hasattr(DataFrame, name):
            return self._frame[name]
        if hasattr(DataFrame, name):
            raise faults.not_traced(f"DataFrame.{name}")
        raise AttributeError(f"a traced frame has no column or method {name!r}")

    def __getitem__(self, item: Any) -> Any:
        from pyspark.sql import Column

        if isinstance(item, str):
            return self._frame[item]
        if isinstance(item, Column):
            return self.filter(item)
        if isinstance(item, list | tuple):
            return self.select(*item)
        return self._frame[self.columns[item]]

    def explain(self, *arguments: Any) -> None:
        """Print Spark's plan, with what tracing adds."""
        self._frame.explain(*arguments)

    def _kept(self, method: Callable[..., DataFrame]) -> Callable[..., TracedFrame]:
        def call(*arguments: Any, **options: Any) -> TracedFrame:
            return self._with(method(*arguments, **options))

        return call

    def _with(
        self,
        frame: DataFrame,
        references: Sequence[Reference] | None = None,
        operators: Sequence[Operator] = (),
    ) -> TracedFrame:
        found = self._references if references is None else references
        return TracedFrame(self._tracer, frame, found, (*self._operators, *operators))

    def _hidden(self) -> list[str]:
        return [reference.column for reference in self._references]

    def _same_tracer(self, other: Any, what: str) -> TracedFrame:
        if not isinstance(other, TracedFrame) or other._tracer is not self._tracer:
            raise faults.mixed(what)
        return other

    # ── rows that stay apart ──

    def select(self, *columns: Any) -> TracedFrame:
        """Spark's `select`: each row comes from its row, or with windows from their partitions."""
        from pyspark.errors import AnalysisException

        given = expanded(columns, self.columns)
        over = over_windows(self, given)
        try:
            return over._with(over._frame.select(*given, *over._hidden()))
        except AnalysisException:
            # Beside an aggregate Spark allows no other column, such as the hidden ones.
            if over is not self or not is_aggregate(self._frame.select(*given)):
                raise
        return self.groupBy().agg(*(as_column(column) for column in given))

    def selectExpr(self, *texts: Any) -> TracedFrame:
        """Spark's `selectExpr`."""
        from pyspark.sql import functions as F

        flat = [t for text in texts for t in (text if isinstance(text, list) else [text])]
        return self.select(*(t if t == "*" else F.expr(t) for t in flat))

    def withColumn(self, name: str, column: Column) -> TracedFrame:
        """Spark's `withColumn`."""
        return self.withColumns({name: column})

    def withColumns(self, columns: dict[str, Column]) -> TracedFrame:
        """Spark's `withColumns`."""
        mine = [name for name in columns if name.startswith(HIDDEN)]
        if mine:
            raise faults.reserved(mine)
        over = over_windows(self, list(columns.values()))
        return over._with(over._frame.withColumns(columns))

    def toDF(self, *names: str) -> TracedFrame:
        """Spark's `toDF`: other names for the user's columns."""
        frame = self._frame.select(*map(quoted, self.columns), *self._hidden())
        return self._with(frame.toDF(*names, *self._hidden()))

    def fillna(self, value: Any, subset: Any = None) -> TracedFrame:
        """Spark's `fillna`."""
        within = subset if subset is not None or isinstance(value, dict) else self.columns
        return self._with(self._frame.fillna(value, within))

    def dropna(
        self, how: str = "any", thresh: int | None = None, subset: Any = None
    ) -> TracedFrame:
        """Spark's `dropna`."""
        within = self.columns if subset is None else subset
        return self._with(self._frame.dropna(how, thresh, within))

    def limit(self, count: int) -> TracedFrame:
        """Spark's `limit`: the rows that are left keep their lineage."""
        return self._with(self._settled().limit(count))

    def _settled(self) -> DataFrame:
        """Return the frame so that a task which stops early has still told all it used."""
        if any(operator.numbers is Numbers.OWN for operator in self._operators):
            return self._frame.persist()
        return self._frame

    def _tapped(
        self, frame: DataFrame, operator: Operator, keys: Sequence[Column], column: str
    ) -> DataFrame:
        """Return the frame with the hash of keys in a column; it writes edges as it is computed."""
        from pyspark.sql import functions as F

        publisher = self._tracer.publisher
        if publisher.notebook is not None:
            return publisher.notebook.grouped(operator, frame, keys, self._references, column)
        key = key_hash(frame, keys)
        references = [F.col(name) for name in self._hidden()]
        if self._tracer.sample < 1:
            key = F.when(F.coalesce(*references).isNotNull(), key)
        spaces = [reference.space for reference in self._references]
        return frame.withColumn(
            column, group_tap(publisher.desk, operator, key, references, spaces)
        )

    # ── rows that come together ──

    def groupBy(self, *columns: Any) -> TracedGroups:
        """Spark's `groupBy`: a row of a group comes from all rows of the group."""
        from whence.lineage.capture.frames.grouped import TracedGroups

        flat = [c for given in columns for c in (given if isinstance(given, list) else [given])]
        return TracedGroups(self, tuple(as_column(_by_name(c, self.columns)) for c in flat))

    groupby = groupBy

    def agg(self, *expressions: Any) -> TracedFrame:
        """Spark's `agg` of all rows."""
        return self.groupBy().agg(*expressions)

    def distinct(self) -> TracedFrame:
        """Spark's `distinct`: a row comes from all rows that are equal to it."""
        return self.dropDuplicates()

    def dropDuplicates(self, subset: Sequence[str] | None = None) -> TracedFrame:
        """Spark's `dropDuplicates`: the row that is left comes from all rows it stands for."""
        from whence.lineage.capture.frames.grouped import without_duplicates

        return without_duplicates(self, subset)

    drop_duplicates = dropDuplicates

    def join(self, other: Any, on: Any = None, how: str | None = None) -> TracedFrame:
        """Spark's `join`: a row comes from the rows that it joins; see `joins.py`."""
        from whence.lineage.capture.frames.joins import joined

        return joined(self, self._same_tracer(other, "`join`"), on, how or "inner")

    def crossJoin(self, other: Any) -> TracedFrame:
        """Spark's `crossJoin`."""
        from whence.lineage.capture.frames.joins import joined

        return joined(self, self._same_tracer(other, "`crossJoin`"), None, "cross")

    def union(self, other: Any) -> TracedFrame:
        """Spark's `union`: each row comes from its own."""
        from whence.lineage.capture.frames.joins import united

        return united(self, self._same_tracer(other, "`union`"))

    unionAll = union

    def unionByName(self, other: Any, allowMissingColumns: bool = False) -> TracedFrame:
        """Spark's `unionByName`."""
        from whence.lineage.capture.frames.joins import united

        return united(self, self._same_tracer(other, "`unionByName`"), True, allowMissingColumns)

    def intersect(self, other: Any) -> TracedFrame:
        """Spark's `intersect`: a row comes from all rows of both sides that are equal to it."""
        from whence.lineage.capture.frames.joins import in_both

        return in_both(self, self._same_tracer(other, "`intersect`"))

    def subtract(self, other: Any) -> TracedFrame:
        """Spark's `subtract`: a row comes from all rows of this frame that are equal to it."""
        from whence.lineage.capture.frames.joins import in_left_only

        return in_left_only(self, self._same_tracer(other, "`subtract`"))

    def mapInPandas(self, function: Any, schema: Any) -> TracedFrame:
        """Spark's `mapInPandas`: what a partition gives comes from all rows of the partition."""
        from whence.lineage.capture.frames.mapped import mapped

        return mapped(self, function, schema, "mapInPandas")

    def mapInArrow(self, function: Any, schema: Any) -> TracedFrame:
        """Spark's `mapInArrow`: what a partition gives comes from all rows of the partition."""
        from whence.lineage.capture.frames.mapped import mapped

        return mapped(self, function, schema, "mapInArrow")

    def transform(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """Spark's `transform`."""
        return function(self, *arguments, **options)

    # ── ways out ──

    def _sunk(self, operator: Operator, made: str, column: str | None = None) -> DataFrame:
        """Return Spark's own frame; when its rows are computed, their edges are written."""
        from pyspark.sql import functions as F

        publisher = self._tracer.publisher
        if publisher.notebook is not None:
            number = column or self._tracer.reference(made).column
            return publisher.notebook.sunk(
                operator, made, self._frame, self._references, number, column is not None
            )
        references = [F.col(name) for name in self._hidden()]
        spaces = [reference.space for reference in self._references]
        tap = row_tap(publisher.desk, operator, made, references, spaces)
        if column is not None:
            return self._frame.withColumn(column, tap).drop(*self._hidden())
        return self._frame.filter(tap.isNotNull()).drop(*self._hidden())

    def _acted(self, name: str, action: Callable[[DataFrame], Any]) -> Any:
        operator = self._tracer.operator(name, Numbers.OWN)
        frame = self._sunk(operator, f"{operator.name}/row")
        return self._tracer.act((*self._operators, operator), lambda: action(frame))

    def collect(self) -> list[Any]:
        """Spark's `collect`; rows are the entities `JOB/collect-N/row/…`."""
        return list(self._acted("collect", lambda frame: frame.collect()))

    def toPandas(self) -> Any:
        """Spark's `toPandas`."""
        return self._acted("toPandas", lambda frame: frame.toPandas())

    def toArrow(self) -> Any:
        """Spark's `toArrow`."""
        return self._acted("toArrow", lambda frame: frame.toArrow())

    def count(self) -> int:
        """Spark's `count`; the number comes from all rows."""
        return int(self.groupBy().count()._acted("count", lambda frame: frame.collect())[0][0])

    def take(self, num: int) -> list[Any]:
        """Spark's `take`."""
        return list(self.limit(num)._acted("take", lambda frame: frame.collect()))

    def head(self, n: int | None = None) -> Any:
        """Spark's `head`."""
        return self.first() if n is None else self.take(n)

    def first(self) -> Any:
        """Spark's `first`."""
        found = self.take(1)
        return found[0] if found else None

    def show(self, n: int = 20, *arguments: Any, **options: Any) -> None:
        """Spark's `show`, without the line that says there are more rows."""
        self.limit(n)._acted("show", lambda frame: frame.show(n, *arguments, **options))

    @property
    def write(self) -> TracedWriter:
        """Spark's writer, traced."""
        from whence.lineage.capture.frames.writer import TracedWriter

        return TracedWriter(self)

    @property
    def rdd(self) -> TracedRDD:
        """The rows as a traced RDD."""
        from whence.lineage.capture.rdds.sources import from_traced_frame

        return from_traced_frame(self)


def _by_name(given: Any, columns: Sequence[str]) -> Any:
    return quoted(columns[given - 1]) if isinstance(given, int) else given
