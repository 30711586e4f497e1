"""Operators of frames, each with what its rows come from by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from lineage.capture.captured import Name

LEFT = [(n, n % 3, ["a", "b"][: n % 3]) for n in range(7)]
RIGHT = [(0, 10), (1, 11), (1, 12), (5, 15)]
Made = Callable[[Any, Any], Any]
Meant = Callable[[], Iterable[tuple[Any, Iterable[Name]]]]


def of_left(*ids: int) -> list[Name]:
    return [("left", n) for n in ids]


def of_right(*places: int) -> list[Name]:
    """Rows of the right side by their second column, which is their number."""
    return [("right", n) for n in places]


def groups(k: int) -> list[int]:
    return [n for n, key, _ in LEFT if key == k]


def matches(k: int) -> list[int]:
    return [v for key, v in RIGHT if key == k]


def explode(left: Any, right: Any) -> Any:
    from pyspark.sql import functions as F

    return left.select("id", F.explode("tags").alias("tag"))


def aggregate(left: Any, right: Any) -> Any:
    from pyspark.sql import functions as F

    return left.groupBy("k").agg(F.sum("id").alias("total"))


def windowed(left: Any, right: Any) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    window = Window.partitionBy("k").orderBy("id")
    return left.select("id", (F.row_number().over(window) + 0).alias("r"))


def in_pandas(left: Any, right: Any) -> Any:
    from pyspark.sql.functions import pandas_udf

    def double(values: pd.Series) -> pd.Series:
        return values * 2

    return left.select(pandas_udf(double, "long")("id").alias("x"))


def mean_in_pandas(left: Any, right: Any) -> Any:
    from pyspark.sql.functions import pandas_udf

    def most(values: pd.Series) -> int:
        return int(values.max())

    return left.groupBy("k").agg(pandas_udf(most, "long")("id"))


def by_groups(left: Any, right: Any) -> Any:
    def two(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": [rows["k"].iloc[0]] * 2, "n": [len(rows), -1]})

    return left.groupBy("k").applyInPandas(two, "k long, n long")


def in_arrow(left: Any, right: Any) -> Any:
    def whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.select(["id"])

    return left.coalesce(1).mapInArrow(whole, "id long")


def over_partitions(left: Any, right: Any) -> Any:
    def whole(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield batch[["n"]]

    found = left.groupBy("k").count().join(right.groupBy("k").count(), "k", "full")
    return found.selectExpr("k as n").coalesce(1).mapInPandas(whole, "n long")


def with_itself(left: Any, right: Any) -> Any:
    from pyspark.sql import functions as F

    a, b = left.alias("a"), left.alias("b")
    joined = a.join(b, F.col("a.id") == F.col("b.id") + 1)
    return joined.select("a.id", F.col("b.id").alias("before"))


def one_side(left: Any, right: Any, how: str) -> Any:
    return left.join(right, "k", how).select("k", "id", "v")


def by_condition(left: Any, right: Any, how: str) -> Any:
    return left.join(right, (left.k == right.k) & (left.id > right.v - 8), how).select("id")


def conditioned(n: int, k: int) -> list[int]:
    return [v for key, v in RIGHT if key == k and n > v - 8]


def semi_with_itself(left: Any, right: Any) -> Any:
    from pyspark.sql import functions as F

    a, b = left.select("k").alias("a"), left.alias("b")
    return a.join(b, F.col("a.k") == F.col("b.id"), "semi")


ALL = [n for n, _, _ in LEFT]
JOINED = [((k, n, v), [*of_left(n), *of_right(v)]) for n, k, _ in LEFT for v in matches(k)]
ALONE = [((k, n, None), of_left(n)) for n, k, _ in LEFT if not matches(k)]
RIGHT_ALONE = [((k, None, v), of_right(v)) for k, v in RIGHT if k not in (0, 1, 2)]
CASES: dict[str, tuple[Made, Meant]] = {
    "select": (
        lambda left, right: left.select((left.id + 1).alias("x"), "k"),
        lambda: [((n + 1, k), of_left(n)) for n, k, _ in LEFT],
    ),
    "star": (
        lambda left, right: left.select("*").drop("tags"),
        lambda: [((n, k), of_left(n)) for n, k, _ in LEFT],
    ),
    "withColumn": (
        lambda left, right: left.withColumn("k", left.id * 2).select("id", "k"),
        lambda: [((n, 2 * n), of_left(n)) for n in ALL],
    ),
    "filter": (
        lambda left, right: left.filter("id > 3").where(left.k == 1).select("id"),
        lambda: [((4,), of_left(4))],
    ),
    "explode": (explode, lambda: [((n, t), of_left(n)) for n, _, tags in LEFT for t in tags]),
    "groupBy": (
        aggregate,
        lambda: [((k, sum(groups(k))), of_left(*groups(k))) for k in range(3)],
    ),
    "total": (
        lambda left, right: left.agg({"id": "sum"}),
        lambda: [((sum(ALL),), of_left(*ALL))],
    ),
    "explode and group": (
        lambda left, right: explode(left, right).groupBy("tag").count(),
        lambda: [
            (
                (tag, sum(tag in tags for _, _, tags in LEFT)),
                of_left(*(n for n, _, t in LEFT if tag in t)),
            )
            for tag in "ab"
        ],
    ),
    "group of groups": (
        lambda left, right: left.groupBy("k").count().groupBy("count").count(),
        lambda: [((3, 1), of_left(*groups(0))), ((2, 2), of_left(*groups(1), *groups(2)))],
    ),
    "window": (
        windowed,
        lambda: [((n, groups(k).index(n) + 1), of_left(*groups(k))) for n, k, _ in LEFT],
    ),
    "distinct": (
        lambda left, right: left.select("k").distinct(),
        lambda: [((k,), of_left(*groups(k))) for k in range(3)],
    ),
    "dropDuplicates": (
        lambda left, right: left.dropDuplicates(["k"]).select("k"),
        lambda: [((k,), of_left(*groups(k))) for k in range(3)],
    ),
    "orderBy and limit": (
        lambda left, right: left.orderBy(left.id.desc()).limit(2).select("id"),
        lambda: [((n,), of_left(n)) for n in (6, 5)],
    ),
    "union": (
        lambda left, right: left.select("k").union(right.select("k")),
        lambda: [
            *(((k,), of_left(n)) for n, k, _ in LEFT),
            *(((k,), of_right(v)) for k, v in RIGHT),
        ],
    ),
    "inner": (lambda left, right: one_side(left, right, "inner"), lambda: JOINED),
    "left": (lambda left, right: one_side(left, right, "left"), lambda: [*JOINED, *ALONE]),
    "right": (lambda left, right: one_side(left, right, "right"), lambda: [*JOINED, *RIGHT_ALONE]),
    "full": (
        lambda left, right: one_side(left, right, "full"),
        lambda: [*JOINED, *ALONE, *RIGHT_ALONE],
    ),
    "semi": (
        lambda left, right: left.join(right, "k", "left_semi").select("id"),
        lambda: [((n,), [*of_left(n), *of_right(*matches(k))]) for n, k, _ in LEFT if matches(k)],
    ),
    "anti": (
        lambda left, right: left.join(right, "k", "left_anti").select("id"),
        lambda: [((n,), of_left(n)) for n, k, _ in LEFT if not matches(k)],
    ),
    "semi by a condition": (
        lambda left, right: by_condition(left, right, "left_semi"),
        lambda: [
            ((n,), [*of_left(n), *of_right(*conditioned(n, k))])
            for n, k, _ in LEFT
            if conditioned(n, k)
        ],
    ),
    "semi by a condition on itself": (
        semi_with_itself,
        lambda: [((k,), of_left(n, k)) for n, k, _ in LEFT],
    ),
    "anti by a condition": (
        lambda left, right: by_condition(left, right, "anti"),
        lambda: [((n,), of_left(n)) for n, k, _ in LEFT if not conditioned(n, k)],
    ),
    "intersect": (
        lambda left, right: left.select("k").intersect(right.select("k")),
        lambda: [((k,), [*of_left(*groups(k)), *of_right(*matches(k))]) for k in (0, 1)],
    ),
    "subtract": (
        lambda left, right: right.select("k").subtract(left.select("k")),
        lambda: [((5,), of_right(15))],
    ),
    "cross": (
        lambda left, right: left.filter("id < 2").crossJoin(right).select("id", "v"),
        lambda: [((n, v), [*of_left(n), *of_right(v)]) for n in range(2) for _, v in RIGHT],
    ),
    "with itself": (
        with_itself,
        lambda: [((n, n - 1), of_left(n, n - 1)) for n in ALL if n],
    ),
    "pandas": (in_pandas, lambda: [((2 * n,), of_left(n)) for n in ALL]),
    "pandas aggregate": (
        mean_in_pandas,
        lambda: [((k, max(groups(k))), of_left(*groups(k))) for k in range(3)],
    ),
    "applyInPandas": (
        by_groups,
        lambda: [((k, n), of_left(*groups(k))) for k in range(3) for n in (len(groups(k)), -1)],
    ),
    "mapInArrow": (in_arrow, lambda: [((n,), of_left(*ALL)) for n in ALL]),
    "mapInPandas": (
        over_partitions,
        lambda: [((k,), [*of_left(*ALL), *of_right(*(v for _, v in RIGHT))]) for k in (0, 1, 2, 5)],
    ),
    "fillna": (
        lambda left, right: one_side(left, right, "left").fillna(0),
        lambda: [*JOINED, *(((k, n, 0), of_left(n)) for n, k, _ in LEFT if not matches(k))],
    ),
}
