"""`Database.insert`: what is taken as facts, and what is refused before it does harm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from whence.database import Database
from whence.diagnostics import DataError, UsageError

PROGRAM = """
.type List = [head: number, tail: List]
.decl pair(x: number, y: number)
.decl name(x: symbol)
.decl raining()
.decl list(x: List)
"""


@pytest.fixture
def db() -> Database:
    made = Database()
    made.load(PROGRAM)
    return made


def test_a_fact_may_have_no_columns(db: Database) -> None:
    db.insert("raining", [])
    assert db["raining"].rows() == []
    db.insert("raining", [()])
    db.insert("raining", [(), ()])
    assert db["raining"].rows() == [()]
    assert db.query("raining()").rows() == [()]


def test_the_index_of_a_frame_is_no_column(db: Database) -> None:
    db.insert("pair", pd.DataFrame({"y": [3, 4], "x": [1, 2]}, index=["a", "b"]))
    assert db["pair"].rows() == [(1, 3), (2, 4)]


def test_categories_are_symbols(db: Database) -> None:
    db.insert("name", pl.DataFrame({"x": pl.Series(["a", "b"], dtype=pl.Categorical)}))
    db.insert("name", pd.DataFrame({"x": pd.Categorical(["b", "c"])}))
    assert db["name"].rows() == [("a",), ("b",), ("c",)]


def test_columns_may_be_named_by_numbers(db: Database) -> None:
    db.insert("pair", {0: [1], 1: [2]})
    assert db["pair"].rows() == [(1, 2)]


def test_lists_may_be_long(db: Database) -> None:
    made: tuple[object, ...] | None = None
    for i in range(5000):
        made = (i, made)
    db.insert("list", [(made,)])
    ((text,),) = db["list"].rows()
    assert str(text).startswith("[4999, [4998, ")


BAD_TEXT = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
)


@pytest.mark.parametrize(
    ("relation", "rows"),
    [
        ("pair", [(1.5, 2)]),
        ("pair", [(float("inf"), 2)]),
        ("pair", {"x": 1, "y": 2}),
        ("pair", {"x": "12", "y": "34"}),
        ("pair", pd.DataFrame([[1, 2]], columns=["x", "x"])),
        ("name", pl.LazyFrame({"x": ["a"]})),
        ("name", ["\ud800"]),
        ("name", pa.table({"x": BAD_TEXT})),
        ("list", ["[1, nil"]),
        ("list", pd.DataFrame({"x": ["nil", "x"]})),
    ],
)
def test_what_does_not_fit_is_refused_at_once(db: Database, relation: str, rows: object) -> None:
    with pytest.raises(DataError, match=f"these facts for `{relation}` do not fit"):
        db.insert(relation, rows)
    assert db[relation].rows() == []


def test_what_is_no_program_and_no_relation_is_refused() -> None:
    db = Database()
    with pytest.raises(UsageError, match="W0808"):
        db.load(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no relation `3`"):
        _ = db[3]  # type: ignore[index]
