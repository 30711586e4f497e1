"""Figures 7.1 to 7.3 of Loo (2006): path vector as the network grows."""

from __future__ import annotations

from typing import Any

from whence.network.experiments.base import Experiment, Found, Say, Table, mean
from whence.network.experiments.routing import begin, overlay_of, routing
from whence.network.topology.model import diameter, hops
from whence.plotting import Panel, Picture


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Run path vector by latency on overlays of growing size."""
    sizes = (10, 20, 30) if quick else (25, 50, 75, 100, 150, 200)
    seeds = range(1 if quick else 3)
    points = []
    for nodes in sizes:
        say(f"path vector on {nodes} nodes")
        found = [_one(nodes, seed) for seed in seeds]
        points.append(
            {"nodes": nodes, **{key: mean([one[key] for one in found]) for key in found[0]}}
        )
    return {"points": points, "seeds": len(seeds)}


def _one(nodes: int, seed: int) -> dict[str, float]:
    topology = overlay_of(nodes, seed)
    run = routing(topology, "latency", seed=seed)
    begin(run)
    settled = run.network.settle()
    return {
        "diameter_ms": diameter(topology) * 1000,
        "diameter_hops": diameter(topology, hops),
        "seconds": settled,
        "kb": run.transport.counters.sent_bytes / 1000 / nodes,
    }


def table(found: Found) -> Table:
    """Return one row for each size."""
    rows = [
        (
            p["nodes"],
            p["diameter_ms"],
            p["diameter_hops"],
            p["seconds"],
            p["kb"],
            p["kb"] / p["nodes"],
        )
        for p in found["points"]
    ]
    headers = ("nodes", "diameter ms", "hops", "converged s", "KB per node", "KB per node²")
    return Table(headers, rows, (f"averages over {found['seeds']} networks",))


def picture(found: Found) -> Picture:
    """Return the three figures side by side."""
    nodes = [p["nodes"] for p in found["points"]]

    def panel(title: str, key: str, unit: str) -> Panel:
        line = {"path vector": [p[key] for p in found["points"]]}
        return Panel(title, "nodes", nodes, line, beside=unit)

    return Picture(
        "",
        (
            panel("7.1 diameter", "diameter_ms", "ms"),
            panel("7.2 convergence", "seconds", "s"),
            panel("7.3 traffic per node", "kb", "KB"),
        ),
        shared=False,
    )


EXPERIMENT = Experiment(
    "path vector as the network grows",
    ("7.1", "7.2", "7.3"),
    "convergence in proportion to the diameter, traffic per node linear in the number of nodes",
    measure,
    table,
    picture,
)
