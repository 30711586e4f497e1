"""Groups of traced rows: each row that comes of a group comes from all its rows.

A tap below the aggregation sees the hash of the key and the row numbers; the aggregation itself
stays Spark's own, with its partial sums.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whence.lineage.capture import faults
from whence.lineage.capture.frames.columns import has_python_aggregate, quoted
from whence.lineage.capture.tracer import HIDDEN

if TYPE_CHECKING:
    from pyspark.sql import Column

    from whence.lineage.capture.frames.frame import TracedFrame


class TracedGroups:
    """Spark's `GroupedData`, traced."""

    def __init__(self, frame: TracedFrame, keys: tuple[Column, ...]) -> None:
        self._frame = frame
        self._keys = keys

    def agg(self, *expressions: Any) -> TracedFrame:
        """Spark's `agg`."""
        from pyspark.sql import functions as F

        columns = _expressions(expressions)
        frame, tracer = self._frame, self._frame._tracer
        operator = tracer.operator("groupBy")
        tapped, reference = tracer.reference(operator.inner), tracer.reference(operator.inner)
        below = frame._tapped(frame._frame, operator, self._keys, tapped.column)
        number = F.max(tapped.column).alias(reference.column)
        if tracer.sample < 1:
            above = below.groupBy(*self._keys).agg(*columns, number)
            if has_python_aggregate(above):
                raise faults.not_traced(
                    "an aggregation in Python, sampled", "trace it whole, or aggregate with Spark"
                )
        elif columns and has_python_aggregate(frame._frame.groupBy(*self._keys).agg(*columns)):
            # The hash is the same for all rows of a group, so it may be a key of it.
            number = F.col(tapped.column).alias(reference.column)
            above = below.groupBy(*self._keys, number).agg(*columns)
        else:
            above = below.groupBy(*self._keys).agg(*columns, number)
        return frame._with(above, [reference], [operator])

    def count(self) -> TracedFrame:
        """Spark's `count` of each group."""
        from pyspark.sql import functions as F

        return self.agg(F.count(F.lit(1)).alias("count"))

    def sum(self, *columns: str) -> TracedFrame:
        """Spark's `sum` of each group."""
        return self._each("sum", columns)

    def avg(self, *columns: str) -> TracedFrame:
        """Spark's `avg` of each group."""
        return self._each("avg", columns)

    mean = avg

    def min(self, *columns: str) -> TracedFrame:
        """Spark's `min` of each group."""
        return self._each("min", columns)

    def max(self, *columns: str) -> TracedFrame:
        """Spark's `max` of each group."""
        return self._each("max", columns)

    def _each(self, function: str, columns: Sequence[str]) -> TracedFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import NumericType

        frame = self._frame.untraced
        keys = frame.select(*self._keys).columns
        numeric = [f.name for f in frame.schema if isinstance(f.dataType, NumericType)]
        named = columns or [name for name in numeric if name not in keys]
        apply = getattr(F, function)
        return self.agg(*(apply(quoted(name)).alias(f"{function}({name})") for name in named))

    def applyInPandas(self, function: Any, schema: Any) -> TracedFrame:
        """Spark's `applyInPandas`: what a group gives comes from all rows of the group."""
        from pyspark.sql import functions as F

        from whence.lineage.capture.frames.mapped import with_number

        frame, tracer = self._frame, self._frame._tracer
        operator = tracer.operator("applyInPandas")
        reference = tracer.reference(operator.inner)
        below = frame._tapped(frame._frame, operator, self._keys, reference.column)
        # With nulls among them pandas would take the numbers for floats, and round them.
        below = below.withColumn(reference.column, F.col(reference.column).cast("string"))
        takes_key = len(inspect.signature(function).parameters) == 2
        number = reference.column

        def apply(key: Any, rows: Any) -> Any:
            import pandas as pd

            there = rows[number].dropna()
            shown = rows[[name for name in rows.columns if not str(name).startswith(HIDDEN)]]
            out = function(key, shown) if takes_key else function(shown)
            value = int(there.iloc[0]) if len(there) else None
            return out.assign(**{number: pd.array([value] * len(out), dtype="Int64")})

        wanted = with_number(schema, number)
        above = below.groupBy(*self._keys).applyInPandas(apply, wanted)
        return frame._with(above, [reference], [operator])

    def __getattr__(self, name: str) -> Any:
        from pyspark.sql import GroupedData

        if not name.startswith("_") and hasattr(GroupedData, name):
            raise faults.not_traced(f"GroupedData.{name}")
        raise AttributeError(name)


def _expressions(given: Sequence[Any]) -> list[Column]:
    from pyspark.sql import functions as F

    if len(given) == 1 and isinstance(given[0], dict):
        return [
            F.count(F.lit(1))
            if name == "*"
            else F.expr(f"{function}({quoted(name)})").alias(f"{function}({name})")
            for name, function in given[0].items()
        ]
    return list(given)


def without_duplicates(frame: TracedFrame, subset: Sequence[str] | None) -> TracedFrame:
    """Return one row for each key, as Spark's own rewriting of `dropDuplicates` does."""
    from pyspark.sql import functions as F

    columns = frame.columns
    keys = list(subset) if subset is not None else columns
    groups = frame.groupBy(*(F.col(quoted(name)) for name in keys))
    others = [F.first(quoted(name)).alias(name) for name in columns if name not in keys]
    found = groups.agg(*others)
    order = [F.col(quoted(name)) for name in columns]
    return found._with(found._frame.select(*order, *found._hidden()))
