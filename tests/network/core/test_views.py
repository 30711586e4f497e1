"""Views are exact: each derivation counts once, keys replace, negation and aggregates follow."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.core.small import network, tables
from whence.diagnostics import ProgramError
from whence.network.protocols.library import protocol
from whence.network.simulation import Network, Settings

values = st.integers(0, 3)
pairs = st.tuples(st.just("a"), values)
Changes = list[tuple[int, tuple[str, int]]]


@given(st.lists(st.tuples(st.sampled_from((1, 1, -1)), pairs), max_size=15), st.booleans())
def test_the_count_of_a_tuple_is_the_number_of_its_derivations(
    changes: Changes, buffered: bool
) -> None:
    # Three atoms over one relation: each change starts three strands, which must not overlap.
    net = network(
        tables("e", "v") + "r v(@X,A) :- e(@X,A), e(@X,B), e(@X,C), B + C < 4.",
        buffered=0.01 if buffered else None,
    )
    held: set[tuple[str, int]] = set()
    for sign, row in changes:
        (net.insert if sign > 0 else net.delete)("e", row)
        (held.add if sign > 0 else held.discard)(row)
    net.settle()
    expected = Counter((x, a) for (x, a), (_, b), (_, c) in product(held, repeat=3) if b + c < 4)
    assert dict(net.node("a").rows("v")) == dict(expected)


@given(st.lists(st.tuples(st.sampled_from((1, 1, -1)), pairs), max_size=15))
def test_aggregates_follow_tables_up_and_down(changes: Changes) -> None:
    rules = "".join(
        f"r{i} v{i}(@X,{fold}) :- e(@X,Y).\n"
        for i, fold in enumerate(("min<Y>", "max<Y>", "sum<Y>", "count<*>", "avg<Y>"))
    )
    net = network(tables("e", *(f"v{i}" for i in range(5))) + rules)
    held: set[int] = set()
    for sign, row in changes:
        (net.insert if sign > 0 else net.delete)("e", row)
        (held.add if sign > 0 else held.discard)(row[1])
    told = [{row[1] for row in net.rows(f"v{i}")} for i in range(5)]
    if held:
        mean = sum(held) / len(held)
        assert told == [{min(held)}, {max(held)}, {sum(held)}, {len(held)}, {mean}]
    else:
        assert told == [set()] * 5


def test_sums_of_floats_do_not_drift() -> None:
    net = network(tables("e", "v") + "r v(@X,sum<Y>) :- e(@X,Y).")
    net.insert("e", ("a", 0.1), ("a", 1e17), ("a", 0.2))
    net.delete("e", ("a", 1e17))
    assert net.rows("v") == {("a", 0.1 + 0.2)}


def test_a_base_tuple_that_is_derived_too_holds_for_either_reason() -> None:
    net = network(tables("e", "v") + "r v(@X,Y) :- e(@X,Y).")
    net.insert("v", ("a", 1))
    net.insert("v", ("a", 1))  # again: it is in already
    net.insert("e", ("a", 1))
    net.delete("v", ("a", 1))
    assert net.rows("v") == {("a", 1)}
    net.delete("e", ("a", 1))
    assert net.rows("v") == set()


@pytest.mark.parametrize("scheme", ["counting", "absorption", "relative"])
def test_a_new_link_cost_replaces_the_old_one_and_what_followed(scheme: str) -> None:
    # Figure 5.7: the cost of (a,b) falls from 5 to 1, then (b,d) goes.
    net = Network(protocol("best_path"), "abde", settings=Settings(scheme=scheme))
    links = [("a", "b", 5), ("b", "d", 1), ("e", "a", 1)]
    net.insert("link", *links, *((t, s, c) for s, t, c in links))
    net.settle()
    path = ("e", "a", "b", "d")
    assert ("e", "d", path, 7) in net.rows("bestPath")
    net.insert("link", ("a", "b", 1), ("b", "a", 1))
    net.settle()
    assert {row[3] for row in net.rows("bestPath") if row[2] == path} == {3}
    net.delete("link", ("b", "d", 1), ("d", "b", 1))
    net.settle()
    assert not [row for row in net.rows("path") if "d" in row[3]]


def test_a_hidden_row_shows_again_when_its_rival_goes() -> None:
    net = network(
        tables("e")
        + "materialize(v, infinity, infinity, keys(1)).\nmaterialize(w, infinity, infinity, keys())."
        + "\nr1 v(@X,Y) :- e(@X,Y).\nr2 w(@X,Y) :- v(@X,Y)."
    )
    net.insert("e", ("a", 1), ("a", 2))
    assert net.rows("v") == net.rows("w") == {("a", 2)}
    net.delete("e", ("a", 2))
    assert net.rows("v") == net.rows("w") == {("a", 1)}
    net.insert("e", ("a", 3))
    net.delete("e", ("a", 1))  # while it is hidden
    assert net.rows("v") == net.rows("w") == {("a", 3)}
    net.delete("e", ("a", 3))
    assert net.rows("v") == net.rows("w") == set()


def test_counting_is_refused_where_tuples_may_support_themselves() -> None:
    text = "fullyConnected.\n" + tables("e", "r") + "r1 r(@X,Y) :- e(@X,Y).\n"
    text += "r2 r(@X,Z) :- r(@X,Y), e(@Y,Z)."
    with pytest.raises(ProgramError, match="W1360"):
        network(text, scheme="counting")
    assert network(text).node("a").scheme.name == "absorption"


def test_paths_in_figure_2_3_grow_by_one_hop_in_each_round() -> None:
    net = Network(protocol("best_path"), "abcde")
    links = [("a", "b", 5), ("a", "c", 1), ("c", "b", 1), ("b", "d", 1), ("e", "a", 1)]
    net.update((1, "link", row) for s, t, c in links for row in ((s, t, c), (t, s, c)))
    lengths = []
    for _ in range(4):  # in the first one, nodes tell their neighbours of their links
        net.run(0.0101)
        lengths.append(max(len(row[3]) for row in net.rows("path")))
    assert lengths == [2, 3, 4, 5]
    net.settle()
    best = {(row[0], row[1]): row[-1] for row in net.rows("bestPath")}
    assert best["e", "d"] == 4
    assert best["a", "b"] == 2
