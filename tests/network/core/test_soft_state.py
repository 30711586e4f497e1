"""Soft state times out unless it is refreshed, and refreshes cascade; deletions do not."""

from __future__ import annotations

from network.core.small import network, tables

SOFT = """
materialize(s, 10, infinity, keys()).
materialize(d, 10, infinity, keys()).
r d(@X,Y) :- s(@X,Y).
"""


def test_a_row_is_there_for_its_lifetime() -> None:
    net = network(SOFT)
    net.insert("s", ("a", 1))
    net.run(9.9)
    assert net.rows("s") == {("a", 1)}
    net.run(0.2)
    assert net.rows("s") == set()


def test_a_refresh_extends_a_life_and_those_derived_from_it() -> None:
    net = network(SOFT)
    net.insert("s", ("a", 1))
    net.run(6)
    net.insert("s", ("a", 1))
    net.run(6)
    assert net.rows("s") == net.rows("d") == {("a", 1)}
    net.run(6)
    assert net.rows("s") == net.rows("d") == set()


def test_a_deletion_of_soft_state_does_not_cascade() -> None:
    net = network(SOFT)
    net.insert("s", ("a", 1))
    net.delete("s", ("a", 1))
    assert net.rows("s") == set()
    assert net.rows("d") == {("a", 1)}


def test_hard_state_from_soft_state_is_an_archive() -> None:
    net = network("materialize(s, 1, infinity, keys()).\n" + tables("h") + "r h(@X,Y) :- s(@X,Y).")
    net.insert("s", ("a", 1))
    net.run(5)
    assert net.rows("s") == set()
    assert net.rows("h") == {("a", 1)}


def test_a_window_deletes_what_follows_from_it_when_it_ends() -> None:
    text = "materialize(s, 1, infinity, keys()).\n" + tables("h") + "r h(@X,Y) :- s(@X,Y)."
    for scheme in ("counting", "absorption"):
        net = network(text, windows=("s",), scheme=scheme)
        net.insert("s", ("a", 1))
        net.run(0.5)
        assert net.rows("h") == {("a", 1)}
        net.run(5)
        assert net.rows("s") == net.rows("h") == set()


def test_full_tables_evict_the_oldest() -> None:
    net = network("materialize(s, 100, 2, keys()).\nr h(@X) :- s(@X,Y).")
    net.insert("s", ("a", 1), ("a", 2))
    net.insert("s", ("a", 1))  # refreshed, so 2 is the oldest now
    net.insert("s", ("b", 7), ("a", 3))
    assert net.rows("s") == {("a", 1), ("a", 3), ("b", 7)}


def test_a_new_row_replaces_the_one_with_its_key() -> None:
    net = network("materialize(s, 100, infinity, keys(1)).\nr h(@X) :- s(@X,Y).")
    net.insert("s", ("a", 1), ("a", 2), ("b", 3))
    assert net.rows("s") == {("a", 2), ("b", 3)}


def test_aggregates_over_soft_state_follow_what_expires() -> None:
    net = network(
        "materialize(s, 10, infinity, keys()).\nmaterialize(m, 10, infinity, keys(1)).\n"
        "r m(@X,min<Y>) :- s(@X,Y)."
    )
    net.insert("s", ("a", 1))
    net.run(6)
    net.insert("s", ("a", 5))
    assert net.rows("m") == {("a", 1)}
    net.run(5)  # 1 is gone, 5 is not
    assert net.rows("m") == {("a", 5)}
    net.run(3)
    net.insert("s", ("a", 5))  # a refresh tells the value again
    net.run(8)
    assert net.rows("m") == {("a", 5)}
    net.run(10)
    assert net.rows("m") == set()


def test_a_negated_row_that_expires_lets_rules_go_on() -> None:
    net = network(
        "materialize(s, 10, infinity, keys()).\nmaterialize(q, 2, infinity, keys()).\n"
        "materialize(d, 50, infinity, keys()).\nr d(@X,Y) :- s(@X,Y), !q(@X,Y)."
    )
    net.insert("q", ("a", 1))
    net.insert("s", ("a", 1), ("a", 2))
    assert net.rows("d") == {("a", 2)}
    net.run(3)
    assert net.rows("d") == {("a", 1), ("a", 2)}
