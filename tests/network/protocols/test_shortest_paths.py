"""Protocols for shortest paths say what networkx says, after every burst of changes of links."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given

from network.protocols import oracles
from network.protocols.changes import Changes, bursts, few, random_bursts
from network.protocols.running import Running, running
from whence.network.topology.catalogue import make

PATHS = [
    ("path_vector", "shortestPath", "plain"),
    ("best_path", "bestPath", "plain"),
    ("link_state", "bestPath", "lazy"),  # as one derivation of a flooded link is enough to send
]


@pytest.mark.parametrize(("name", "relation", "ship"), PATHS)
@few
@given(changes=bursts("abcde"))
def test_shortest_paths_are_those_of_networkx_after_every_burst(
    name: str, relation: str, ship: str, changes: list[Changes]
) -> None:
    with running(name, "abcde", ship=ship) as network:
        for burst in changes:
            network.change(burst)
            assert network.rows(relation) == oracles.shortest_paths(network.links)


@pytest.mark.parametrize(("name", "relation", "ship"), PATHS)
def test_shortest_paths_of_many_nodes_follow_their_links(
    name: str, relation: str, ship: str
) -> None:
    count = 12 if name == "link_state" else 30
    with running(name, [f"n{i}" for i in range(count)], ship=ship) as network:
        for burst in random_bursts(network.nodes, links=count * 7 // 4, bursts=3, seed=1):
            network.change(burst)
            assert network.rows(relation) == oracles.shortest_paths(network.links)


@few
@given(changes=bursts("abcde"))
def test_next_hops_begin_shortest_paths(changes: list[Changes]) -> None:
    with running("shortest_path_hop", "abcde") as network:
        for burst in changes:
            network.change(burst)
            assert network.rows("shortestPathHop") == oracles.next_hops(network.links)


@few
@given(changes=bursts("abcde"))
def test_no_path_reaches_the_bound(changes: list[Changes]) -> None:
    with running("qos_path", "abcde") as network:
        for burst in changes:
            network.change(burst)
            expected = {row for row in oracles.shortest_paths(network.links) if row[3] < 10}
            assert network.rows("bestPath") == expected


@few
@given(changes=bursts("abcde"))
def test_link_state_and_path_vector_agree(changes: list[Changes]) -> None:
    with (
        running("link_state", "abcde", ship="lazy") as one,
        running("path_vector", "abcde") as other,
    ):
        for burst in changes:
            one.change(burst)
            other.change(burst)
            assert one.rows("bestPath") == other.rows("shortestPath")


@few
@given(changes=bursts("abcde"))
def test_paths_are_found_for_those_who_ask(changes: list[Changes]) -> None:
    with running("dynamic_source_routing", "abcde") as network:
        asked = {("a", "d"), ("b", "a"), ("a", "c")}
        network.insert("routeRequest", *asked)
        for burst in changes:
            network.change(burst)
            shortest = oracles.shortest_paths(network.links)
            assert network.rows("bestPath") == {row for row in shortest if row[:2] in asked}
        network.delete("routeRequest", ("a", "d"))
        assert all(row[:2] != ("a", "d") for row in network.rows("bestPath"))


def test_nobody_asks_and_nothing_is_sent() -> None:
    with running("dynamic_source_routing", "abc") as network:
        network.change({("a", "b"): 1, ("b", "c"): 1})
        assert network.messages() == 0


@few
@given(changes=bursts("abcde"))
def test_no_path_of_a_node_leads_over_those_it_excludes(changes: list[Changes]) -> None:
    excluded: set[tuple[str, str]] = set()
    with running("policy_routing", "abcde") as network:
        for number, burst in enumerate(changes):
            network.change(burst)
            pair = ("a", "bcd"[number % 3]) if number % 2 == 0 else ("e", "b")
            if number == 3:
                excluded.discard(pair)
                network.delete("excludeNode", pair)
            else:
                excluded.add(pair)
                network.insert("excludeNode", pair)
            assert network.rows("bestPermitPath") == permitted(network.links, excluded)


def permitted(
    links: oracles.Links, excluded: set[tuple[str, str]]
) -> set[tuple[str, str, oracles.Path, int]]:
    found = set()
    for source in {s for s, _ in links}:
        without = {w for s, w in excluded if s == source}
        left = {ends: cost for ends, cost in links.items() if not without & set(ends)}
        found |= oracles.shortest_paths(left, sources=[source])
    return found


@pytest.mark.parametrize(
    ("scheme", "ship"),
    [("dred", "plain"), ("absorption", "eager"), ("absorption", "lazy"), ("relative", "lazy")],
)
def test_links_that_support_each_other_in_the_flood_are_forgotten(scheme: str, ship: str) -> None:
    nodes = [f"n{i}" for i in range(6)]
    with running("link_state", nodes, scheme=scheme, ship=ship) as network:
        for burst in random_bursts(nodes, links=9, bursts=4, seed=2):
            network.change(burst)
            parts = {node: nx.node_connected_component(whole(network), node) for node in nodes}
            assert network.rows("knownLink") == {
                (node, *ends, cost)
                for node in nodes
                for ends, cost in network.links.items()
                if ends[0] in parts[node]
            }
            assert network.rows("bestPath") == oracles.shortest_paths(network.links)


def whole(network: Running) -> nx.Graph:
    return network.graph().to_undirected()


@pytest.mark.slow
def test_paths_in_a_network_of_domains_follow_failures_of_its_links() -> None:
    topology = make("transit-stub", 60, seed=3)
    links = enumerate(topology.links)
    costs = {(link.source, link.target): 1 + number * 7 % 11 for number, link in links}
    with running("path_vector", topology.nodes) as network:
        network.change(costs)
        assert network.rows("shortestPath") == oracles.shortest_paths(network.links)
        network.change(dict.fromkeys(list(costs)[::20]))
        assert network.rows("shortestPath") == oracles.shortest_paths(network.links)
        network.change({ends: cost + 1 for ends, cost in list(costs.items())[::20]})
        assert network.rows("shortestPath") == oracles.shortest_paths(network.links)
