"""What a tracer must know of expressions: stars, window specifications, and the hash of keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from whence.lineage.capture import faults

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NODES = "org.apache.spark.sql.internal."


def as_column(given: Column | str) -> Column:
    """Return a column by name, or as it is."""
    from pyspark.sql import functions as F

    return F.col(given) if isinstance(given, str) else given


def key_hash(frame: DataFrame, keys: Sequence[Column]) -> Column:
    """Return a number of 63 bits that rows share if, and in all likelihood only if, keys agree.

    Two of n different keys share it with a probability of n²/2⁶⁴; their lineage would be told
    together, and none of it lost.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    if not keys:
        return F.lit(0).cast("long")
    parts: list[Column] = []
    for key, field in zip(keys, frame.select(*keys).schema, strict=True):
        nested = isinstance(field.dataType, T.ArrayType | T.StructType | T.MapType)
        # Spark's hash passes over nulls and the borders of nested values; their text does not.
        value = F.to_json(F.struct(key), {"ignoreNullFields": "false"}) if nested else key
        parts += [value, value.isNull()] if len(keys) > 1 else [value]
    return F.shiftrightunsigned(F.xxhash64(*parts), 1)


def expanded(columns: Sequence[Any], shown: Sequence[str]) -> list[Any]:
    """Return the columns of a selection, with names in the place of `*`."""
    out: list[Any] = []
    for given in columns:
        if isinstance(given, list | tuple):
            out += expanded(given, shown)
        elif isinstance(given, str):
            out += [quoted(name) for name in shown] if given == "*" else [given]
        elif "UnresolvedStar" not in (text := given._jc.node().toString()):
            out.append(given)
        elif _named(given._jc.node()) == "UnresolvedStar" and "None,None" in text:
            out += [quoted(name) for name in shown]
        else:
            _check_stars(given)
            out.append(given)
    return out


def quoted(name: str) -> str:
    """Return the name of a column that may hold dots.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


def _check_stars(column: Column) -> None:
    """Refuse a star inside an expression, which would take hidden columns for the user's."""
    for each in _walk(column._jc.node()):  # type: ignore[operator]
        for child in _children(each):
            if _named(child) == "UnresolvedStar" and not _counts(each):
                raise faults.not_traced(
                    f"{each.sql()}", "name the columns in the place of the star"
                )


def _counts(node: Any) -> bool:
    return _named(node) == "UnresolvedFunction" and str(node.functionName()) == "count"


def windows(columns: Sequence[Any]) -> list[list[Column]]:
    """Return the partition columns of each window specification in the expressions, once."""
    from pyspark.sql.classic.column import Column as Classic

    found: dict[str, list[Column]] = {}
    for column in columns:
        if isinstance(column, str):
            continue
        node = column._jc.node()
        text = node.toString()
        if "Window(" not in text and "SqlExpression" not in text:
            continue
        for each in _walk(node):
            kind = _named(each)
            if kind == "SqlExpression" and " over " in f" {each.sql().lower()} ".replace("(", " "):
                raise faults.not_traced(each.sql(), "write the window with `F.….over(Window.…)`")
            if kind == "WindowSpec":
                parts = list(_sequence(each.partitionColumns()))
                told = ", ".join(part.sql() for part in parts)
                jvm: Any = _jvm()
                found[told] = [Classic(jvm.org.apache.spark.sql.Column(part)) for part in parts]
    return list(found.values())


def _jvm() -> Any:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    assert context is not None
    return context._jvm


def _named(node: Any) -> str:
    return str(node.getClass().getName()).removeprefix(_NODES)


def _walk(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(_children(found))


def _children(node: Any) -> list[Any]:
    return list(_sequence(node.children()))


def _sequence(found: Any) -> Iterator[Any]:
    iterator = found.iterator()
    while iterator.hasNext():
        yield iterator.next()


def is_aggregate(frame: DataFrame) -> bool:
    """Whether a selection aggregates all rows."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    return str(plan.getClass().getSimpleName()) == "Aggregate"


def has_python_aggregate(frame: DataFrame) -> bool:
    """Whether an aggregation runs in Python, where Spark allows no other beside it."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    kinds = getattr(_jvm(), "org.apache.spark.sql.catalyst.trees.TreePattern")
    # The text of a plan takes long to write, and few plans have Python in them.
    return plan.containsPattern(kinds.PYTHON_UDF()) and "PythonUDAF" in str(plan.toJSON())
