"""Events run to completion, table changes before events; timers, deletions, per-event aggregates."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.core.small import network, tables
from whence.diagnostics import ProgramError
from whence.functor.ndlog import in_interval
from whence.network.strands.functions import PURE


def test_changes_of_tables_come_before_derived_events() -> None:
    # `second` is derived before the row of `t` that it joins, and still finds it.
    net = network(
        tables("t", "out") + "r1 second(@X,Y) :- first(@X,Y).\nr2 t(@X,Y) :- first(@X,Y).\n"
        "r3 out(@X,Y) :- second(@X,Y), t(@X,Y)."
    )
    net.insert("first", ("a", 1))
    assert net.rows("out") == {("a", 1)}


def test_an_event_is_seen_by_all_its_rules_before_what_they_change() -> None:
    net = network(tables("t", "out") + "r1 t(@X,Y) :- e(@X,Y).\nr2 out(@X,Y) :- e(@X,Y), t(@X,Z).")
    net.insert("e", ("a", 1))
    assert net.rows("out") == set()
    net.insert("e", ("a", 2))
    assert net.rows("out") == {("a", 2)}


def test_a_count_of_nothing_is_zero() -> None:
    net = network(
        tables("t", "out")
        + "r1 n(@X,Y,count<*>) :- e(@X,Y), t(@X,Y).\nr2 out(@X,Y,C) :- n(@X,Y,C)."
    )
    net.insert("t", ("a", 1))
    net.insert("e", ("a", 1))
    net.insert("e", ("a", 2))
    assert net.rows("out") == {("a", 1, 1), ("a", 2, 0)}


def test_a_minimum_of_nothing_is_not_told() -> None:
    net = network(
        tables("t", "out") + "r1 m(@X,min<Y>) :- e(@X), t(@X,Y).\nr2 out(@X,Y) :- m(@X,Y)."
    )
    net.insert("e", ("a",))
    assert net.rows("out") == set()
    net.insert("t", ("a", 4), ("a", 3))
    net.insert("e", ("a",))
    assert net.rows("out") == {("a", 3)}


@pytest.mark.parametrize(
    ("fold", "value"),
    [("min<Y>", 1), ("max<Y>", 4), ("sum<Y>", 7), ("count<Y>", 3), ("avg<Y>", 7 / 3)],
)
def test_aggregates_are_over_what_one_event_gives(fold: str, value: float) -> None:
    net = network(tables("t", "out") + f"r1 out(@X,E,{fold}) :- e(@X,E), t(@X,Y).")
    net.insert("t", ("a", 1), ("a", 2), ("a", 4), ("b", 9))
    net.insert("e", ("a", 77))
    assert net.rows("out") == {("a", 77, value)}


def test_the_least_address_gets_the_tuple() -> None:
    net = network(
        tables("t", "out") + "r1 go(min<@Y>,X) :- e(@X), t(@X,Y).\nr2 out(@X,Y) :- go(@X,Y)."
    )
    net.insert("t", ("a", "c"), ("a", "b"))
    net.insert("e", ("a",))
    net.settle()
    assert net.rows("out") == {("b", "a")}
    assert set(net.node("b").rows("out")) == {("b", "a")}


def test_timers_go_on_or_end_after_their_count() -> None:
    net = network(
        tables("often", "thrice", "once")
        + "r1 often(@X,E) :- periodic(@X,E,2).\nr2 thrice(@X,E) :- periodic(@X,E,2,3).\n"
        "r3 once(@X,E) :- periodic(@X,E,0,1).",
        "a",
    )
    assert not net.rows("once")
    net.run(1)
    assert len(net.rows("once")) == 1
    assert not net.rows("often")
    net.run(19.5)
    assert (len(net.rows("often")), len(net.rows("thrice")), len(net.rows("once"))) == (10, 3, 1)


def test_timers_may_begin_anywhere_in_their_period() -> None:
    text = tables("t") + "r1 t(@X,T) :- periodic(@X,E,10), T = f_now()."
    firsts = network(text, "abcd", jitter=True, seed=1)
    firsts.run(10)
    times = {row[1] for row in firsts.rows("t")}
    assert len(times) == 4
    assert all(0 <= time <= 10 for time in times)
    again = network(text, "abcd", jitter=True, seed=1)
    again.run(10)
    assert again.rows("t") == firsts.rows("t")


def test_delete_rules_remove_exact_rows_and_views_follow() -> None:
    net = network(
        tables("t", "v") + "r1 v(@X,Y) :- t(@X,Y).\nr2 delete t(@X,Y) :- e(@X,Y), t(@X,Y)."
    )
    net.insert("t", ("a", 1), ("a", 2))
    net.insert("e", ("a", 1))
    assert net.rows("t") == net.rows("v") == {("a", 2)}


def test_intervals_go_round_the_ring() -> None:
    net = network(
        tables("out")
        + "r1 out(@X,K,1) :- e(@X,K,N,S), K in (N,S].\nr2 out(@X,K,2) :- e(@X,K,N,S), K in (N,S)."
    )
    big = 1 << 159
    net.insert("e", ("a", 3, big, 5), ("a", 5, big, 5), ("a", 9, big, 5), ("a", big, big, 5))
    assert net.rows("out") == {("a", 3, 1), ("a", 3, 2), ("a", 5, 1)}


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_intervals_of_strands_are_those_of_the_language(item: int, low: int, high: int) -> None:
    for left, right in product((False, True), repeat=2):
        name = f"in {'[' if left else '('}{']' if right else ')'}"
        expected = in_interval(item, low, high, left, right)
        assert PURE[name](item, low, high) is expected


def test_a_function_without_a_value_fails_its_literal_only() -> None:
    net = network(tables("t", "out") + "r1 out(@X,Z) :- e(@X), t(@X,Y), Z = 10 / Y.")
    net.insert("t", ("a", 0), ("a", 5), ("a", "five"))
    net.insert("e", ("a",))
    assert net.rows("out") == {("a", 2)}
    assert net.node("a").log.faults == {"r1": 2}


def test_two_events_in_a_body_are_refused() -> None:
    with pytest.raises(ProgramError, match="W1355"):
        network(tables("out") + "r1 out(@X) :- e(@X), f(@X).")


def test_a_body_that_cannot_be_computed_is_refused() -> None:
    with pytest.raises(ProgramError, match="W1350"):
        network(tables("t", "out") + "r1 out(@X,Y) :- t(@X), Y < 3.")
