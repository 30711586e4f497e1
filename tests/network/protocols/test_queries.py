"""Questions about a network have the answers of networkx, after links come and go."""

from __future__ import annotations

import networkx as nx
from hypothesis import given

from network.protocols import oracles
from network.protocols.changes import Changes, bursts, few
from network.protocols.running import running

DIRECTED = bursts("abcde", directed=True)


@few
@given(changes=DIRECTED)
def test_reachable_is_what_links_lead_to(changes: list[Changes]) -> None:
    with running("reachable", "abcde", directed=True) as network:
        for burst in changes:
            network.change(burst)
            assert network.rows("reachable") == set(oracles.distances(network.links))


@few
@given(changes=DIRECTED)
def test_the_radius_holds_what_costs_at_most_ten(changes: list[Changes]) -> None:
    with running("within_radius", "abcde", directed=True) as network:
        for burst in changes:
            network.change(burst)
            least = oracles.distances(network.links)
            within = {(s, t, cost) for (s, t), cost in least.items() if cost <= 10}
            assert network.rows("withinRadius") == within


@few
@given(changes=bursts("abcdefg"))
def test_the_horizon_is_a_ball_of_three_hops(changes: list[Changes]) -> None:
    readings = {name: i * i % 11 for i, name in enumerate("abcdefg")}
    with running("horizon", "abcdefg") as network:
        network.insert("reading", *readings.items())
        for number, burst in enumerate(changes):
            network.change(burst)
            readings["abcdefg"[number]] = 12 + number
            network.insert("reading", ("abcdefg"[number], 12 + number))  # which replaces the old
            graph = oracles.graph(network.links)
            graph.add_nodes_from(readings)
            balls = {x: nx.ego_graph(graph, x, radius=3) for x in readings}
            assert network.rows("inHorizon") == {
                (x, y, readings[y]) for x, ball in balls.items() for y in ball
            }
            assert network.rows("horizonSize") == {(x, len(ball)) for x, ball in balls.items()}
            assert network.rows("horizonHighest") == {
                (x, max(readings[y] for y in ball)) for x, ball in balls.items()
            }


@few
@given(changes=bursts("abcd", directed=True))
def test_cycles_are_found_at_each_of_their_nodes(changes: list[Changes]) -> None:
    with running("cycles", "abcd", directed=True) as network:
        for burst in changes:
            network.change(burst)
            cycles = oracles.cycles(network.links)
            assert network.rows("cycle") == cycles
            assert network.rows("onCycle") == {(x,) for x, _ in cycles}


@few
@given(changes=bursts("abcd", directed=True))
def test_cheapest_paths_and_those_of_fewest_hops_are_paired(changes: list[Changes]) -> None:
    with running("shortest_cheapest_path", "abcd", directed=True) as network:
        for burst in changes:
            network.change(burst)
            cheapest = oracles.shortest_paths(network.links)
            shortest = oracles.shortest_paths(network.links, by_hops=True)
            assert network.rows("cheapestPath") == cheapest
            assert network.rows("fewestHops") == shortest
            assert network.rows("shortestCheapestPath") == {
                (*one, *other[2:]) for one in cheapest for other in shortest if one[:2] == other[:2]
            }


def test_a_deletion_that_cuts_nodes_off_ends() -> None:
    with running("shortest_cheapest_path", "abc", directed=True) as network:
        network.change({("a", "b"): 1, ("b", "a"): 1, ("b", "c"): 1})
        assert ("a", "c", ("a", "b", "c"), 2) in network.rows("cheapestPath")
        network.change({("b", "c"): None})
        assert {row[1] for row in network.rows("cheapestPath")} == {"a", "b"}
