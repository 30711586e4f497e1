"""Rows that are best in their group: judged by looking at all rows, as rows come, go and return."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.engine.local.relation import Relation
from whence.engine.local.selection import Followed, Selector, holds, order_of
from whence.plan.nodes import Positive, Selection
from whence.syntax.nodes import Kind

NUMBER = Kind.NUMBER
Row = tuple[int, int, int, int]

rows = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(-3, 3), st.integers(0, 3)),
    max_size=8,
)
selections = st.lists(
    st.builds(
        Selection,
        st.sampled_from([(), (0,), (0, 1), (1,)]),
        st.sampled_from([2, 3]),
        st.just(NUMBER),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


def relation(*tuples: Row) -> Relation:
    made = Relation("r", 4)
    if tuples:
        made.insert(np.array(tuples, dtype=np.int64), len(tuples))
    made.settle()
    return made


def worth(row: Row, live: set[Row], selection: Selection) -> bool:
    """Say whether no live row of the group is better."""
    group = [r for r in live if all(r[c] == row[c] for c in selection.key)]
    values = [r[selection.value] for r in group]
    return row[selection.value] == (max if selection.greatest else min)(values)


def check(selector: Selector, source: Relation, live: set[Row], chosen: list[Selection]) -> None:
    """Each best row is followed, or one of them where any one will do."""
    followed = {
        tuple(source.rows[i].tolist()) for i in range(source.size) if selector.followed[i]
    } & live
    for selection in chosen:
        best = {row for row in live if worth(row, live, selection)}
        if selection.ties:
            assert best <= followed
        else:
            assert {tuple(r[c] for c in selection.key) for r in best} == {
                tuple(r[c] for c in selection.key) for r in best & followed
            }


@settings(max_examples=150, deadline=None)
@given(st.data(), selections)
def test_the_best_rows_are_followed_as_rows_come_go_and_return(
    data: st.DataObject, chosen: list[Selection]
) -> None:
    source = relation()
    selector = Selector(source, chosen)
    live: set[Row] = set()
    known: list[Row] = []
    for _ in range(data.draw(st.integers(1, 5))):
        before = source.size
        come = data.draw(rows)
        source.insert(np.array(come, dtype=np.int64).reshape(-1, 4), len(come))
        source.settle()
        new = [tuple(r) for r in source.rows[before : source.size].tolist()]
        back = {r for r in come if r in known and r not in live}
        numbers = [*range(before, source.size), *(known.index(r) for r in sorted(back))]
        known += new
        if source.dead.shape[0]:
            source.dead[numbers] = 0
        live |= {*new, *back}
        selector.admit(np.array(numbers, dtype=np.int64))
        check(selector, source, live, chosen)
        gone = data.draw(st.sets(st.sampled_from(sorted(live)))) if live else set()
        away = np.array([known.index(r) for r in sorted(gone)], dtype=np.int64)
        source.bury(away)
        live -= gone
        again = selector.retract(away)
        assert {known[i] for i in again.tolist()} <= live
        check(selector, source, live, chosen)
    fresh = Selector(source, chosen)
    fresh.rebuild()
    check(fresh, source, live, chosen)


def test_only_the_best_and_its_equals_are_followed() -> None:
    source = relation((0, 0, 5, 1), (0, 0, 3, 1), (0, 0, 3, 2), (1, 0, 9, 1))
    cheapest = Selection((0, 1), 2, NUMBER, greatest=False)
    assert Selector(source, [cheapest]).admit(np.arange(4)).tolist() == [False, True, True, True]


def test_where_ties_do_not_matter_one_row_is_followed() -> None:
    source = relation((0, 0, 5, 1), (0, 0, 3, 1), (0, 0, 3, 2), (1, 0, 9, 1))
    cheapest = Selection((0, 1), 2, NUMBER, greatest=False, ties=False)
    assert Selector(source, [cheapest]).admit(np.arange(4)).tolist() == [False, True, False, True]


def test_a_row_that_is_best_for_one_of_two_is_followed() -> None:
    source = relation((0, 0, 5, 1), (0, 0, 3, 2), (0, 0, 4, 3))
    both = [Selection((0, 1), c, NUMBER, greatest=False) for c in (2, 3)]
    assert Selector(source, both).admit(np.arange(3)).tolist() == [True, True, False]


def test_the_next_best_takes_over() -> None:
    source = relation((0, 0, 5, 1), (0, 0, 3, 1), (0, 0, 4, 2))
    selector = Selector(source, [Selection((0,), 2, NUMBER, greatest=False)])
    selector.admit(np.arange(3))
    source.bury(np.array([1]))
    assert selector.retract(np.array([1])).tolist() == [2]


def test_what_the_recursion_reads_grows_by_what_is_worth_following() -> None:
    source = relation((0, 0, 5, 1))
    followed = Followed(source, [Selection((0,), 2, NUMBER, greatest=False)])
    assert followed.advance() == 1
    source.insert(np.array([(0, 0, 6, 1), (0, 1, 2, 1)], dtype=np.int64), 2)
    source.advance()
    assert followed.advance() == 1
    assert followed.delta().tolist() == [[0, 1, 2, 1]]


@pytest.mark.parametrize("greatest", [False, True])
@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_floats_are_ordered_by_value(greatest: bool, values: list[float]) -> None:
    selection = Selection((), 0, Kind.FLOAT, greatest)
    order = order_of((np.array(values) + 0.0).view(np.int64), selection)
    by_value = np.argsort(np.array(values) * (-1 if greatest else 1), kind="stable")
    assert np.argsort(order, kind="stable").tolist() == by_value.tolist()


@pytest.mark.parametrize("greatest", [False, True])
def test_nan_is_the_worst_float(greatest: bool) -> None:
    selection = Selection((), 0, Kind.FLOAT, greatest)
    codes = np.array([np.nan, np.inf, -np.inf]).view(np.int64)
    assert int(np.argmax(order_of(codes, selection))) == 0


def test_unsigned_numbers_are_ordered_beyond_the_sign() -> None:
    selection = Selection((), 0, Kind.UNSIGNED, greatest=False)
    codes = np.array([2**64 - 1, 0, 2**63], dtype=np.uint64).view(np.int64)
    assert np.argsort(order_of(codes, selection)).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("kind", "codes", "positive"),
    [
        (Kind.NUMBER, [1, 2], True),
        (Kind.NUMBER, [1, -2], False),
        (Kind.UNSIGNED, [-1, 1], True),
        (Kind.UNSIGNED, [0, 1], False),
        (Kind.FLOAT, np.array([0.5, np.inf]).view(np.int64).tolist(), True),
        (Kind.FLOAT, np.array([0.5, np.nan]).view(np.int64).tolist(), False),
        (Kind.FLOAT, np.array([0.0]).view(np.int64).tolist(), False),
    ],
)
def test_factors_are_above_zero_or_not(kind: Kind, codes: list[int], positive: bool) -> None:
    source = relation(*((i, 0, code, 0) for i, code in enumerate(codes)))
    assert holds(Positive("r", 2, kind), source) is positive
