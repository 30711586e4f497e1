"""What is encoded is decoded: values, schemas, counts, notes."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import DataError, UsageError
from whence.store.codec import decode, encode

COLUMNS = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "double": st.floats(),
    "string": st.text(),
    "bool": st.booleans(),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    size = draw(st.one_of(st.integers(0, 5), st.integers(30, 40)))
    nullable = draw(st.booleans())
    fields, arrays = [], []
    for index, kind in enumerate(kinds):
        values = draw(st.lists(COLUMNS[kind], min_size=size, max_size=size))
        fields.append(pa.field(f"c{index}", pa.type_for_alias(kind), nullable=nullable))
        arrays.append(pa.array(values, type=fields[-1].type))
    return pa.table(arrays, schema=pa.schema(fields))


def bits(table: pa.Table) -> list[list[object]]:
    """Return the columns with floats as text, in which zeros differ and NaN is itself."""
    return [[repr(v) if isinstance(v, float) else v for v in c.to_pylist()] for c in table.columns]


@given(st.dictionaries(st.text(max_size=5), tables(), max_size=3))
def test_tables_come_back_as_they_were(given_tables: dict[str, pa.Table]) -> None:
    header, found = decode(encode({"kind": "x"}, given_tables))
    assert header == {"kind": "x"}
    assert list(found) == list(given_tables)
    for name, table in given_tables.items():
        assert found[name].schema.equals(table.schema)
        assert bits(found[name]) == bits(table)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


@given(json_values)
def test_a_note_is_any_json(note: object) -> None:
    assert decode(encode({"note": note, "at": -math.inf}, {}))[0] == {"note": note, "at": -math.inf}


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_a_table_without_columns_keeps_its_count(count: int) -> None:
    table = pa.table({"": pa.nulls(count)}).select([])
    found = decode(encode({}, {"on": table}))[1]["on"]
    assert (found.num_columns, found.num_rows) == (0, count)


def test_a_column_of_any_type_is_kept() -> None:
    coded = pa.table({"x": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert decode(encode({}, {"x": coded}))[1]["x"].equals(coded)


def test_one_row_takes_little_room() -> None:
    assert len(encode({"kind": "commit"}, {"+link": pa.table({"x": [1], "y": [2]})})) < 100


@pytest.mark.parametrize("note", [object(), {1, 2}, {(1, 2): 3}])
def test_what_is_no_json_is_refused(note: object) -> None:
    with pytest.raises(UsageError, match="W0673"):
        encode({"note": note}, {})


@pytest.mark.parametrize("body", [b"", b"\x01", b"\x09\0\0\0\0[]"])
def test_another_form_is_refused(body: bytes) -> None:
    with pytest.raises(DataError, match="W0674"):
        decode(body)
