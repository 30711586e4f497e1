"""The central meaning of hard state, against networkx and against the embedded engine."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence import session
from whence.diagnostics import LimitError, ProgramError
from whence.network.definition import central, fold
from whence.network.protocols.library import protocol
from whence.syntax.ndlog import parse_ndlog

quick = settings(max_examples=30, deadline=None)
NODES = "abcde"


@st.composite
def links(draw, nodes=NODES):
    pairs = [(x, y) for x in nodes for y in nodes if x != y]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10))
    return {(x, y, draw(st.integers(1, 9))) for x, y in chosen}


@quick
@given(links())
def test_best_paths_are_those_of_networkx(given_links):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(given_links)
    found = central(protocol("best_path"), {"link": given_links})
    expected = {
        (source, target, tuple(path), nx.path_weight(graph, path, "weight"))
        for source in graph
        for target in graph
        if source != target and nx.has_path(graph, source, target)
        for path in nx.all_shortest_paths(graph, source, target, weight="weight")
    }
    assert found["bestPath"] == expected


@quick
@given(links())
def test_reachability_is_the_transitive_closure(given_links):
    graph = nx.DiGraph((x, y) for x, y, _ in given_links)
    closure = nx.transitive_closure(graph, reflexive=False)
    text = """
    materialize(link, infinity, infinity, keys()).  materialize(r, infinity, infinity, keys()).
    r(@S, D) :- #link(@S, D, C).  r(@S, D) :- #link(@S, Z, C), r(@Z, D).
    """
    found = central(parse_ndlog(text), {"link": given_links})
    assert found["r"] == set(closure.edges)


SAME = (
    (
        "t(@X, Y) :- e(@X, Y). t(@X, Z) :- t(@X, Y), e(@Y, Z).",
        "t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z).",
    ),
    (
        "t(@X, Y) :- e(@X, Y), !e(@Y, X), X != Y.",
        "t(x, y) :- e(x, y), !e(y, x), x != y.",
    ),
    (
        "t(@X, count<*>) :- e(@X, _).",
        "t(x, n) :- e(x, _), n = count : { e(x, _) }.",
    ),
    (
        "t(@X, sum<Z>) :- e(@X, Y), e(@Y, Z).",
        "t(x, n) :- e(x, y), e(y, _), n = sum z : { e(x, w), e(w, z) }.",
    ),
    (
        "s(@X, min<Y>) :- e(@X, Y). t(@X, Z) :- s(@X, Y), (Z = Y + 1 || Z = Y - X).",
        "s(x, y) :- e(x, _), y = min w : { e(x, w) }. t(x, z) :- s(x, y), (z = y + 1; z = y - x).",
    ),
    (
        "t(@X, Y) :- e(@X, Y), Y in (X, 3], !(Y in [1, X)).",
        "t(x, y) :- e(x, y), (x < 3, x < y, y <= 3; x >= 3, (x < y; y <= 3)), "
        "!(1 < x, 1 <= y, y < x; 1 >= x, (1 <= y; y < x)).",
    ),
    (
        "t(@X, D) :- e(@X, Y), D = (Y - X) * 2 - 1, D <= 4.",
        "t(x, d) :- e(x, y), d = (y - x) * 2 - 1, d <= 4.",
    ),
    (
        "t(@X, Y) :- e(@X, Z), (e(@Z, Y) || (Y = Z, X > 1)).",
        "t(x, y) :- e(x, z), (e(z, y); y = z, x > 1).",
    ),
    (
        "t(@X, f_max(X, Y)) :- e(@X, Y), e(@Y, _).",
        "t(x, max(x, y)) :- e(x, y), e(y, _).",
    ),
)


@pytest.mark.parametrize("pair", SAME, ids=range(len(SAME)))
@settings(max_examples=12, deadline=None)
@given(rows=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_the_embedded_engine_gives_the_same(pair, rows):
    ndlog, souffle = pair
    declared = "".join(f"materialize({n}, infinity, infinity, keys()). " for n in "est")
    found = central(parse_ndlog(declared + ndlog), {"e": rows})
    facts = " ".join(f"e({x}, {y})." for x, y in sorted(rows))
    columns = "".join(f".decl {n}(x: number, y: number)  " for n in "est")
    evaluated = session.evaluate(session.parse(f"{columns} {souffle} {facts}"))
    there = {tuple(row.values()) for row in evaluated.table("t").to_pylist()}
    assert found["t"] == there


def test_events_and_soft_state_take_no_part():
    text = """
    materialize(hard, infinity, infinity, keys()).  materialize(soft, 10, infinity, keys()).
    hard(@X) :- soft(@X).  soft(@X) :- hard(@X).  hard(@a).  delete hard(@X) :- hard(@X).
    """
    assert central(parse_ndlog(text), {"soft": {("b",)}, "event": {("c",)}}) == {"hard": {("a",)}}


def test_a_function_without_a_value_derives_nothing():
    text = """
    materialize(p, infinity, infinity, keys()).  materialize(q, infinity, infinity, keys()).
    q(@X, f_head(L)) :- p(@X, L).  q(@X, H) :- p(@X, L), H = f_item(L, 2).
    p(@a, []).  p(@b, [1]).  p(@c, [2, 3]).  p(@d, 5).
    """
    assert central(parse_ndlog(text))["q"] == {("b", 1), ("c", 2), ("c", 3)}


def test_lists_are_taken_apart():
    text = """
    materialize(p, infinity, infinity, keys()).  materialize(q, infinity, infinity, keys()).
    q(@X, B, A) :- p(@X, L), L = [A, [B, A]].  p(@a, [1, [2, 1]]).  p(@a, [1, [2, 3]]).
    """
    assert central(parse_ndlog(text))["q"] == {("a", 2, 1)}


def test_an_aggregate_is_over_instances_not_over_values():
    text = """
    materialize(p, infinity, infinity, keys()).  materialize(q, infinity, infinity, keys()).
    q(@X, sum<C>, count<*>, avg<C>, max<D>) :- p(@X, D, C).
    p(@a, 1, 5).  p(@a, 2, 5).  p(@b, 1, 0.5).
    """
    assert central(parse_ndlog(text))["q"] == {("a", 10, 2, 5.0, 2), ("b", 0.5, 1, 0.5, 1)}


def test_sums_of_floats_do_not_depend_on_the_order():
    assert fold("sum", [0.1] * 10) == 1.0
    assert fold("sum", [1e100, 1, -1e100]) == 1.0


def test_what_never_ends_is_stopped():
    text = """
    materialize(l, infinity, infinity, keys()).  materialize(p, infinity, infinity, keys()).
    p(@X, 0) :- #l(@X, Y).  p(@X, N) :- #l(@X, Y), p(@Y, M), N = M + 1.  l(@a, b).  l(@b, a).
    """
    with pytest.raises(LimitError, match="W1341"):
        central(parse_ndlog(text), max_facts=100)


def test_recursion_through_negation_and_aggregates_has_no_meaning():
    declared = (
        "materialize(p, infinity, infinity, keys()). materialize(q, infinity, infinity, keys()). "
    )
    for rules in ("p(@X) :- q(@X), !p(@X).", "p(@X, min<C>) :- p(@X, C), q(@X)."):
        with pytest.raises(ProgramError, match="W1328"):
            central(parse_ndlog(declared + rules))


def test_a_body_that_can_never_be_asked_is_refused():
    text = "materialize(p, infinity, infinity, keys()). p(@X, Y) :- p(@X, _), Y < 3."
    with pytest.raises(ProgramError, match="W1313"):
        central(parse_ndlog(text), {"p": {("a", 1)}})


HARD = "".join(f"materialize({name}, infinity, infinity, keys()). " for name in "pqr")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("q(@X, f_head(Y)) :- p(@X, Y).", {("b", 1)}),
        ("q(@X, sum<Y>) :- p(@X, Y), Y != [1].", {("a", 2)}),
        ("q(@X, count<*>) :- p(@X, Y), Y < 5.", {("a", 1)}),
        ("q(@X, Y) :- p(@X, Y), p(@X, Y + 0).", {("a", 2)}),
        ("q(@X, Y) :- p(@X, Y), Y in (0, 3).", {("a", 2)}),
        ("q(@X, Y) :- p(@X, Y), p(Z, W, @V).", set()),
        ("q(@X, Z) :- p(@X, Y), 1 = f_head(Y), Z = f_size(Y).", {("b", 1)}),
        ("q(@X, Z) :- p(@X, Y), Z = Y + 1.", {("a", 3)}),
        ("q(@X, Z) :- p(@X, [Z]).", {("b", 1)}),
        ("q(@X, Y) :- p(@X, Y), Y = [A, B].", set()),
        ("q(@X, Y) :- p(@X, Y), !(Y = 2), !!p(@X, Y).", {("b", (1,))}),
        ("q(@X, Y) :- (p(@X, Y), Y != 2) || p(X, @Y).", {("b", (1,)), ("a", 2)}),
        ("q(@X, Z) :- p(@X, Y), (Z = 1 || Z = 2), Z = Y.", {("a", 2)}),
        ("q(@X, Y) :- p(@X, Y), true = false.", set()),
    ],
)
def test_bodies_hold_where_all_their_parts_have_values(rules, expected):
    found = central(parse_ndlog(HARD + rules + " p(@a, 2). p(@b, [1])."))
    rows = {row for row in found["q"] if len(row) == 2}
    assert rows == expected
