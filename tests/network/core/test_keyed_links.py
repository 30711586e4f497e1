"""Links whose costs change in bursts: paths are those of the links that are left, at every rest."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.placement import OneToOne, dealt
from whence.network.protocols.library import protocol
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport

NODES = "abcd"
Burst = tuple[list[tuple[frozenset[str], int | None]], float | None]

pairs = st.sets(st.sampled_from(NODES), min_size=2, max_size=2).map(frozenset)
changes = st.lists(st.tuples(pairs, st.one_of(st.none(), st.integers(1, 5))), max_size=6)
bursts = st.lists(st.tuples(changes, st.sampled_from((None, 0.0, 0.015))), max_size=4)


def _check(net: Network, links: dict[frozenset[str], int]) -> None:
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(NODES)
    graph.add_weighted_edges_from((*sorted(pair), cost) for pair, cost in links.items())
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    right = {(a, b, c) for a, row in lengths.items() for b, c in row.items() if a != b}
    assert {row for row in net.rows("bestPathCost") if row[0] != row[1]} == right
    assert {(row[0], row[1], row[3]) for row in net.rows("bestPath") if row[0] != row[1]} == right


@pytest.mark.parametrize(
    "chosen",
    [
        Settings(scheme="counting"),
        Settings(scheme="counting", buffered=0.01),
        Settings(scheme="absorption"),
        Settings(scheme="absorption", ship="lazy"),
    ],
    ids=("pipelined", "buffered", "absorption", "lazy"),
)
@settings(max_examples=25)
@given(bursts, st.integers(0, 100), st.sampled_from((0, 2)))
def test_best_paths_follow_every_burst(
    chosen: Settings, happening: list[Burst], seed: int, processors: int
) -> None:
    clock = SimulatedClock()
    slow = uniform(Quality(latency=0.005, jitter=0.03))
    net = Network(
        protocol("best_path"),
        NODES,
        settings=chosen,
        clock=clock,
        transport=SimulatedTransport(clock, slow, seed=seed),
        placement=dealt(NODES, processors) if processors else OneToOne(),
    )
    links: dict[frozenset[str], int] = {}
    for burst, pause in happening:
        for pair, cost in burst:
            one, two = sorted(pair)
            if cost is not None:  # a cost replaces the one before, by key
                net.insert("link", (one, two, cost), (two, one, cost))
                links[pair] = cost
            elif pair in links:
                old = links.pop(pair)
                net.delete("link", (one, two, old), (two, one, old))
        if pause is None:
            net.settle()
            _check(net, links)
        else:
            net.run(pause)
    net.settle()
    _check(net, links)
