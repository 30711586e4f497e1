"""Parquet, JSON lines and Arrow: round trips, and what does not fit."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from facts.rows import columns, read_rows
from whence.diagnostics import DataError
from whence.facts.badrows import BadRows
from whence.facts.formats import FORMATS
from whence.facts.schema import Layout, arrow_schema, truths

VALUES = {
    "n": st.integers(-(2**63), 2**63 - 1),
    "u": st.integers(0, 2**64 - 1),
    "f": st.floats(allow_nan=False),
    "s": st.text(st.characters(blacklist_categories=["Cs"])),
}


def written(rows: list[tuple[Any, ...]], kinds: str, form: str) -> bytes:
    schema = arrow_schema(columns(kinds))
    arrays = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)]
    table = pa.table(arrays, schema=schema) if kinds else truths(len(rows))
    out = io.BytesIO()
    FORMATS[form].write(table, out, columns(kinds), Layout(relation="r"))
    return out.getvalue()


@st.composite
def some_rows(draw: st.DrawFn) -> tuple[str, list[tuple[Any, ...]]]:
    kinds = "".join(draw(st.lists(st.sampled_from("nufs"), max_size=4)))
    return kinds, draw(st.lists(st.tuples(*(VALUES[k] for k in kinds)), max_size=10))


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "file"])
@given(case=some_rows())
def test_every_table_comes_back_as_it_was_written(
    form: str, case: tuple[str, list[tuple[Any, ...]]]
) -> None:
    kinds, rows = case
    assert read_rows(written(rows, kinds, form), kinds, form=form) == rows


def as_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def test_columns_are_found_by_name_wherever_they_stand() -> None:
    data = as_parquet(pa.table({"b": ["x"], "extra": [0.5], "a": [1]}))
    assert read_rows(data, "ns", form="parquet") == [(1, "x")]


def test_columns_are_taken_in_order_when_the_names_differ() -> None:
    data = as_parquet(pa.table({"from": pa.array([1], pa.int8()), "to": ["x"]}))
    assert read_rows(data, "ns", form="parquet") == [(1, "x")]


def test_dictionary_and_wide_strings_are_symbols() -> None:
    words = pa.array(["x", "y"]).dictionary_encode()
    data = as_parquet(pa.table({"a": words, "b": pa.array(["u", "v"], pa.large_string())}))
    assert read_rows(data, "ss", form="parquet") == [("x", "u"), ("y", "v")]


@pytest.mark.parametrize(
    ("table", "kinds", "message"),
    [
        ({"a": [1], "c": [2], "d": [3]}, "nn", "does not have the columns"),
        ({"a": ["x"]}, "n", "column `a` of `r.facts` is not a number"),
        ({"a": [1]}, "s", "column `a` of `r.facts` is not a symbol"),
        ({"a": [1.5]}, "n", "column `a` of `r.facts` is not a number"),
        ({"a": [-1]}, "u", "column `a` of `r.facts` is not an unsigned number"),
        ({"a": [True]}, "n", "column `a` of `r.facts` is not a number"),
    ],
)
def test_a_table_with_other_columns_is_refused(
    table: dict[str, Any], kinds: str, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        read_rows(as_parquet(pa.table(table)), kinds, form="parquet")
    (found,) = caught.value.diagnostics
    assert found.code == "W0607"
    assert message in found.message


def test_rows_without_a_value_are_bad_rows() -> None:
    data = as_parquet(pa.table({"a": [1, None, 3], "b": ["x", "y", None]}))
    bad = BadRows("r.facts", Layout(relation="r"), "skip")
    assert read_rows(data, "ns", form="parquet", bad=bad) == [(1, "x")]
    assert bad.count == 2
    assert "row 2 of `r.facts` has no value for `a`" in bad.shown[0].message


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("data", [b"", b"PAR1", b"ARROW1", b"nonsense" * 100])
def test_a_file_of_another_kind_is_refused(form: str, data: bytes) -> None:
    with pytest.raises(DataError) as caught:
        read_rows(data, "n", form=form)
    assert caught.value.diagnostics[0].code == "W0607"


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_truncated_file_is_refused(form: str) -> None:
    data = written([(i, f"x{i}") for i in range(1000)], "ns", form)
    for cut in (10, len(data) // 2, len(data) - 5):
        with pytest.raises(DataError):
            read_rows(data[:cut], "ns", form=form)


@pytest.mark.parametrize(
    ("data", "kinds", "rows"),
    [
        (b'{"a": 1, "b": "x"}\n{"b": "y", "a": 2}\n', "ns", [(1, "x"), (2, "y")]),
        (b'[1, "x"]\n\n[2, "y"]', "ns", [(1, "x"), (2, "y")]),
        (b'{"a": 1, "c": null}\n', "n", [(1,)]),
        (b'{"a": 18446744073709551615}\n', "u", [(2**64 - 1,)]),
        (b'{"a": 1}\n{"a": "inf"}\n', "f", [(1.0,), (math.inf,)]),
        (b'{"a": "[1, nil]"}\n', "r", [("[1, nil]",)]),
        (b'{"a": "\\u00e9\\n"}\n', "s", [("é\n",)]),
        (b"", "n", []),
    ],
)
def test_json_lines_are_objects_or_arrays(
    data: bytes, kinds: str, rows: list[tuple[Any, ...]]
) -> None:
    assert read_rows(data, kinds, form="jsonl") == rows


@pytest.mark.parametrize(
    ("data", "kinds", "code"),
    [
        (b'{"a": "1"}\n', "n", "W0602"),
        (b'{"a": 1.5}\n', "n", "W0602"),
        (b'{"a": true}\n', "n", "W0602"),
        (b'{"a": 9223372036854775808}\n', "n", "W0603"),
        (b'{"a": -1}\n', "u", "W0603"),
        (b'{"a": 1}\n', "s", "W0602"),
        (b'{"a": null}\n', "n", "W0602"),
        (b'{"b": 1}\n', "n", "W0608"),
        (b"[1, 2]\n", "n", "W0604"),
        (b"7\n", "n", "W0607"),
        (b'{"a": \n', "n", "W0607"),
        (b"[" * 100_000 + b"\n", "n", "W0607"),
        (b'{"a": "\xff"}\n', "s", "W0605"),
        (b'{"a": "\\ud800"}\n', "s", "W0602"),
    ],
)
def test_a_bad_json_line_is_named(data: bytes, kinds: str, code: str) -> None:
    bad = BadRows("r.facts", Layout(relation="r"))
    read_rows(data, kinds, form="jsonl", bad=bad)
    assert bad.count == 1
    assert (bad.shown[0].code, bad.shown[0].span.line) == (code, 1)
