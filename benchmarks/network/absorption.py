"""Reachability with absorption provenance, lazily shipped, on 12 processors: the work of one core.

Transit-stub networks with four links for each node (Liu et al. 2008, figure 11: 800 links in under
5 s on 12 machines); then some links are deleted, one after the other. Run as a process of its own:
`python -m benchmarks.network.absorption '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Final

from benchmarks import measured
from benchmarks.report import Table
from benchmarks.told import Told, at_most

PROCESSORS: Final = 12
LINKS: Final = 800
DELETED: Final = 10
SECONDS: Final = 20.0
"""What 800 links may take, of wall time: it says nothing on a machine that is busy."""

REACHABLE: Final = """
materialize(link, infinity, infinity, keys(1, 2)).
materialize(toHere, infinity, infinity, keys(1, 2)).
materialize(reachable, infinity, infinity, keys(1, 2)).
r0 toHere(@Z, X) :- link(@X, Z).
r1 reachable(@X, Y) :- link(@X, Y).
r2 reachable(@X, Y) :- toHere(@Z, X), reachable(@Z, Y).
"""


def converge(links: int, scheme: str, ship: str) -> dict[str, Any]:
    """Insert all links of a network and let it come to rest; then delete some, and judge."""
    import networkx

    from whence.network.placement import dealt
    from whence.network.provenance.measures import measured as held
    from whence.network.simulation import Network, Settings
    from whence.network.topology.transit_stub import transit_stub
    from whence.syntax.ndlog import parse_ndlog

    topology = transit_stub(links // 4)
    rows = [(one.source, one.target) for one in topology.links]
    rows += [(target, source) for source, target in rows]
    settings = Settings(scheme=scheme, ship=ship)
    placement = dealt(topology.nodes, PROCESSORS)
    started, spent = time.perf_counter(), time.process_time()
    network = Network(
        parse_ndlog(REACHABLE), topology.nodes, settings=settings, placement=placement
    )
    network.update((1, "link", row) for row in rows)
    network.settle()
    wall, spent = time.perf_counter() - started, time.process_time() - spent
    sent = network.transport.counters.sent_bytes  # type: ignore[attr-defined]
    updates = sum(node.updates_sent for node in network)
    found = held(network, "reachable")
    deleting = time.process_time()
    for row in rows[:: len(rows) // DELETED]:
        network.delete("link", row)
        network.settle()
    deleting = time.process_time() - deleting
    graph: Any = networkx.DiGraph(set(rows) - set(rows[:: len(rows) // DELETED]))
    right = {(x, y) for x in graph for z in graph[x] for y in (z, *networkx.descendants(graph, z))}
    return {
        "links": len(rows),
        "tuples": found.tuples,
        "shipped": updates,
        "bytes": sent,
        "provenance": found.provenance_per_tuple,
        "state": found.state_bytes / PROCESSORS,
        "wall": wall,
        "spent": spent,
        "deletion": deleting / DELETED,
        "exact": network.rows("reachable") == right,
    }


def measure(quick: bool) -> dict[str, Any]:
    """Run with provenance, and without any for comparison."""
    sizes = (100,) if quick else (200, 400, LINKS)
    out = {}
    for links in sizes:
        out[f"absorption lazy, {links} links"] = converge(links, "absorption", "lazy")
        measured.progress(f"{links} links with absorption provenance")
    out[f"DRed, {sizes[0]} links"] = converge(sizes[0], "dred", "plain")
    return out


def tell(found: dict[str, Any]) -> Told:
    """Times, traffic and state; the bar is for the wall time of the largest network."""
    rows = tuple(
        (
            name,
            f"{row['tuples']:,}",
            f"{row['shipped']:,}",
            f"{row['bytes'] / 1e6:,.2f}",
            f"{row['provenance']:,.1f}",
            f"{row['state'] / 1e6:,.2f}",
            f"{row['wall']:,.2f}",
            f"{row['spent']:,.2f}",
            f"{1000 * row['deletion']:,.0f}",
        )
        for name, row in found.items()
    )
    table = Table(
        "Reachability on 12 processors, simulated on one core",
        (
            "scheme",
            "tuples",
            "shipped",
            "MB",
            "provenance B",
            "state MB",
            "s",
            "of one core",
            "deletion ms",
        ),
        rows,
        notes=(
            "provenance is for each tuple, state for each processor, time of all together",
            "the bar is wall time; on a busy machine compare it with the time of one core",
        ),
    )
    largest = max((row for row in found.values()), key=lambda row: row["links"])
    bars = (at_most(f"{largest['links']} links, absorption lazy", SECONDS, largest["wall"], "s"),)
    failures = tuple(f"{name} is wrong" for name, row in found.items() if not row["exact"])
    return Told((table,), bars, failures)


if __name__ == "__main__":
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
