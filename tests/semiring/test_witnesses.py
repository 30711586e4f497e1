"""Minimal witnesses are those that trying every set of base facts finds, each once."""

from __future__ import annotations

import os
from itertools import combinations, islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.semiring import cone
from whence.semiring.hypergraph import Hypergraph
from whence.semiring.witnesses import minimal_witnesses

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "2000"))
Instances = list[tuple[int, tuple[int, ...]]]


def hypergraph(nodes: int, instances: Instances) -> Hypergraph:
    return Hypergraph(
        nodes=nodes,
        heads=np.array([head for head, _ in instances], np.int64),
        rules=np.zeros(len(instances), np.int64),
        start=np.cumsum([0, *(len(body) for _, body in instances)]).astype(np.int64),
        premises=np.array([p for _, body in instances for p in body], np.int64),
    )


def derives(instances: Instances, given: frozenset[int], node: int) -> bool:
    there = set(given)
    size = -1
    while size != len(there):
        size = len(there)
        there |= {head for head, body in instances if set(body) <= there}
    return node in there


def by_trying_all(instances: Instances, leaves: frozenset[int], node: int) -> set[frozenset[int]]:
    out: set[frozenset[int]] = set()
    for size in range(len(leaves) + 1):
        for chosen in map(frozenset, combinations(sorted(leaves), size)):
            if not any(kept <= chosen for kept in out) and derives(instances, chosen, node):
                out.add(chosen)
    return out


@st.composite
def problems(draw: st.DrawFn) -> tuple[int, Instances, frozenset[int]]:
    """Cyclic, with premises named twice, instances twice, leaves that are derived, and axioms."""
    nodes = draw(st.integers(1, 9))
    node = st.integers(0, nodes - 1)
    bodies = st.lists(node, min_size=draw(st.integers(0, 1)), max_size=3).map(tuple)
    instances = draw(st.lists(st.tuples(node, bodies), max_size=16))
    leaves = draw(st.frozensets(node, max_size=7))
    return nodes, instances, leaves


def agrees(problem: tuple[int, Instances, frozenset[int]]) -> None:
    nodes, instances, leaves = problem
    graph = hypergraph(nodes, instances)
    for node in range(nodes):
        expected = by_trying_all(instances, leaves, node)
        for few in (0, cone.FEW):  # as arrays, and node by node
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(cone, "FEW", few)
                found = list(minimal_witnesses(graph, node, leaves))
            assert len(found) == len(set(found)), "one came twice"
            assert set(found) == expected


@given(problems())
@settings(max_examples=200, deadline=None)
def test_witnesses_are_those_found_by_trying_all_sets(
    problem: tuple[int, Instances, frozenset[int]],
) -> None:
    agrees(problem)


@pytest.mark.slow
@given(problems())
@settings(max_examples=EXAMPLES, deadline=None)
def test_witnesses_are_those_found_by_trying_all_sets_for_long(
    problem: tuple[int, Instances, frozenset[int]],
) -> None:
    agrees(problem)


def paths(edges: list[tuple[int, int]], start: int) -> tuple[Hypergraph, dict[int, int]]:
    """What `start` reaches: node i of the graph is node i, then come the edges."""
    towns = 1 + max(max(edge) for edge in edges)
    instances: Instances = []
    for number, (x, y) in enumerate(edges):
        body = (towns + number,) if x == start else (x, towns + number)
        instances.append((y, body))
    graph = hypergraph(towns + len(edges), instances)
    return graph, {towns + number: number for number in range(len(edges))}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14, unique=True)
)
@settings(max_examples=100, deadline=None)
def test_witnesses_of_reachability_are_simple_paths_short_ones_first(
    edges: list[tuple[int, int]],
) -> None:
    edges = [(x, y) for x, y in edges if x != y] or [(0, 1)]
    graph, leaves = paths(edges, 0)
    towns = graph.nodes - len(edges)
    known = nx.DiGraph(edges)
    for town in range(1, towns):
        found = list(minimal_witnesses(graph, town, leaves))
        if 0 in known and town in known:
            simple = nx.all_simple_edge_paths(known, 0, town)
            expected = {frozenset(towns + edges.index(edge) for edge in path) for path in simple}
        else:
            expected = set()
        assert set(found) == expected
        assert [len(witness) for witness in found] == sorted(len(witness) for witness in found)


