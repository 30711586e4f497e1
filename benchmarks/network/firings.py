"""Firings of rules per second, with real bytes on simulated links, on one core.

Three loads: tokens that go round a ring (a join and a message for each firing), all best paths of a
random network, and Chord. Run as a process of its own: `python -m benchmarks.network.firings '{…}'`
prints JSON. Times are those of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, Final

from benchmarks import measured
from benchmarks.report import Table
from benchmarks.told import Told, at_least

if TYPE_CHECKING:
    from whence.network.simulation import Network

CHORD_NODES: Final = 500
TIMES_REAL: Final = 5.0
FIRINGS: Final = 100_000

TOKENS: Final = """
fullyConnected.
materialize(next, infinity, infinity, keys(1)).
t1 token(@Y,K,M) :- token(@X,N,M), next(@X,Y), K = N + 1, K < M.
"""


def _timed(network: Network, seconds: float) -> dict[str, float]:
    """Let time pass; return what was done meanwhile."""
    before = sum(network.firings().values())
    sent = network.transport.counters  # type: ignore[attr-defined]
    bytes_before, messages_before = sent.sent_bytes, sent.sent
    now, started = network.clock.now(), time.process_time()
    network.run(seconds)
    spent = time.process_time() - started
    return {
        "spent": spent,
        "simulated": network.clock.now() - now,
        "firings": sum(network.firings().values()) - before,
        "messages": sent.sent - messages_before,
        "bytes": sent.sent_bytes - bytes_before,
    }


def tokens(quick: bool) -> dict[str, float]:
    """Let a hundred tokens go round a ring of fifty nodes."""
    from whence.network.simulation import Network
    from whence.syntax.ndlog import parse_ndlog

    names = [f"n{i}" for i in range(50)]
    network = Network(parse_ndlog(TOKENS), names)
    network.insert("next", *zip(names, [*names[1:], names[0]], strict=True))
    steps = 100 if quick else 4000
    for number in range(100):
        network.insert("token", (names[number % 50], 0, steps))
    return _timed(network, 1e6)


def best_paths(quick: bool) -> dict[str, Any]:
    """Find all best paths of a random network, and ask networkx whether they are."""
    import networkx as nx

    from whence.network.protocols.library import protocol
    from whence.network.rewrite.passes import NAMES, Options
    from whence.network.simulation import Network, Settings

    random, count = Random(7), 10 if quick else 30
    names = [f"n{i}" for i in range(count)]
    pairs = {tuple(sorted(random.sample(names, 2))): random.randint(1, 9) for _ in range(2 * count)}
    pairs.update(dict.fromkeys(pairwise(names), 5))
    only = Options(without=frozenset(NAMES) - {"aggregate_selections", "localize"})
    network = Network(protocol("best_path"), names, settings=Settings(options=only))
    rows = [row for (a, b), cost in pairs.items() for row in ((a, b, cost), (b, a, cost))]
    network.update((1, "link", row) for row in rows)
    found = _timed(network, 1000.0)
    graph: Any = nx.Graph()
    graph.add_weighted_edges_from((a, b, cost) for (a, b), cost in pairs.items())
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    costs = {(row[0], row[1]): row[3] for row in network.rows("bestPath") if row[0] != row[1]}
    right = {(a, b): c for a, row in lengths.items() for b, c in row.items() if a != b}
    return {**found, "exact": costs == right}


def chord(quick: bool) -> dict[str, float]:
    """Let nodes join a ring, then run it for a while."""
    from whence.functor.ndlog import sha1
    from whence.network.protocols.library import protocol
    from whence.network.simulation import Network, Settings

    names = [f"n{i}" for i in range(20 if quick else CHORD_NODES)]
    network = Network(protocol("chord"), names, start=False, settings=Settings(seed=1))
    for name in names:
        landmark = "NIL" if name == "n0" else "n0"
        network.insert("env", (name, "node", sha1(name)), (name, "landmark", landmark))
        network.host(name)
        network.run(0.05)
    measured.progress(f"{len(names)} nodes have joined")
    network.run(20)
    return {**_timed(network, 60.0), "nodes": len(names)}


def measure(quick: bool) -> dict[str, Any]:
    """Run all three."""
    return {
        "tokens on a ring": tokens(quick),
        "best paths": best_paths(quick),
        "Chord": chord(quick),
    }


def tell(found: dict[str, Any]) -> Told:
    """Firings, messages and bytes per second."""
    rows = tuple(
        (
            name,
            f"{row['firings']:,}",
            f"{row['firings'] / row['spent']:,.0f}",
            f"{row['messages'] / row['spent']:,.0f}",
            f"{row['bytes'] / row['spent'] / 1e6:,.2f}",
        )
        for name, row in found.items()
    )
    ring = found["Chord"]
    times = ring["simulated"] / ring["spent"]
    table = Table(
        "Firings of rules on one core, with real bytes on simulated links",
        ("load", "firings", "firings/s", "messages/s", "MB/s"),
        rows,
        notes=(f"{ring['nodes']} Chord nodes ran {times:.1f} times as fast as real time",),
    )
    bars = (
        at_least(f"{ring['nodes']} Chord nodes, against real time", TIMES_REAL, times),
        at_least("Chord, firings/s by 100,000", 1.0, ring["firings"] / ring["spent"] / FIRINGS),
    )
    failures = () if found["best paths"]["exact"] else ("best paths are not the shortest",)
    return Told((table,), bars, failures)


if __name__ == "__main__":
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
