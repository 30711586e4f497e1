"""Frames, programs and surroundings that nobody hopes for: right answers, or a diagnostic."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whence
import whence.spark
from whence import DataError, WhenceError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.input edge
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
NONLINEAR = CLOSURE.replace("edge(y, z).", "path(y, z).")
STRATEGIES = ["decomposed", "gang", "rounds", "alone"]


def program_for(strategy: str) -> str:
    return NONLINEAR if strategy == "gang" else CLOSURE


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def codes(error: pytest.ExceptionInfo[WhenceError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]


# ── frames ──


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_frames_without_rows_or_without_partitions_are_empty(spark: Any, strategy: str) -> None:
    schema = "x long, y long"
    none = spark.sparkContext.emptyRDD()
    for frame in (spark.createDataFrame([], schema), spark.createDataFrame(none, schema)):
        text = program_for(strategy)
        with whence.spark.evaluate(spark, text, {"edge": frame}, strategy=strategy) as found:
            assert rows(found["path"]) == []
            assert found.size("path") == 0
            assert found["path"].columns == ["x", "y"]


def test_partitions_that_are_nearly_all_empty_cost_little(spark: Any) -> None:
    edge = spark.range(10).selectExpr("id AS x", "id + 1 AS y").repartition(500)
    with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
        assert found.size("path") == 55
        assert found["path"].rdd.getNumPartitions() <= 8


def test_columns_of_one_name_are_taken_in_their_order(spark: Any) -> None:
    edge = spark.range(3).selectExpr("id AS x", "id + 1 AS x")
    with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
        assert found.size("path") == 6


def test_names_that_need_quotes_are_names(spark: Any) -> None:
    edge = spark.range(3).selectExpr("id AS `a.b`", "id + 1 AS `c``d e`")
    with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
        assert found.size("path") == 6


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("CAST(id AS TIMESTAMP)", "W1022"),
        ("DATE '2020-01-01'", "W1022"),
        ("id = 1", "W1022"),
        ("array(id)", "W1022"),
        ("struct(id)", "W1022"),
        ("map(id, id)", "W1022"),
        ("X'61'", "W1022"),
        ("CAST(id + 0.5 AS DECIMAL(10, 2))", "W1022"),
        ("INTERVAL '1' DAY", "W1022"),
        ("parse_json('1')", "W1022"),
        ("CAST(NULL AS BIGINT)", "W1028"),
    ],
)
def test_columns_of_other_types_are_refused(spark: Any, column: str, code: str) -> None:
    edge = spark.range(3).selectExpr(f"{column} AS x", "id AS y")
    with pytest.raises(DataError) as told:
        whence.spark.evaluate(spark, CLOSURE, {"edge": edge})
    assert codes(told)[0] == code


@pytest.mark.parametrize(
    "column",
    [
        "CAST(id AS TINYINT)",
        "CAST(id AS SMALLINT)",
        "CAST(id AS INT)",
        "CAST(id AS DECIMAL(19, 0))",
    ],
)
def test_columns_of_narrower_types_are_taken(spark: Any, column: str) -> None:
    edge = spark.range(3).selectExpr(f"{column} AS x", "id + 1 AS y")
    with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
        assert found["path"].schema.simpleString() == "struct<x:bigint,y:bigint>"
        assert found.size("path") == 6


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_null_among_many_rows_is_named(spark: Any, strategy: str) -> None:
    edge = spark.range(5000, numPartitions=4).selectExpr(
        "id AS x", "IF(id = 4321, NULL, id + 1) AS y"
    )
    with pytest.raises(DataError) as told:
        whence.spark.evaluate(spark, program_for(strategy), {"edge": edge}, strategy=strategy)
    assert codes(told) == ["W1028"]
    assert "4321" in " ".join(told.value.diagnostics[0].notes)


def test_a_symbol_that_is_no_utf8_is_a_bad_row(spark: Any) -> None:
    text = ".decl a(s: symbol) .input a .decl b(s: symbol) .output b  b(s) :- a(s)."
    bad = spark.sql("SELECT CAST(X'61FF62' AS STRING) AS s")
    with pytest.raises(DataError) as told:
        whence.spark.evaluate(spark, text, {"a": bad})
    assert codes(told) == ["W1028"]


# ── values ──

SYMBOLS = [
    "",
    " ",
    "a\nb",
    "a\tb",
    "a\0b",
    "a\r\n",
    '"quoted"',
    "\\",
    "nil",
    "[1, 2]",
    "é",
    "𝔘",
    "\u2028",
    "'",
    "`",
    "$",
    "%s",
    "{}",
    "a" * 70_000,
]
TEXTS = """
.decl next(a: symbol, b: symbol)
.decl reach(a: symbol, b: symbol)
.input next
.output reach
reach(a, b) :- next(a, b).
"""
TEXTS_BY = {
    "gang": TEXTS + "reach(a, c) :- reach(a, b), reach(b, c).",
    "other": TEXTS + "reach(a, c) :- reach(a, b), next(b, c).",
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_symbols_may_be_any_text(spark: Any, strategy: str) -> None:
    pairs = list(pairwise(SYMBOLS))
    expected = sorted((a, b) for i, a in enumerate(SYMBOLS) for b in SYMBOLS[i + 1 :])
    frame = spark.createDataFrame(pairs, "a string, b string")
    text = TEXTS_BY.get(strategy, TEXTS_BY["other"])
    with whence.spark.evaluate(spark, text, {"next": frame}, strategy=strategy) as found:
        assert rows(found["reach"]) == expected


FLOATS = """
.decl a(x: float, u: unsigned)
.decl b(x: float, u: unsigned)
.decl c(x: float, y: float)
.input a
.output b, c
b(x, u) :- a(x, u).
b(x, u) :- b(x, v), a(_, u), v = u.
c(x, y) :- b(x, u), b(y, u).
"""


@pytest.mark.parametrize("strategy", [None, "rounds", "alone"])
def test_nan_zero_and_the_largest_unsigned_numbers_are_values(spark: Any, strategy: Any) -> None:
    nan, top = float("nan"), Decimal(2**64 - 1)
    given = [
        (nan, top),
        (-nan, top),
        (0.0, top),
        (-0.0, top),
        (1e308, Decimal(2**63)),
        (5e-324, Decimal(0)),
    ]
    frame = spark.createDataFrame(given, "x double, u decimal(20,0)")
    with whence.spark.evaluate(spark, FLOATS, {"a": frame}, strategy=strategy) as found:
        shown = sorted((str(x), u) for x, u in rows(found["b"]))
        assert shown == [("0.0", top), ("1e+308", 2**63), ("5e-324", 0), ("nan", top)]
        pairs = sorted((str(x), str(y)) for x, y in rows(found["c"]))
        assert pairs == [
            ("0.0", "0.0"),
            ("0.0", "nan"),
            ("1e+308", "1e+308"),
            ("5e-324", "5e-324"),
            ("nan", "0.0"),
            ("nan", "nan"),
        ]


@pytest.mark.parametrize("number", ["-1", "18446744073709551616", "1.5"])
def test_what_no_unsigned_number_is_is_a_bad_row(spark: Any, number: str) -> None:
    frame = spark.sql(f"SELECT 1.0D AS x, CAST({number} AS DECIMAL(38, 1)) AS u")
    if number != "1.5":
        frame = spark.sql(f"SELECT 1.0D AS x, CAST({number} AS DECIMAL(38, 0)) AS u")
    with pytest.raises(DataError) as told:
        whence.spark.evaluate(spark, FLOATS, {"a": frame})
    assert codes(told)[0] in ("W1022", "W1028")


# ── surroundings ──


def test_names_of_views_and_settings_of_the_session_are_left_alone(spark: Any) -> None:
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    tables = spark.catalog.listTables()
    for strategy in STRATEGIES:
        text = program_for(strategy)
        whence.spark.evaluate(spark, text, {"edge": [(1, 2), (2, 3)]}, strategy=strategy).close()
    after = {row.key: row.value for row in spark.sql("SET").collect()}
    assert after == before
    assert spark.catalog.listTables() == tables
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_evaluations_in_several_threads_do_not_disturb_each_other(spark: Any) -> None:
    sizes: dict[int, int] = {}
    faults: list[BaseException] = []

    def run(number: int, strategy: str) -> None:
        length = 20 + number
        edges = [(i, i + 1) for i in range(length)]
        try:
            text = program_for(strategy)
            with whence.spark.evaluate(spark, text, {"edge": edges}, strategy=strategy) as found:
                sizes[number] = found["path"].count()
        except BaseException as error:
            faults.append(error)

    threads = [
        threading.Thread(target=run, args=(i, strategy))
        for i, strategy in enumerate(["gang", "decomposed", "gang", "alone"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert not faults, faults
    assert sizes == {i: (20 + i) * (21 + i) // 2 for i in range(4)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_is_left_behind(spark: Any, strategy: str) -> None:
    context = spark.sparkContext._jsc.sc()

    def rows() -> set[int]:
        kept = context.getPersistentRDDs().keys().toList()
        return {int(kept.apply(i)) for i in range(kept.size())}

    def there() -> tuple[set[str], int]:
        threads = {t.name for t in threading.enumerate() if t.is_alive() and not t.daemon}
        return threads, len(listening())

    edge = spark.range(8).selectExpr("id AS x", "id + 1 AS y")
    text = program_for(strategy)
    whence.spark.evaluate(spark, text, {"edge": edge}, strategy=strategy).close()
    before, kept = there(), rows()
    for _ in range(3):
        with whence.spark.evaluate(spark, text, {"edge": edge}, strategy=strategy) as found:
            found["path"].count()
    assert there() == before
    assert rows() <= kept  # what others left may go at any time


def listening() -> set[str]:
    """Return the sockets on which this process waits for others."""
    mine = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            mine.add(str(entry.readlink()))
        except OSError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and f"socket:[{parts[9]}]" in mine:
                found.add(parts[1])
    return found


def test_what_tasks_are_sent_is_not_changed_by_what_was_sent_before(spark: Any) -> None:
    edge = spark.createDataFrame([(1, 2)], "x long, y long")
    first = whence.spark.evaluate(spark, CLOSURE, {"edge": edge})
    second = whence.spark.evaluate(spark, CLOSURE, {"edge": first["path"].unionAll(edge)})
    third = whence.spark.evaluate(
        spark, CLOSURE, {"edge": second["path"].selectExpr("x + 1 AS x", "y + 1 AS y").union(edge)}
    )
    assert rows(third["path"]) == [(1, 2), (1, 3), (2, 3)]
    for one in (third, second, first):
        one.close()


def test_a_table_with_dictionaries_and_chunks_is_a_table(spark: Any) -> None:
    words = pa.chunked_array(
        [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()]
    )
    table = pa.table({"a": words, "b": pa.chunked_array([["b"], ["c", "d"]])})
    with whence.spark.evaluate(spark, TEXTS_BY["other"], {"next": table}) as found:
        assert found.size("reach") == 6


STOPPED = """
import whence.spark
from whence.diagnostics import WhenceError
text = ".decl a(x: number) .input a .decl b(x: number) .output b  b(x) :- a(x)."
spark = whence.spark.session("local[1]")
found = whence.spark.evaluate(spark, text, {"a": [(1,)]})
spark.stop()
found.close()
try:
    whence.spark.evaluate(spark, text, {"a": [(1,)]})
except WhenceError as error:
    print(error.diagnostics[0].code)
again = whence.spark.session("local[1]")
print(whence.spark.evaluate(again, text, {"a": [(1,)]})["b"].count())
again.stop()
"""


@pytest.mark.slow
def test_a_session_that_was_stopped_is_told_and_another_one_works(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED], cwd=tmp_path, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["W1071", "1"]
    assert done.stderr == ""
