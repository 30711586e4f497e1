"""Facts that Spark reads: folders, patterns, places with a scheme, tables; and what is bad in them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whence.diagnostics import DataError, Diagnostic
from whence.spark.inputs import SparkInput, inputs_of_spark, load
from whence.syntax.souffle import parse

pytestmark = pytest.mark.spark

EDGE = ".decl edge(x: number, y: symbol)\n"


def source(directive: str, folder: str | Path = ".") -> SparkInput:
    (found,) = inputs_of_spark(parse(EDGE + directive), str(folder))
    return found


def rows(spark: Any, directive: str, folder: str | Path = ".", **options: Any) -> list[Any]:
    loaded = load(spark, source(directive, folder), **options)
    try:
        return sorted(tuple(row) for row in loaded.frame.collect())
    finally:
        if loaded.kept is not None:
            loaded.kept.unpersist()


def test_small_files_are_not_spark_s(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\ta\n")
    assert inputs_of_spark(parse(EDGE + ".input edge"), str(tmp_path)) == []
    assert inputs_of_spark(parse(EDGE + ".input edge(IO=stdin)"), "s3://bucket") == []


@pytest.mark.parametrize(
    ("directive", "folder", "form", "where"),
    [
        ('.input edge(IO="table", name="db.edges")', ".", "table", "db.edges"),
        ('.input edge(IO="table")', ".", "table", "edge"),
        (".input edge", "s3://bucket/facts/", "file", "s3://bucket/facts/edge.facts"),
        ('.input edge(filename="e.parquet")', "hdfs://n/f", "parquet", "hdfs://n/f/e.parquet"),
        ('.input edge(filename="s3a://b/e.jsonl")', "facts", "jsonl", "s3a://b/e.jsonl"),
    ],
)
def test_places_with_a_scheme_and_tables_are_spark_s(
    directive: str, folder: str, form: str, where: str
) -> None:
    found = source(directive, folder)
    assert (found.form, found.where) == (form, where)


def test_a_folder_of_text_is_read_file_by_file(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    folder.mkdir()
    (folder / "a.facts").write_text("1\ta\n2\tb \n")
    (folder / "b.facts.gz").write_bytes(gzip.compress(b'3\t"c"\n'))
    (folder / "_SUCCESS").write_text("")
    found = rows(spark, '.input edge(filename="edges")', tmp_path)
    assert found == [(1, "a"), (2, "b "), (3, '"c"')]


def test_a_pattern_names_many_files(spark: Any, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"part-{number}.csv").write_text(f'x,y\n{number},"a, b"\n')
    (tmp_path / "other.csv").write_text("broken")
    directive = '.input edge(filename="part-*.csv", rfc4180=true, headers=true)'
    assert rows(spark, directive, tmp_path) == [(n, "a, b") for n in range(3)]


def test_folders_of_json_lines_are_known_by_their_files(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "a.jsonl").write_text('{"y": "a", "x": 1}\n[2, "b"]\n')
    assert rows(spark, '.input edge(filename="edges")', tmp_path) == [(1, "a"), (2, "b")]


def test_columns_of_parquet_are_taken_by_name_else_in_order(spark: Any, tmp_path: Path) -> None:
    for name, columns in {"named": ("z", "y", "x"), "ordered": ("a", "b")}.items():
        (tmp_path / name).mkdir()
        values = {"z": [0.5], "y": ["a"], "x": [1], "a": [1], "b": ["a"]}
        table = pa.table({column: values[column] for column in columns})
        pq.write_table(table, tmp_path / name / "part.parquet")
        uri = f'.input edge(filename="file://{tmp_path}/{name}", IO="parquet")'
        assert rows(spark, uri) == [(1, "a")]
        assert rows(spark, f'.input edge(filename="{name}")', tmp_path) == [(1, "a")]
    pq.write_table(pa.table({"a": [1]}), tmp_path / "narrow.parquet")
    with pytest.raises(DataError, match=r"W0607.*does not have the columns of `edge`"):
        rows(spark, f'.input edge(filename="file://{tmp_path}/narrow.parquet")')


def test_a_table_of_the_catalogue_is_read(spark: Any) -> None:
    table = pa.table({"x": [1], "y": ["a"]})
    spark.createDataFrame(table).createOrReplaceTempView("edges")
    try:
        assert rows(spark, '.input edge(IO="table", name="edges")') == [(1, "a")]
    finally:
        spark.catalog.dropTempView("edges")


def test_bad_rows_are_named_by_file_and_line(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "a.facts").write_text("1\ta\n")
    (tmp_path / "edges" / "b.facts").write_text("2\tb\nx\tc\n3\n")
    with pytest.raises(DataError) as error:
        rows(spark, '.input edge(filename="edges")', tmp_path)
    first, second = error.value.diagnostics
    assert (first.code, first.span.line, second.code, second.span.line) == ("W0602", 2, "W0604", 3)
    assert first.span.source is not None
    assert first.span.source.name.endswith("edges/b.facts")
    warnings: list[Diagnostic] = []
    found = rows(
        spark, '.input edge(filename="edges")', tmp_path, on_bad_row="skip", warn=warnings.append
    )
    assert found == [(1, "a"), (2, "b")]
    assert [w.code for w in warnings] == ["W0961"]
    assert "skipped 2 bad rows" in warnings[0].message


def test_rows_without_a_value_are_named_by_file_and_row(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, None], "y": ["a", None, "c"]})
    pq.write_table(table, tmp_path / "e.parquet")
    directive = f'.input edge(filename="file://{tmp_path}/e.parquet")'
    with pytest.raises(DataError) as error:
        rows(spark, directive)
    messages = [d.message for d in error.value.diagnostics]
    assert [m.split(" of ")[0] for m in messages] == ["row 2", "row 3"]
    assert messages[0].endswith("e.parquet` has no value for `y`")
    warnings: list[Diagnostic] = []
    assert rows(spark, directive, on_bad_row="skip", warn=warnings.append) == [(1, "a")]
    assert "skipped 2 bad rows" in warnings[0].message


@pytest.mark.parametrize("form", ["file", "parquet", "table"])
def test_what_is_not_there_is_a_diagnostic(spark: Any, form: str) -> None:
    place = 'name="nowhere"' if form == "table" else 'filename="file:///nowhere/edge"'
    with pytest.raises(DataError, match="W1067") as error:
        rows(spark, f'.input edge(IO="{form}", {place})')
    assert "\n" not in error.value.diagnostics[0].message
    assert "SQLSTATE" not in error.value.diagnostics[0].message
