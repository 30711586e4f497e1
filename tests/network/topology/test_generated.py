"""Generated topologies: connected, as large as asked for, and the same for the same seed."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import UsageError
from whence.network.topology.catalogue import TOPOLOGIES, make
from whence.network.topology.model import Topology, diameter, distances, hops, latency, neighbours
from whence.network.topology.overlay import overlay
from whence.network.topology.sensors import sensor_grid, within
from whence.network.topology.transit_stub import transit_stub

ANY = st.sampled_from(sorted(TOPOLOGIES))


def as_graph(topology: Topology) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(topology.nodes)
    for link in topology.links:
        graph.add_edge(link.source, link.target, latency=link.latency, cost=link.cost)
    return graph


@given(ANY, st.integers(1, 60), st.integers(0, 5))
def test_a_topology_is_connected_has_all_its_nodes_and_each_link_once(
    name: str, nodes: int, seed: int
) -> None:
    made = make(name, nodes, seed)
    graph = as_graph(made)
    assert len(made.nodes) == len(set(made.nodes)) == nodes == graph.number_of_nodes()
    assert nx.is_connected(graph)
    assert graph.number_of_edges() == len(made.links)
    assert nx.number_of_selfloops(graph) == 0
    assert all(link.latency > 0 and link.cost > 0 for link in made.links)


@given(ANY, st.integers(1, 40), st.integers(0, 3))
def test_a_seed_decides_everything(name: str, nodes: int, seed: int) -> None:
    assert make(name, nodes, seed) == make(name, nodes, seed)


def test_another_seed_gives_another_topology() -> None:
    for name in ("gnm", "barabasi", "transit-stub", "overlay"):
        assert make(name, 40, 1).links != make(name, 40, 2).links


@given(ANY, st.integers(2, 30), st.integers(0, 3))
def test_diameter_and_distances_are_those_of_networkx(name: str, nodes: int, seed: int) -> None:
    made = make(name, nodes, seed)
    graph = as_graph(made)
    assert diameter(made, hops) == nx.diameter(graph)
    right = nx.single_source_dijkstra_path_length(graph, made.nodes[0], weight="latency")
    assert distances(neighbours(made), made.nodes[0], latency) == pytest.approx(right)


def test_the_network_of_the_papers_has_100_nodes_and_400_link_tuples() -> None:
    made = transit_stub(seed=3)
    assert len(made.nodes) == 100
    assert len(list(made.arcs())) == 400
    assert {link.latency for link in made.links} == {0.050, 0.010, 0.002}
    assert sum(link.latency == 0.010 for link in made.links) == 4 * 3  # each stub has one way out
    assert sum(node.startswith("t") for node in made.nodes) == 4


def test_sparse_topologies_have_half_the_links() -> None:
    for nodes in (50, 100, 200):
        dense, sparse = make("transit-stub", nodes, 1), make("transit-stub-sparse", nodes, 1)
        assert (len(dense.links), len(sparse.links)) == (2 * nodes, nodes)


def test_more_transit_nodes_make_more_nodes() -> None:
    assert [len(transit_stub(transit=t).nodes) for t in (2, 4, 8)] == [50, 100, 200]
    assert len(transit_stub(domains=4).nodes) == 400


def test_latencies_of_an_overlay_are_those_of_the_shortest_paths_below() -> None:
    under = transit_stub(seed=5)
    over = overlay(under, 40, 4, seed=5)
    below = dict(nx.all_pairs_dijkstra_path_length(as_graph(under), weight="latency"))
    possible = {round(far, 9) for row in below.values() for far in row.values()}
    assert {round(link.latency, 9) for link in over.links} <= possible
    degrees = [d for _, d in as_graph(over).degree()]
    assert min(degrees) >= 4


def test_sensors_within_reach_are_neighbours() -> None:
    grid = sensor_grid(100, 100, 20)
    where = dict(zip(grid.nodes, grid.positions, strict=True))
    linked = {frozenset((link.source, link.target)) for link in grid.links}
    for a in grid.nodes:
        for b in grid.nodes:
            if a < b:
                near = (where[a][0] - where[b][0]) ** 2 + (where[a][1] - where[b][1]) ** 2 <= 400
                assert (frozenset((a, b)) in linked) == near


def test_sensors_too_far_apart_are_linked_where_they_are_nearest() -> None:
    made = within("far", ("a", "b", "c"), ((0, 0), (1, 0), (50, 0)), radius=2)
    assert [(link.source, link.target, link.cost) for link in made.links] == [
        ("a", "b", 1),
        ("b", "c", 49),
    ]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("rign", "W1401"),
        ("ring:fanout=2", "W1402"),
        ("gnm:links=many", "W1402"),
        ("gnm:nodes=2.5", "W1402"),
        ("ring", "W1402"),
        ("ring:nodes=0", "W1402"),
        ("ring:nodes=1000000", "W1402"),
    ],
)
def test_a_topology_that_cannot_be_made_is_a_mistake(spec: str, code: str) -> None:
    with pytest.raises(UsageError) as raised:
        make(spec)
    assert raised.value.diagnostics[0].code == code


def test_parameters_are_given_after_the_name() -> None:
    assert len(make("gnm:nodes=20,links=50").links) == 50
    assert len(make("transit-stub:degree=3", nodes=100).links) == 150
