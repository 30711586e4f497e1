"""Tables keep keys, indexes, ages and sizes right, whatever comes and goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whence.network.table import Shape, Table

Pair = tuple[int, int]
rows = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.tuples(st.booleans(), rows), max_size=40))
def test_indexes_are_what_a_scan_finds(changes: list[tuple[bool, Pair]]) -> None:
    table = Table(Shape("t"))
    early = table.index((1,))
    held: set[Pair] = set()
    for coming, row in changes:
        if coming and row not in held:
            table.add(row, None)
            held.add(row)
        elif not coming and row in held:
            table.remove(row)
            held.remove(row)
    late = table.index((0, 1))
    assert set(table.rows) == held
    assert {key: set(bucket) for key, bucket in early.items()} == {
        b: {r for r in held if r[1] == b} for _, b in held
    }
    assert {key: set(bucket) for key, bucket in late.items()} == {r: {r} for r in held}


def test_a_row_with_the_same_key_is_a_rival() -> None:
    table = Table(Shape("t", key=(0,)))
    table.add(("a", 1), None)
    assert table.rival(("a", 2)) == ("a", 1)
    assert table.rival(("a", 1)) is None
    assert table.rival(("b", 1)) is None
    assert table.keyed(("a", 9)) == ("a", 1)


def test_refreshed_rows_live_longer() -> None:
    table = Table(Shape("t", lifetime=10.0))
    for time, row in enumerate([("a", 1), ("a", 2)]):
        table.add(row, None)
        table.touch(row, float(time))
    assert table.next_expiry() == 10.0
    table.touch(("a", 1), 5.0)
    assert table.expired(11.0) == [("a", 2)]
    assert table.next_expiry() == 11.0


def test_size_counts_the_rows_of_one_place() -> None:
    table = Table(Shape("t", size=2))
    for time, row in enumerate([("a", 1), ("b", 1), ("a", 2), ("a", 3)]):
        table.add(row, None)
        table.touch(row, float(time))
        assert table.overflow(row) == (("a", 1) if row == ("a", 3) else None)


def test_rows_of_mixed_values_have_an_order() -> None:
    table = Table(Shape("t"))
    for row in [("b", 2), ("a", ("x", 1)), ("a", "y"), ("a", 1.5)]:
        table.add(row, None)
    assert table.sorted_rows() == [("a", 1.5), ("a", "y"), ("a", ("x", 1)), ("b", 2)]
