"""Relations on their way to tasks and back, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import DataError, Diagnostic, LimitError
from whence.engine.spark import shuffle
from whence.engine.spark.frames import Columns, as_spark, normal, ordered, shown, spark_schema
from whence.engine.spark.model import ALONE, EVERYWHERE, By, Copy, Placement
from whence.engine.spark.shuffle import (
    FAILED,
    TOLD,
    Carried,
    Reader,
    blob_rows,
    blobs,
    empty_table,
    from_ipc,
    joined,
    mistake,
    owners_of,
    raise_mistake,
    run_task,
    share,
    shares,
    to_ipc,
    truths,
)
from whence.engine.spark.sources import Packing
from whence.syntax.nodes import Kind

KINDS = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL)
COLUMNS = Columns("r", ("n", "u", "f", "s"), ("number", "unsigned", "float", "symbol"), KINDS)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 2**64 - 1),
        st.floats(),
        st.text(st.characters(exclude_categories=["Cs"])),
    ),
    max_size=12,
)
TYPES = (pa.int64(), pa.uint64(), pa.float64(), pa.string())


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * 4
    arrays = [pa.array(values, kind) for values, kind in zip(columns, TYPES, strict=True)]
    return normal(pa.table(arrays, names=list("nufs")), COLUMNS)


def rows_of(found: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(c.to_pylist() for c in found.columns), strict=True)))


@given(ROWS)
def test_tables_come_back_from_their_bytes(rows: list[tuple[Any, ...]]) -> None:
    whole = table(rows)
    assert rows_of(from_ipc(to_ipc(whole))) == rows_of(whole)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_rows_without_columns_are_counted(count: int) -> None:
    found = truths(count)
    assert found.num_rows == count
    assert from_ipc(to_ipc(found)).num_rows == count
    assert sum(b.column(2)[0].as_py() for b in blobs(0, 0, found)) == count
    assert joined([found, truths(2)], ()).num_rows == count + 2


@given(ROWS, st.integers(0, 3), st.integers(1, 5))
def test_shares_are_the_relation_and_each_value_has_one_owner(
    rows: list[tuple[Any, ...]], column: int, tasks: int
) -> None:
    whole = table(rows)
    parts = shares(whole, By(column), KINDS, tasks)
    assert len(parts) == tasks
    assert sorted(r for part in parts for r in rows_of(part)) == rows_of(whole)
    for task, part in enumerate(parts):
        assert rows_of(share(whole, By(column), KINDS, task, tasks)) == rows_of(part)
        if tasks > 1:
            assert set(owners_of(part.column(column), KINDS[column], tasks)) <= {task}


def test_equal_floats_have_one_owner() -> None:
    zeros = pa.chunked_array([pa.array([0.0, -0.0, float("nan"), -float("nan")])])
    a, b, c, d = owners_of(zeros, Kind.FLOAT, 97)
    assert (a, c) == (b, d)


@pytest.mark.parametrize("place", [EVERYWHERE, ALONE])
def test_what_is_kept_whole_is_at_every_task_or_the_first(place: Placement) -> None:
    whole = table([(1, 2, 3.0, "x")])
    sizes = [part.num_rows for part in shares(whole, place, KINDS, 3)]
    assert sizes == ([1, 1, 1] if place is EVERYWHERE else [1, 0, 0])


@given(ROWS, st.integers(1, 4), st.booleans())
def test_a_task_reads_its_copies_from_blobs_as_from_what_is_shared(
    rows: list[tuple[Any, ...]], tasks: int, cut: bool
) -> None:
    whole = table(rows)
    copies = (Copy("r@0", "r", By(0)), Copy("r@3", "r", By(3)), Copy("r@one", "r", ALONE))
    kinds = (KINDS,) * 3
    parts = [whole.slice(0, 5), whole.slice(5)] if cut else [whole]
    packed = list(Packing(tuple(enumerate(copies)), COLUMNS, tasks).blobs(parts))
    for task in range(tasks):
        mine = [b for b in packed if b.column(0)[0].as_py() == task]
        moved = Reader(copies, kinds, tasks, {}).read(task, mine)
        shared = Reader(copies, kinds, tasks, {"r": Carried(to_ipc(whole))}).read(task, [])
        assert {n: rows_of(t) for n, t in moved.items()} == {
            n: rows_of(t) for n, t in shared.items()
        }
        assert all(t.schema.types == list(TYPES) for t in moved.values())


def test_large_tables_become_several_blobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "BLOB_BYTES", 1 << 12)
    whole = pa.table({"0": np.arange(5000)})
    made = list(blobs(2, 7, whole))
    assert len(made) == 10
    found = [(task, copy) for b in made for task, copy, _ in blob_rows(b)]
    assert set(found) == {(2, 7)}
    tables = [from_ipc(payload) for b in made for _, _, payload in blob_rows(b)]
    assert joined(tables, (Kind.NUMBER,)).column(0).to_pylist() == list(range(5000))


def test_a_mistake_in_a_task_comes_out_as_a_value() -> None:
    def work(task: int, tables: Any) -> Iterator[tuple[int, Any]]:
        yield 0, empty_table((Kind.NUMBER,))
        yield TOLD, {"task": task}
        raise LimitError(Diagnostic("W0702", "too long"), Diagnostic("W0703", "too much"))

    told, failed = run_task(work, Reader((), (), 1, {}), 3, [])
    (told_blob,), (failed_blob,) = blob_rows(told), blob_rows(failed)
    assert told_blob[1] == TOLD
    assert pickle.loads(told_blob[2]) == {"task": 3}
    assert failed_blob[:2] == (3, FAILED)
    with pytest.raises(LimitError) as error:
        raise_mistake(failed_blob[2])
    assert [d.code for d in error.value.diagnostics] == ["W0702", "W0703"]


def test_a_mistake_in_packing_is_raised_by_whoever_reads() -> None:
    bad = mistake(0, DataError(Diagnostic("W0652", "no number")))
    out = list(run_task(lambda *_: iter(()), Reader((), (), 1, {}), 0, [bad]))
    ((_, copy, payload),) = blob_rows(out[0])
    assert copy == FAILED
    with pytest.raises(DataError, match="no number"):
        raise_mistake(payload)


def test_other_errors_are_left_to_spark() -> None:
    def work(task: int, tables: Any) -> Iterator[tuple[int, Any]]:
        yield 0, empty_table(())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(run_task(work, Reader((), (), 1, {}), 0, []))


# ── between people and tasks ──

LISTS = Columns(
    "l",
    ("list", "n"),
    ("List", "number"),
    (Kind.RECORD, Kind.NUMBER),
    {"List": Kind.RECORD, "symbol": Kind.SYMBOL, "number": Kind.NUMBER},
    {"List": ("symbol", "List")},
)


def test_records_are_rewritten_on_the_way_in_and_out() -> None:
    given_ = pa.table({"a": ["[x,nil]", "[ x, nil ]", "nil"], "b": pa.array([1, 2, 3], pa.int32())})
    inside = normal(given_, LISTS)
    assert inside.column(0).to_pylist() == ['["x", nil]', '["x", nil]', "nil"]
    assert inside.column(1).type == pa.int64()
    outside = shown(inside, LISTS)
    assert outside.to_pydict() == {"list": ["[x, nil]", "[x, nil]", "nil"], "n": [1, 2, 3]}


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        (pa.table({"n": [1]}), "W0651"),
        (pa.table({"l": ["nil"], "n": [None]}), "W0652"),
        (pa.table({"l": ["nil"], "n": ["1x"]}), "W0652"),
        (pa.table({"l": ["nil"], "n": pa.array([2**63], pa.uint64())}), "W0652"),
        (pa.table({"l": ["[x"], "n": [1]}), "W0653"),
    ],
)
def test_facts_that_do_not_fit_are_refused(given_: pa.Table, code: str) -> None:
    with pytest.raises(DataError) as error:
        normal(given_, LISTS)
    assert error.value.diagnostics[0].code == code


def test_frames_have_types_that_spark_knows() -> None:
    columns = Columns("r", ("a`b", "u"), ("symbol", "unsigned"), (Kind.SYMBOL, Kind.UNSIGNED))
    assert spark_schema(columns) == "`a``b` string, `u` decimal(20,0)"
    found = as_spark(pa.table({"u": pa.array([2**64 - 1], pa.uint64())}))
    assert found.schema.types == [pa.decimal128(20, 0)]
    assert as_spark(truths(2)).to_pydict() == {"()": [True, True]}


def test_tables_are_sorted_from_left_to_right() -> None:
    columns = Columns("r", ("x", "x"), ("number", "symbol"), (Kind.NUMBER, Kind.SYMBOL))
    mixed = pa.Table.from_arrays([pa.array([2, 1, 1]), pa.array(["a", "c", "b"])], ["x", "x"])
    sorted_ = ordered(mixed, columns)
    assert list(zip(*(c.to_pylist() for c in sorted_.columns), strict=True)) == [
        (1, "b"),
        (1, "c"),
        (2, "a"),
    ]
