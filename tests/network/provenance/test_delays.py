"""Reachability stays exact when some messages take a hundred times as long as others."""

from __future__ import annotations

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality
from whence.network.transport.simulated import SimulatedTransport
from whence.syntax.ndlog import parse_ndlog

REACHABLE = """
materialize(link, infinity, infinity, keys(1, 2)).
materialize(toHere, infinity, infinity, keys(1, 2)).
materialize(reachable, infinity, infinity, keys(1, 2)).
r0 toHere(@Z, X) :- link(@X, Z).
r1 reachable(@X, Y) :- link(@X, Y).
r2 reachable(@X, Y) :- toHere(@Z, X), reachable(@Z, Y).
"""
NAMES = "ABCDE"
WAYS = [
    ("absorption", "plain"),
    ("absorption", "eager"),
    ("absorption", "lazy"),
    ("relative", "plain"),
    ("relative", "lazy"),
    ("dred", "plain"),
]

Link = tuple[str, str]
Change = tuple[int, Link]


def _network(scheme: str, ship: str, latencies: dict[Link, int], usual: int = 10) -> Network:
    clock = SimulatedClock()

    def quality(source: str, target: str) -> Quality:
        return Quality(latency=0.001 * latencies.get((source, target), usual))

    return Network(
        parse_ndlog(REACHABLE),
        NAMES,
        settings=Settings(scheme=scheme, ship=ship),
        clock=clock,
        transport=SimulatedTransport(clock, quality),
    )


def _reachable(links: set[Link]) -> set[Link]:
    graph = networkx.DiGraph(links)
    return {(x, y) for x in graph for z in graph[x] for y in (z, *networkx.descendants(graph, z))}


NODE = st.sampled_from(NAMES)
PAIR = st.tuples(NODE, NODE)
BURSTS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from((1, 1, 1, -1, -1)), PAIR), max_size=6),
        st.sampled_from((0.001, 0.02, 0.2, 5.0)),
    ),
    max_size=6,
)


@pytest.mark.parametrize(("scheme", "ship"), WAYS)
@settings(max_examples=25)
@given(
    first=st.sets(PAIR, min_size=5, max_size=14),
    bursts=BURSTS,
    latencies=st.dictionaries(PAIR, st.sampled_from((1, 3, 30, 100)), max_size=12),
)
def test_reachability_is_exact_however_messages_are_delayed(
    scheme: str,
    ship: str,
    first: set[Link],
    bursts: list[tuple[list[Change], float]],
    latencies: dict[Link, int],
) -> None:
    network = _network(scheme, ship, latencies)
    network.insert("link", *sorted(first))
    links = set(first)
    for changes, pause in bursts:
        network.run(pause)
        network.update((sign, "link", link) for sign, link in changes)
        for sign, link in changes:
            (links.add if sign > 0 else links.discard)(link)
    network.settle(steps=100_000)
    assert network.rows("reachable") == _reachable(links)


@pytest.mark.parametrize(("scheme", "ship"), WAYS)
def test_what_was_on_its_way_when_its_link_went_does_not_come_to_stay(
    scheme: str, ship: str
) -> None:
    # B has told A of C by way of the slow link when A hears from B's neighbour that it is over.
    network = _network(scheme, ship, {("B", "A"): 500})
    network.insert("link", ("A", "B"), ("B", "C"))
    network.run(0.1)
    network.delete("link", ("B", "C"))
    network.settle()
    assert network.rows("reachable") == {("A", "B")}


@pytest.mark.parametrize(("scheme", "ship"), WAYS)
def test_a_ring_that_is_cut_off_does_not_support_itself(scheme: str, ship: str) -> None:
    network = _network(scheme, ship, {("B", "C"): 700, ("D", "B"): 90})
    network.insert("link", ("B", "C"), ("C", "D"), ("D", "B"), ("D", "E"))
    network.settle()
    assert len(network.rows("reachable")) == 12
    network.delete("link", ("D", "E"))
    network.settle()
    assert network.rows("reachable") == {(x, y) for x in "BCD" for y in "BCD"}
