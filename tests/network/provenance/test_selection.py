"""Aggregate selection: only the best is followed, and what is best stays right as links change."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.protocols.library import protocol
from whence.network.rewrite.options import Options
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality
from whence.network.transport.simulated import SimulatedTransport
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

SELECTING = Options(without=frozenset({"reorder", "magic_sets"}))
# Query 2 as printed: nothing but the selection, and provenance, keeps its paths from going round.
PRINTED = """
fullyConnected.
materialize(link, infinity, infinity, keys(1, 2)).
materialize(path, infinity, infinity, keys(1, 2, 3, 4, 5)).
materialize(minCost, infinity, infinity, keys(1, 2)).
materialize(cheapestPath, infinity, infinity, keys(1, 2, 3)).
p1 path(@X, Y, P, C, L) :- link(@X, Y, C), P = f_init(X, Y), L = 1.
p2 path(@X, Y, P, C, L) :- link(@X, Z, C0), path(@Z, Y, P1, C1, L1),
                           C = C0 + C1, P = f_concatPath(X, P1), L = 1 + L1.
p3 minCost(@X, Y, min<C>) :- path(@X, Y, P, C, L).
p4 cheapestPath(@X, Y, P, C) :- path(@X, Y, P, C, L), minCost(@X, Y, C).
Query cheapestPath(@X, Y, P, C).
"""
NODES = "abcde"
WAYS = [
    ("absorption", "plain"),
    ("absorption", "eager"),
    ("absorption", "lazy"),
    ("relative", "lazy"),
    ("dred", "plain"),
    ("counting", "plain"),
]

Link = tuple[str, str]


def _network(program: Program, scheme: str, ship: str, slow: frozenset[Link]) -> Network:
    clock = SimulatedClock()

    def quality(source: str, target: str) -> Quality:
        return Quality(latency=0.3 if (source, target) in slow else 0.01)

    return Network(
        program,
        NODES,
        settings=Settings(scheme=scheme, ship=ship, options=SELECTING),
        clock=clock,
        transport=SimulatedTransport(clock, quality),
    )


def _best(links: dict[Link, int], weight: str | None) -> dict[Link, tuple[float, set[Any]]]:
    """Return all best paths between different nodes, by networkx."""
    graph: Any = networkx.DiGraph()
    graph.add_weighted_edges_from((a, b, cost) for (a, b), cost in links.items())
    best: dict[Link, tuple[float, set[Any]]] = {}
    for a in graph:
        for b in networkx.descendants(graph, a):
            ways = {tuple(way) for way in networkx.all_shortest_paths(graph, a, b, weight)}
            first = next(iter(ways))
            cost = sum(links[step] if weight else 1 for step in pairwise(first))
            best[a, b] = (cost, ways)
    return best


def _found(network: Network, relation: str) -> dict[Link, tuple[float, set[Any]]]:
    found: dict[Link, tuple[float, set[Any]]] = {}
    rows: Any = network.rows(relation)
    for x, y, path, cost in rows:
        if x != y:
            assert found.setdefault((x, y), (cost, set()))[0] == cost
            found[x, y][1].add(path)
    return found


PAIR = st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda p: p[0] != p[1])
LINKS = st.dictionaries(PAIR, st.integers(1, 4), min_size=3, max_size=12)
BURST = st.dictionaries(PAIR, st.none() | st.integers(1, 4), max_size=5)


def _change(network: Network, links: dict[Link, int], burst: dict[Link, int | None]) -> None:
    changes: list[tuple[int, str, Any]] = []
    for pair, cost in burst.items():
        if pair in links:
            changes.append((-1, "link", (*pair, links.pop(pair))))
        if cost is not None:
            links[pair] = cost
            changes.append((1, "link", (*pair, cost)))
    network.update(changes)


@pytest.mark.parametrize(("scheme", "ship"), WAYS)
@settings(max_examples=12)
@given(
    links=LINKS,
    bursts=st.lists(st.tuples(BURST, st.sampled_from((0.005, 0.1, 9.0))), max_size=3),
    slow=st.frozensets(PAIR, max_size=4),
)
def test_all_best_paths_for_two_aggregates_are_found(
    scheme: str,
    ship: str,
    links: dict[Link, int],
    bursts: list[tuple[dict[Link, int | None], float]],
    slow: frozenset[Link],
) -> None:
    network = _network(protocol("shortest_cheapest_path"), scheme, ship, slow)
    links = dict(links)
    network.insert("link", *((*pair, cost) for pair, cost in links.items()))
    for burst, pause in bursts:
        network.run(pause)
        _change(network, links, burst)
    network.settle(steps=100_000)
    cheapest, shortest = _best(links, "weight"), _best(links, None)
    assert _found(network, "cheapestPath") == cheapest
    assert _found(network, "fewestHops") == shortest
    # What was best once and is so no more was taken back: only the best are in the table.
    best = {way for part in (cheapest, shortest) for _, ways in part.values() for way in ways}
    assert {row[2] for row in network.rows("path")} == best


@pytest.mark.parametrize("ship", ["plain", "eager", "lazy"])
@pytest.mark.parametrize("scheme", ["absorption", "relative"])
@settings(max_examples=12)
@given(links=LINKS, bursts=st.lists(BURST, max_size=3), slow=st.frozensets(PAIR, max_size=4))
def test_paths_that_may_go_round_come_to_an_end_when_nodes_are_cut_off(
    scheme: str,
    ship: str,
    links: dict[Link, int],
    bursts: list[dict[Link, int | None]],
    slow: frozenset[Link],
) -> None:
    network = _network(parse_ndlog(PRINTED), scheme, ship, slow)
    links = dict(links)
    network.insert("link", *((*pair, cost) for pair, cost in links.items()))
    for burst in bursts:
        network.run(0.05)
        _change(network, links, burst)
    network.settle(steps=100_000)
    assert _found(network, "cheapestPath") == _best(links, "weight")


@pytest.mark.parametrize(("scheme", "ship"), [("absorption", "lazy"), ("relative", "lazy")])
def test_a_deletion_that_disconnects_stops_query_2(scheme: str, ship: str) -> None:
    network = _network(parse_ndlog(PRINTED), scheme, ship, frozenset({("b", "c")}))
    around = [("b", "c", 1), ("c", "b", 1), ("c", "d", 1), ("d", "c", 1)]
    network.insert("link", *around, ("a", "b", 1), ("b", "a", 1))
    network.settle()
    assert ("d", "a", ("d", "c", "b", "a"), 3) in network.rows("cheapestPath")
    network.delete("link", ("b", "a", 1))
    network.settle(steps=10_000)
    assert not [row for row in network.rows("path") if row[1] == "a"]
