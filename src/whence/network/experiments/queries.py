"""Figure 8.7 of Loo (2006): paths for a number of queries, with magic sets and with caches."""

from __future__ import annotations

import random
from typing import Any, Final

from whence.network.clock import SimulatedClock
from whence.network.experiments.base import Experiment, Found, Say, Table, mean
from whence.network.experiments.routing import HEADERS, begin, overlay_of, routing, rows_of, weighed
from whence.network.protocols.library import protocol
from whence.network.rewrite.options import Options
from whence.network.simulation import Network, Settings
from whence.network.topology.model import Topology
from whence.network.transport.quality import of_topology
from whence.network.transport.simulated import SimulatedTransport
from whence.plotting import Panel, Picture

_MAGIC: Final = Options(later=True, search="from source")
_CACHED: Final = Options(later=True, search="from source", cache=1e6)
_GAP: Final = 5.0
"""Seconds between queries, in which an answer has long come."""

Pair = tuple[str, str]


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Ask for paths between random nodes, and count what all queries so far have cost."""
    nodes, every, upto, alone = (15, 4, 12, 4) if quick else (100, 20, 300, 40)
    topology = overlay_of(nodes, 0)
    places = list(range(every, upto + 1, every))
    say(f"all paths of {nodes} nodes")
    run = routing(topology, "hop count", period=None)
    begin(run)
    run.network.settle()
    everything = run.transport.counters.sent_bytes / 1e6
    say(f"{alone} queries with magic sets, each alone")
    each = mean([_alone(topology, pair) for pair in _pairs(topology, alone, 1.0)])
    lines = {
        "all paths": [everything for _ in places],
        "magic sets": [each * count for count in places],
    }
    for part in (1.0, 0.3, 0.1):
        say(f"{upto} queries with magic sets and caches, {part:.0%} of destinations")
        label = "with caches" if part == 1.0 else f"with caches, {part:.0%} of destinations"
        lines[label] = _cached(topology, _pairs(topology, upto, part), every)
    return {"nodes": nodes, "places": places, "lines": lines, "alone": alone}


def _pairs(topology: Topology, count: int, part: float) -> list[Pair]:
    rng = random.Random(f"queries {part}")
    targets = rng.sample(topology.nodes, max(1, round(part * len(topology.nodes))))
    pairs: list[Pair] = []
    while len(pairs) < count:
        source, target = rng.choice(topology.nodes), rng.choice(targets)
        if source != target:
            pairs.append((source, target))
    return pairs


def _network(topology: Topology, options: Options) -> tuple[Network, SimulatedTransport]:
    clock = SimulatedClock()
    transport = SimulatedTransport(clock, of_topology(topology), overhead=HEADERS)
    network = Network(
        protocol("path_vector"),
        topology.nodes,
        settings=Settings(options=options, log=0),
        clock=clock,
        transport=transport,
    )
    costs = weighed(topology, "hop count", 0)
    network.update((1, "link", row) for row in rows_of(costs))
    return network, transport


def _alone(topology: Topology, pair: Pair) -> float:
    """Return the megabytes of one query that shares nothing with others."""
    network, transport = _network(topology, _MAGIC)
    network.settle()
    transport.counters.sent_bytes = 0
    source, target = pair
    network.update([(1, "magicDst", (target,)), (1, "magicSrc", (source,))])
    network.settle()
    _check(network, pair)
    return transport.counters.sent_bytes / 1e6


def _cached(topology: Topology, pairs: list[Pair], every: int) -> list[float]:
    """Return the megabytes after each so many queries of one network that remembers answers."""
    network, transport = _network(topology, _CACHED)
    transport.counters.sent_bytes = 0
    found = []
    for number, pair in enumerate(pairs, 1):
        network.insert("magicQuery", pair)
        network.run(_GAP)
        _check(network, pair)
        if number % every == 0:
            found.append(transport.counters.sent_bytes / 1e6)
    return found


def _check(network: Network, pair: Pair) -> None:
    if not any(row[:2] == pair for row in network.rows("shortestPath")):
        raise AssertionError(f"no path was found from {pair[0]} to {pair[1]}")


def table(found: Found) -> Table:
    """Return one row for each way to ask."""
    places = found["places"]
    everything = found["lines"]["all paths"][0]
    rows = []
    for label, values in found["lines"].items():
        over = next(
            (p for p, value in zip(places, values, strict=True) if value > everything), None
        )
        rows.append((label, values[0], values[len(values) // 2], values[-1], over))
    middle = places[len(places) // 2]
    headers = (
        "paths",
        f"MB, {places[0]} queries",
        f"MB, {middle}",
        f"MB, {places[-1]}",
        "dearer than all paths from",
    )
    note = f"magic sets: the average of {found['alone']} queries, each alone, times their number"
    return Table(headers, rows, (note,))


def picture(found: Found) -> Picture:
    """Return traffic over the number of queries."""
    panel = Panel("8.7 queries", "queries", found["places"], found["lines"], dashed=("all paths",))
    return Picture("MB in all", (panel,))


EXPERIMENT = Experiment(
    "paths for a number of queries, with magic sets and caches",
    ("8.7",),
    "magic sets are cheaper than all paths below 170 queries; caches level off at 1.8 and 1 MB",
    measure,
    table,
    picture,
)
