"""Solving a hypergraph gives the sum over all derivation trees, or says that there is none."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semiring.hypergraphs import (
    Small,
    by_height,
    dependencies,
    hypergraph,
    small_graphs,
    sum_of_trees,
    supported,
)
from whence.semiring import chains
from whence.semiring import solve as solving
from whence.semiring.absorption import Absorption
from whence.semiring.base import Law, Semiring, converges
from whence.semiring.boolean import Boolean
from whence.semiring.bottleneck import Bottleneck
from whence.semiring.counting import Counting, CountingInf
from whence.semiring.how import How
from whence.semiring.lukasiewicz import Lukasiewicz
from whence.semiring.minimax import Minimax
from whence.semiring.product import Product
from whence.semiring.solve import Endless, solve
from whence.semiring.topk import TopK, TopKDistinct
from whence.semiring.tropical import Tropical
from whence.semiring.visits import Visits
from whence.semiring.viterbi import Viterbi
from whence.semiring.which import Which
from whence.semiring.why import MinWhy, Why

COSTS = st.lists(st.integers(0, 4), min_size=6, max_size=6)


class Plain(Semiring[Any]):
    """The two least costs, in a semiring of which nothing is known but that it is stable."""

    name = "plain"
    laws = Law.STABLE
    column = "symbol"
    zero = ()
    one = (0,)
    inner = TopK(2)

    def plus(self, a: Any, b: Any) -> Any:
        return self.inner.plus(a, b)

    def times(self, a: Any, b: Any) -> Any:
        return self.inner.times(a, b)

    def read(self, cell: Any) -> Any:
        return self.inner.read(cell)

    def show(self, value: Any) -> Any:
        return self.inner.show(value)


def costs_of(semiring: Semiring[Any], costs: list[int]) -> list[Any]:
    if semiring.name in ("viterbi", "lukasiewicz"):
        return [semiring.read(1 - cost / 8) for cost in costs]
    return [semiring.read(min(cost, 1) if semiring.name == "boolean" else cost) for cost in costs]


def names_of(semiring: Semiring[Any]) -> list[Any]:
    return [semiring.variable(f"p{n}") for n in range(6)]


@given(small_graphs(cyclic=False))
def test_without_cycles_the_polynomial_lists_every_derivation_tree(small: Small) -> None:
    how = How()
    leaves = small.leaves(how, names_of(how))
    found = solve(small.graph, how, leaves)
    assert found == [sum_of_trees(small, n, how, leaves) for n in range(small.nodes)]


@given(small_graphs(), COSTS)
def test_absorptive_semirings_sum_over_trees_that_repeat_nothing(small: Small, costs) -> None:
    for semiring in (Tropical(), Bottleneck(), Boolean(), TopK(1)):
        leaves = small.leaves(semiring, costs_of(semiring, costs))
        found = solve(small.graph, semiring, leaves)
        assert found == [sum_of_trees(small, n, semiring, leaves) for n in range(small.nodes)]
    for named in (MinWhy(), Absorption()):
        leaves = small.leaves(named, names_of(named))
        found = solve(small.graph, named, leaves)
        assert found == [sum_of_trees(small, n, named, leaves) for n in range(small.nodes)]


@given(small_graphs(), COSTS)
def test_numbers_in_arrays_are_those_of_best_first_search(small: Small, costs) -> None:
    for semiring in (Tropical(), Bottleneck(), Minimax(), Boolean(), Viterbi(), Lukasiewicz()):
        leaves = small.leaves(semiring, costs_of(semiring, costs))
        expected = solve(small.graph, semiring, leaves)
        with mock.patch.object(solving, "WIDE", 0):
            assert solve(small.graph, semiring, leaves) == expected


@pytest.mark.parametrize("most", ["MAX_NARROW", "MAX_CORRECTIONS"])
def test_what_takes_arrays_too_many_rounds_is_searched_best_first(most: str) -> None:
    length = 600
    ring = hypergraph(length, [((n + 1) % length, (n,)) for n in range(length)])
    leaves = [1, *[math.inf] * (length - 1)]
    with mock.patch.object(chains, most, 0):
        assert solve(ring, Tropical(), leaves) == [1] * length


def test_costs_too_large_for_floats_stay_exact() -> None:
    length = 400
    doubling = hypergraph(length, [(n + 1, (n, n)) for n in range(length - 1)])
    found = solve(doubling, Tropical(), [3, *[math.inf] * (length - 1)])
    assert found[100] == 3 * 2**100
    large = solve(doubling, Tropical(), [2**53 + 1, *[math.inf] * (length - 1)])
    assert large[0] == 2**53 + 1
    assert large[1] == 2**54 + 2


@given(small_graphs(), COSTS)
def test_stable_semirings_sum_over_trees_of_any_height(small: Small, costs) -> None:
    for semiring in (TopK(2), TopK(4), TopKDistinct(2), TopKDistinct(3), Visits(), Plain()):
        leaves = small.leaves(semiring, costs_of(semiring, costs))
        assert solve(small.graph, semiring, leaves) == by_height(small, semiring, leaves)
    for named in (Why(), Which()):
        leaves = small.leaves(named, names_of(named))
        assert solve(small.graph, named, leaves) == by_height(small, named, leaves)


@given(small_graphs(), COSTS, COSTS)
def test_a_product_is_solved_in_each_dimension(small: Small, costs, heights) -> None:
    both = Product(Tropical(), Bottleneck(), Visits())
    vectors = [(c, h, h) for c, h in zip(costs, heights, strict=True)]
    found = solve(small.graph, both, small.leaves(both, vectors))
    for place, part in enumerate(both.dimensions):
        leaves = [value[place] for value in small.leaves(both, vectors)]
        assert [value[place] for value in found] == by_height(small, part, leaves)


@given(small_graphs(), COSTS)
def test_costs_given_several_at_a_time_are_settled_one_by_one(small: Small, costs) -> None:
    semiring = TopK(3)
    values = [semiring.read(f"{c} {c} {c + 2}") for c in costs]
    leaves = small.leaves(semiring, values)
    assert solve(small.graph, semiring, leaves) == by_height(small, semiring, leaves)


# ── counting ──


@given(small_graphs(), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_counting_is_refused_exactly_where_a_derivation_goes_round(small: Small, counts) -> None:
    small = Small(
        small.nodes, small.instances, small.given - {n for n in range(6) if not counts[n]}
    )
    counting = Counting()
    leaves = small.leaves(counting, counts)
    graph = dependencies(small)
    try:
        found = solve(small.graph, counting, leaves)
    except Endless as error:
        cycle = error.cycle
        following = (*cycle.nodes[1:], cycle.nodes[0])
        for head, premise, number in zip(cycle.nodes, following, cycle.instances, strict=True):
            instance = small.instances[number]
            assert instance[0] == head
            assert premise in instance[1]
            assert supported(small).issuperset(instance[1])
        assert len(set(cycle.nodes)) == len(cycle.nodes)
        assert not nx.is_directed_acyclic_graph(graph)
    else:
        assert nx.is_directed_acyclic_graph(graph)
        assert found == [sum_of_trees(small, n, counting, leaves) for n in range(small.nodes)]


@given(small_graphs())
def test_counts_are_infinite_exactly_behind_cycles(small: Small) -> None:
    counting = CountingInf()
    leaves = small.leaves(counting, [1] * 6)
    found = solve(small.graph, counting, leaves)
    graph = dependencies(small)
    round_and_round = {
        n for part in nx.strongly_connected_components(graph) for n in part if len(part) > 1
    }
    round_and_round |= {n for n in graph if graph.has_edge(n, n)}
    behind = round_and_round.union(*(nx.descendants(graph, n) for n in round_and_round))
    for node in range(small.nodes):
        if node in behind:
            assert found[node] == math.inf
        else:
            assert found[node] == sum_of_trees(small, node, counting, leaves)


def test_a_cycle_that_nothing_feeds_is_no_cycle() -> None:
    graph = hypergraph(3, [(0, (1,)), (1, (0,)), (2, (0, 2))])
    assert solve(graph, Counting(), [0, 0, 1]) == [0, 0, 1]


def test_counts_are_exact_beyond_64_bits() -> None:
    doubling = [(n + 1, (n,)) for n in range(200) for _ in range(2)]
    squaring = [(201, (200, 200, 200))]
    found = solve(hypergraph(202, doubling + squaring), Counting(), [1, *[0] * 201])
    assert found[60:66] == [2**n for n in range(60, 66)]
    assert found[201] == 2**600


def test_a_product_too_large_for_any_float_is_counted_all_the_same() -> None:
    graph = hypergraph(2, [(1, (0,) * 40)])
    assert solve(graph, Counting(), [2**40, 0]) == [2**40, 2**1600]


def test_large_counts_may_be_given() -> None:
    assert solve(hypergraph(2, [(1, (0,))]), Counting(), [2**70, 5]) == [2**70, 2**70 + 5]


# ── large graphs ──


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.booleans())
def test_wide_graphs_are_solved_as_narrow_ones(random, cyclic) -> None:
    nodes = 400
    instances = []
    for head in range(60, nodes):
        for _ in range(random.randint(1, 3)):
            last = nodes if cyclic else head - random.choice([1, 50]) + 1
            instances.append(
                (head, tuple(random.randrange(last) for _ in range(random.randint(1, 2))))
            )
    small = Small(nodes, tuple(instances), frozenset(range(60)))
    tropical = Tropical()
    leaves = small.leaves(tropical, [random.randint(0, 9) for _ in range(nodes)])
    assert solve(small.graph, tropical, leaves) == by_height(small, tropical, leaves)
    if not cyclic:
        ones = small.leaves(Counting(), [1] * nodes)
        assert solve(small.graph, Counting(), ones) == by_height(small, Counting(), ones)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 9)), max_size=30))
def test_tropical_gives_the_distances_of_dijkstra(edges) -> None:
    # Node 0 to 7 are places, reached from 0; the others are the edges.
    instances = [(target, (source, 8 + i)) for i, (source, target, _) in enumerate(edges)]
    leaves = [0, *[math.inf] * 7, *(cost for _, _, cost in edges)]
    found = solve(hypergraph(8 + len(edges), instances), Tropical(), leaves)
    roads = nx.MultiDiGraph()
    roads.add_nodes_from(range(8))
    roads.add_weighted_edges_from(edges)
    expected = nx.single_source_dijkstra_path_length(roads, 0)
    assert found[:8] == [expected.get(place, math.inf) for place in range(8)]


def test_a_long_chain_is_no_deep_recursion() -> None:
    length = 20_000
    chain = hypergraph(length, [(n + 1, (n,)) for n in range(length - 1)])
    assert solve(chain, Tropical(), [1, *[math.inf] * (length - 1)])[-1] == 1
    ring = hypergraph(length, [((n + 1) % length, (n,)) for n in range(length)])
    assert solve(ring, Tropical(), [1, *[math.inf] * (length - 1)])[-1] == 1


def test_no_nodes_and_no_instances_are_solved_too() -> None:
    assert solve(hypergraph(0, []), Counting(), []) == []
    assert solve(hypergraph(2, []), Which(), [Which().one, Which().zero]) == [
        Which().one,
        Which().zero,
    ]


def test_work_can_be_stopped() -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    length = 9_000
    ring = hypergraph(length, [((n + 1) % length, (n,)) for n in range(length)])
    for semiring in (Tropical(), TopK(2), Visits(), Plain()):
        leaves = [semiring.one, *[semiring.zero] * (length - 1)]
        with pytest.raises(Stop):
            solve(ring, semiring, leaves, stop)


def test_laws_say_where_an_end_is_sure() -> None:
    assert [converges(s) for s in (Tropical(), Why(), TopK(3), CountingInf())] == [True] * 4
    assert [converges(s) for s in (Counting(), How())] == [False] * 2


@given(small_graphs(cyclic=False), COSTS)
def test_a_polynomial_can_be_read_in_any_semiring(small: Small, costs) -> None:
    from whence.semiring.how import specialise

    how, tropical = How(), Tropical()
    polynomials = solve(small.graph, how, small.leaves(how, names_of(how)))
    found = solve(small.graph, tropical, small.leaves(tropical, costs))
    meaning = {f"p{n}": cost for n, cost in enumerate(costs)}.__getitem__
    assume(any(polynomials))
    assert [specialise(p, tropical, meaning) for p in polynomials] == found
