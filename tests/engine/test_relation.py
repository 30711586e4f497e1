"""Relations, indexes and keyed relations against sets and dicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.engine.local.dictionary import Dictionary
from whence.engine.local.index import Index
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.kernels.joins import NO_LIMIT, probe_dense, probe_hashed
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.membership import Bitmap, Box, Hashed, Packed, choose
from whence.engine.local.relation import NO_FLAGS, Relation
from whence.plan.nodes import Keyed
from whence.syntax.nodes import Kind

SMALL = st.integers(0, 6)
WIDE = st.integers(-(2**40), 2**40)
ANY = st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)


def batches(values: st.SearchStrategy[int], arity: int) -> st.SearchStrategy[list[Rows]]:
    row = st.tuples(*[values] * arity)
    batch = st.lists(row, max_size=30).map(
        lambda rows: np.array(rows, dtype=np.int64).reshape(len(rows), arity)
    )
    return st.lists(batch, max_size=6)


def tuples(rows: Rows) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]


@pytest.mark.parametrize("arity", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("values", [SMALL, WIDE, ANY], ids=["small", "wide", "any"])
def test_a_relation_holds_each_tuple_once_in_order_of_arrival(
    arity: int, values: st.SearchStrategy[int]
) -> None:
    @given(batches(values, arity))
    def check(found: list[Rows]) -> None:
        relation = Relation("r", arity)
        expected: dict[tuple[int, ...], None] = {}
        for batch in found:
            before = len(expected)
            expected.update(dict.fromkeys(tuples(batch)))
            assert relation.insert(batch, batch.shape[0]) == len(expected) - before
        assert tuples(relation.rows[: relation.size]) == list(expected)

    check()


@pytest.mark.parametrize(
    ("lo", "hi", "method"),
    [
        ((0, 0), (99, 99), Bitmap),
        ((0, 0), (2**30, 2**30), Packed),
        ((-(2**62), 0), (2**62, 9), Hashed),
    ],
)
def test_the_check_follows_the_ranges(
    lo: tuple[int, int], hi: tuple[int, int], method: type
) -> None:
    box = Box.around(np.array(lo), np.array(hi))
    check = choose(box, np.empty((0, 2), dtype=np.int64), 0, 1024)
    assert type(check) is method


@pytest.mark.parametrize("scale", [1, 1 << 30, 1 << 40], ids=["bitmap", "packed", "hashed"])
def test_a_check_grows_and_changes_without_losing_a_tuple(scale: int) -> None:
    rng = np.random.default_rng(5)
    relation = Relation("r", 2)
    expected: set[tuple[int, ...]] = set()
    for round_ in range(6):
        batch = rng.integers(-(4**round_), 4**round_, (5000, 2)) * scale
        relation.insert(batch, batch.shape[0])
        expected |= set(tuples(batch))
    assert relation.size == len(expected)
    assert set(tuples(relation.rows[: relation.size])) == expected


@pytest.mark.parametrize("scale", [1, 1 << 20], ids=["bitmap", "packed"])
def test_unseen_keeps_exactly_what_is_not_there(scale: int) -> None:
    rng = np.random.default_rng(6)
    relation = Relation("r", 2)
    first = rng.integers(0, 50, (500, 2)) * scale
    relation.insert(first, first.shape[0])
    batch = np.concatenate([first[:100], rng.integers(0, 80, (400, 2)) * scale])
    out = np.empty_like(batch)
    assert relation.check is not None
    kept = relation.check.unseen(batch, batch.shape[0], out)
    known = set(tuples(first))
    assert tuples(out[:kept]) == [t for t in tuples(batch) if t not in known]


@given(batches(SMALL, 2), batches(SMALL, 2))
def test_rows_are_found_by_their_tuples(found: list[Rows], asked: list[Rows]) -> None:
    relation = Relation("r", 2)
    for batch in found:
        relation.insert(batch, batch.shape[0])
    relation.settle()
    have = tuples(relation.rows[: relation.size])
    for batch in asked:
        expected = [have.index(t) if t in have else -1 for t in tuples(batch)]
        assert relation.find(batch).tolist() == expected


def lists_of(index: Index, keys: Rows, rows: Rows, limit: int) -> list[list[int]]:
    """The row numbers that a probe finds for each key."""
    numbered = np.column_stack([rows, np.arange(rows.shape[0])])
    out = np.empty((4, 2), dtype=np.int64)  # small, so that the cursor is used
    cursor = np.zeros(2, dtype=np.int64)
    found: list[list[int]] = [[] for _ in range(keys.shape[0])]
    binding = np.column_stack([keys, np.arange(keys.shape[0])])
    kept, taken = np.array([keys.shape[1]]), np.array([rows.shape[1]])
    zero, one = np.array([0]), np.array([1])
    slots = np.arange(keys.shape[1])
    while cursor[0] < binding.shape[0]:
        tail = (numbered, limit, NO_FLAGS, kept, zero, taken, one, out)
        if index.dense:
            m = probe_dense(
                binding,
                len(keys),
                cursor,
                0,
                0,
                index.lo,
                index.start,
                index.count,
                index.pool,
                *tail,
            )
        else:
            m = probe_hashed(
                binding,
                len(keys),
                cursor,
                slots,
                np.zeros_like(slots),
                index.key_array,
                index.table,
                index.first,
                index.shift,
                index.start,
                index.count,
                index.pool,
                *tail,
            )
        for i, r in out[:m].tolist():
            found[i].append(r)
    return found


@pytest.mark.parametrize("columns", [(0,), (2,), (0, 1), (2, 0), ()])
@pytest.mark.parametrize("values", [SMALL, WIDE, ANY], ids=["small", "wide", "any"])
def test_an_index_lists_the_rows_of_each_key_in_order(
    columns: tuple[int, ...], values: st.SearchStrategy[int]
) -> None:
    @given(batches(values, 3), st.integers(0, 200))
    def check(found: list[Rows], cut: int) -> None:
        rows = np.concatenate([np.empty((0, 3), dtype=np.int64), *found])
        index = Index(columns)
        size = 0
        for batch in found:
            size += batch.shape[0]
            index.extend(rows, size)
        keys = np.ascontiguousarray(rows[:, list(columns)]).reshape(len(rows), len(columns))
        for limit in (NO_LIMIT, cut):
            expected = [
                [r for r in range(min(len(rows), limit)) if (keys[r] == key).all()] for key in keys
            ]
            assert lists_of(index, keys, rows, limit) == expected

    check()


@pytest.mark.parametrize("greatest", [False, True])
@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT])
@pytest.mark.parametrize("keys", [SMALL, WIDE], ids=["dense", "hashed"])
def test_a_keyed_relation_keeps_the_best_row_of_each_key(
    keys: st.SearchStrategy[int], kind: Kind, greatest: bool
) -> None:
    decode = {
        Kind.NUMBER: lambda c: int(c),
        Kind.UNSIGNED: lambda c: int(np.int64(c).view(np.uint64)),
        Kind.FLOAT: lambda c: float(np.int64(c).view(np.float64)),
    }[kind]
    value = (
        st.floats(allow_nan=False).map(lambda f: int(np.float64(f + 0.0).view(np.int64)))
        if kind is Kind.FLOAT
        else ANY
    )
    row = st.tuples(keys, value, keys)
    batch = st.lists(row, max_size=20).map(lambda r: np.array(r, dtype=np.int64).reshape(-1, 3))

    @given(st.lists(batch, max_size=5))
    def check(found: list[Rows]) -> None:
        relation = KeyedRelation("r", 3, Keyed((0, 2), 1, kind, greatest))
        best: dict[tuple[int, int], float] = {}
        for rows in found:
            changed = set()
            for a, v, b in rows.tolist():
                new, old = decode(v), best.get((a, b))
                if old is None or (new > old if greatest else new < old):
                    best[a, b] = new
                    changed.add((a, b))
            relation.insert(rows, rows.shape[0])
            assert relation.advance() == len(changed)
            assert {(a, b) for a, _, b in relation.delta().tolist()} == changed
        have = {(a, b): decode(v) for a, v, b in relation.rows[: relation.size].tolist()}
        assert have == best

    check()


@given(batches(WIDE, 2))
def test_a_dictionary_numbers_rows_in_order_of_first_use(found: list[Rows]) -> None:
    dictionary = Dictionary(2)
    numbers: dict[tuple[int, ...], int] = {}
    for batch in found:
        expected = [numbers.setdefault(t, len(numbers)) for t in tuples(batch)]
        assert dictionary.encode(batch).tolist() == expected
    assert tuples(dictionary.rows[: dictionary.size]) == list(numbers)


def test_a_dictionary_outgrows_its_first_table() -> None:
    dictionary = Dictionary(1)
    values = np.arange(0, 10**9, 10**4, dtype=np.int64).reshape(-1, 1)
    assert (dictionary.encode(values) == np.arange(len(values))).all()
    assert (dictionary.encode(values[::-1].copy()) == np.arange(len(values))[::-1]).all()


def test_the_headroom_of_an_index_ends_where_numbers_end() -> None:
    least = -(2**63)
    rows = np.array([[least + 40 - i] for i in range(41)], dtype=np.int64)
    index = Index((0,))
    for size in range(1, 42):
        index.extend(rows, size)
    assert index.dense
    assert index.lo == least
    assert index.count[:41].tolist() == [1] * 41
