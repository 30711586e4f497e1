"""Columns of annotations in files: read, checked, missing, written; cells and numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import DataError
from whence.facts.annotations import as_cells, as_numbers, with_cells
from whence.facts.badrows import BadRows
from whence.facts.content import Content
from whence.facts.directives import load_inputs
from whence.facts.formats import FORMATS
from whence.facts.schema import Column, Layout, arrow_schema, columns_of, shown_columns
from whence.rewrite.read_in import read_in
from whence.semiring.registry import make
from whence.syntax.nodes import Kind
from whence.syntax.souffle import parse

TEXT = ".decl e(x: number, s: symbol, @prov)  .input e{}"


def columns(semiring: str = "tropical") -> tuple[Column, ...]:
    return columns_of(read_in(parse(TEXT.format("")), semiring), "e")


def read(
    data: bytes, semiring: str = "tropical", form: str = "file", **layout: Any
) -> tuple[list[tuple[Any, ...]], BadRows]:
    settings = Layout(relation="e", **layout)
    bad = BadRows("e.facts", settings)
    table = FORMATS[form].read(Content("e.facts", data), columns(semiring), settings, bad)
    return [tuple(row.values()) for row in table.to_pylist()], bad


def written(rows: list[tuple[Any, ...]], form: str, semiring: str = "tropical") -> bytes:
    schema = arrow_schema(columns(semiring))
    arrays = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)]
    out = io.BytesIO()
    FORMATS[form].write(pa.table(arrays, schema=schema), out, columns(semiring), Layout("e"))
    return out.getvalue()


def loaded(folder: Path, text: str, directive: str = "", semiring: str = "tropical") -> list[Any]:
    (folder / "e.facts").write_text(text)
    program = read_in(parse(TEXT.format(directive)), semiring)
    return load_inputs(program, folder)["e"].to_pylist()


def test_facts_of_declared_relations_have_one_more_column_and_outputs_may():
    program = read_in(parse(".decl e(x: number, @prov)  .decl p(x: number)"), "tropical")
    assert [c.name for c in columns_of(program, "e")] == ["x", "@prov"]
    assert [c.name for c in columns_of(program, "p")] == ["x"]
    bare = read_in(parse(".decl e(x: number)"), "access")
    assert [c.name for c in columns_of(bare, "e")] == ["x"]
    assert shown_columns(bare, "e")[-1].kind is Kind.SYMBOL
    assert [c.name for c in shown_columns(read_in(bare, "plain"), "e")] == ["x"]


@pytest.mark.parametrize("form", FORMATS)
@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.text("ab", max_size=3), st.floats(0, 1e9)), max_size=9
    )
)
def test_annotations_come_back_as_they_were_written(form, rows):
    found, bad = read(written(rows, form), form=form)
    assert (found, bad.count) == (rows, 0)


def test_symbols_come_back_as_well():
    rows = [(1, "a", "secret"), (2, "b", "public")]
    for form in FORMATS:
        assert read(written(rows, form, "access"), "access", form)[0] == rows


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("file", b"1\ta\n2\tb\n"),
        ("jsonl", b'{"x": 1, "s": "a"}\n{"x": 2, "s": "b"}\n'),
        ("jsonl", b'[1, "a"]\n[2, "b", null]\n'),
        ("jsonl", b'{"x": 1, "s": "a", "@prov": null}\n{"s": "b", "x": 2}\n'),
    ],
)
def test_facts_may_come_without_annotations(form, data):
    assert read(data, form=form) == (
        [(1, "a", None), (2, "b", None)],
        BadRows("e.facts", Layout("e")),
    )


def test_some_facts_may_come_without():
    assert read(b"1\ta\t0.5\n2\tb\n")[0] == [(1, "a", 0.5), (2, "b", None)]
    many = b"".join(b"%d\ta\t%d\n" % (i, i) for i in range(100)) + b"7\tb\n"
    assert read(many)[0][-2:] == [(99, "a", 99.0), (7, "b", None)]


def test_tables_may_come_without():
    from pyarrow import parquet

    for table in (
        pa.table({"x": [1], "s": ["a"]}),
        pa.table({"0": [1], "1": ["a"]}),
        pa.table({"s": ["a"], "other": [5], "x": [1]}),
    ):
        out = io.BytesIO()
        parquet.write_table(table, out)
        assert read(out.getvalue(), form="parquet")[0] == [(1, "a", None)]


@pytest.mark.parametrize(
    ("semiring", "cell", "column"),
    [("tropical", "-1", 5), ("tropical", "nan", 5), ("viterbi", "1.5", 5), ("access", "hidden", 5)],
)
def test_what_the_semiring_refuses_is_shown_at_its_place(semiring, cell, column):
    rows, bad = read(
        b"1\ta\t" + (b"secret" if semiring == "access" else b"1") + b"\n"
        b"2\tb\t" + cell.encode() + b"\n",
        semiring,
    )
    (found,) = bad.shown
    assert len(rows) == 1
    assert (found.code, found.span.line, found.span.column) == ("W0942", 2, column)
    assert cell in found.message
    assert semiring in found.message


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl"])
def test_other_forms_refuse_them_too(form):
    data = written([(1, "a", 0.5), (2, "b", -1.0)], form)
    rows, bad = read(data, form=form)
    assert (rows, bad.count, bad.shown[0].code) == ([(1, "a", 0.5)], 1, "W0942")


def test_a_value_of_another_kind_is_a_bad_field():
    _, bad = read(b"1\ta\tx\n")
    assert bad.shown[0].code == "W0602"


def test_too_many_fields_are_still_too_many():
    _, bad = read(b"1\ta\t1\t2\n")
    assert bad.shown[0].code == "W0604"
    _, bad = read(b"1\n")
    assert bad.shown[0].code == "W0604"


def test_a_directive_may_name_the_field_of_annotations(tmp_path):
    found = loaded(tmp_path, "0.5\ta\t1\n", '(columns="2:1:0")')
    assert found == [{"x": 1, "s": "a", "@prov": 0.5}]


def test_a_directive_that_names_none_leaves_annotations_out(tmp_path):
    found = loaded(tmp_path, "0.5\ta\t1\n", '(columns="2:1")')
    assert found == [{"x": 1, "s": "a", "@prov": None}]


def test_a_plain_run_passes_over_the_column(tmp_path):
    assert loaded(tmp_path, "1\ta\t-7\n", semiring="plain") == [{"x": 1, "s": "a"}]


def test_bad_annotations_stop_a_run_with_all_their_places(tmp_path):
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, "1\ta\t-1\n2\tb\t0\n3\tc\t-2\n")
    assert [d.span.line for d in caught.value.diagnostics] == [1, 3]


# ── cells and numbers ──


@given(st.lists(st.sampled_from(["public", "secret", "top-secret", "1.5"])))
def test_cells_of_a_chain_are_numbers_and_back(cells):
    access = make("access")
    numbers = as_numbers(pa.chunked_array([pa.array(cells, pa.string())]), access)
    assert as_cells(numbers, access).to_pylist() == cells


def test_a_default_fills_only_what_is_missing():
    table = pa.table({"x": [1, 2], "@prov": pa.array([0.5, None], pa.float64())})
    found = with_cells("e", table, 1, make("tropical"), lambda row: row[0] * 10)
    assert found.to_pylist() == [{"x": 1, "@prov": 0.5}, {"x": 2, "@prov": 20.0}]
    assert with_cells("e", table, 1, make("tropical"), 3).column(1).to_pylist() == [0.5, 3.0]
    assert with_cells("e", table, 1, make("tropical")).column(1).to_pylist() == [0.5, None]


@pytest.mark.parametrize("default", [-1, lambda row: -1, lambda row: None, "x", lambda row: row[9]])
def test_a_default_that_is_no_annotation_is_refused(default):
    with pytest.raises(DataError) as caught:
        with_cells("e", pa.table({"x": [1]}), 1, make("tropical"), default)
    assert caught.value.diagnostics[0].code == "W0942"