def test_a_fact_that_is_given_and_derived_has_itself_as_a_witness() -> None:
    graph = hypergraph(3, [(0, (1, 2))])
    assert list(minimal_witnesses(graph, 0, {0, 1, 2})) == [{0}, {1, 2}]


def test_a_fact_that_follows_from_nothing_needs_nothing() -> None:
    graph = hypergraph(2, [(0, (1,)), (0, ())])
    assert list(minimal_witnesses(graph, 0, [1])) == [frozenset()]


def test_what_is_not_derived_has_no_witness() -> None:
    graph = hypergraph(3, [(0, (1, 2))])
    assert list(minimal_witnesses(graph, 0, [1])) == []
    assert list(minimal_witnesses(graph, 2, np.array([1]))) == []


def test_a_cycle_does_not_support_itself() -> None:
    graph = hypergraph(3, [(0, (1,)), (1, (0,)), (0, (2,))])
    assert list(minimal_witnesses(graph, 1, [2])) == [{2}]


def test_disjoint_witnesses_take_no_exponential_time_to_tell_apart() -> None:
    pairs = 60
    graph = hypergraph(1 + 2 * pairs, [(0, (2 * i + 1, 2 * i + 2)) for i in range(pairs)])
    found = list(minimal_witnesses(graph, 0, range(1, 1 + 2 * pairs)))
    assert set(found) == {frozenset((2 * i + 1, 2 * i + 2)) for i in range(pairs)}


def test_the_first_of_very_many_witnesses_come_at_once() -> None:
    side = 12  # monotone paths alone are 705,432
    edges = [(x * side + y, (x + 1) * side + y) for x in range(side - 1) for y in range(side)]
    edges += [(x * side + y, x * side + y + 1) for x in range(side) for y in range(side - 1)]
    graph, leaves = paths(edges, 0)
    parts: list[None] = []
    search = minimal_witnesses(graph, side * side - 1, leaves, check=lambda: parts.append(None))
    found = list(islice(search, 20))
    assert len(set(found)) == 20
    assert {len(witness) for witness in found} == {2 * (side - 1)}
    assert len(parts) < 20 * 2 * len(found[0]), "parts of the search, some for each fact of each"


def test_a_cone_that_is_not_flat_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cone, "FEW", 0)
    steps = cone.ROUNDS + 10
    edges = [(n, n + 1) for n in range(steps)] + [(0, steps)]
    graph, leaves = paths(edges, 0)
    found = list(minimal_witnesses(graph, steps, leaves))
    assert [len(witness) for witness in found] == [1, steps]


def test_a_proof_may_be_larger_as_a_tree_than_can_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cone, "FEW", 0)
    # Node 11n follows from the ten after it, each of these from 11n + 11: 10¹³ leaves as a tree.
    instances: Instances = []
    for n in range(0, 13 * 11, 11):
        middle = tuple(range(n + 1, n + 11))
        instances += [(n, middle), *((node, (n + 11,)) for node in middle)]
    graph = hypergraph(145, instances)
    assert list(minimal_witnesses(graph, 0, [143, 144])) == [{143}]


def test_large_flat_cones_give_what_small_ones_do() -> None:
    towns = range(14)
    pairs = {pair: 14 * 14 + n for n, pair in enumerate((x, y) for x in towns for y in towns)}
    roads = [(x, (x * 5 + k) % 14) for x in towns for k in (1, 3)]
    instances: Instances = [(pairs[road], (road[0] * 14 + road[1],)) for road in roads]
    instances += [
        (pairs[x, y], (pairs[x, z], pairs[z, y])) for x in towns for y in towns for z in towns
    ]
    graph = hypergraph(2 * 14 * 14, instances)
    leaves = [x * 14 + y for x, y in roads]
    assert graph.premises.size > cone.FEW
    target = pairs[0, 13]
    found = list(minimal_witnesses(graph, target, leaves))
    simple = nx.all_simple_edge_paths(nx.DiGraph(roads), 0, 13)
    assert set(found) == {frozenset(x * 14 + y for x, y in path) for path in simple}
    assert len(found) == len(set(found)) > 3


def test_the_caller_can_stop_the_search() -> None:
    def stop() -> None:
        raise TimeoutError

    graph = hypergraph(2, [(0, (1,))])
    with pytest.raises(TimeoutError):
        list(minimal_witnesses(graph, 0, [1], check=stop))
