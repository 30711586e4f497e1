"""Figure 8.8 of Loo (2006): three programs at once, whose tuples share messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.routing import (
    BUCKET,
    Routing,
    overlay_of,
    renamed,
    routing,
    rows_of,
    weighed,
)
from whence.network.protocols.library import protocol
from whence.plotting import Panel, Picture
from whence.syntax.nodes import Program

_METRICS: Final = {"latency": "L", "reliability": "R", "random": "X"}
_DELAY: Final = 0.3


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Run path vector by three metrics alone and together, without and with sharing."""
    nodes = 20 if quick else 100
    runs = {}
    for metric in _METRICS:
        say(f"path vector by {metric} on {nodes} nodes")
        runs[metric] = _measured(_run(nodes, (metric,), None), (metric,))
    for name, share in (("not shared", None), ("shared", _DELAY)):
        say(f"three metrics together, {name}")
        runs[name] = _measured(_run(nodes, tuple(_METRICS), share), tuple(_METRICS))
    return {"nodes": nodes, "runs": runs, "bucket": BUCKET}


def _together(metrics: tuple[str, ...]) -> Program:
    parts = [renamed(protocol("path_vector"), _METRICS[metric]) for metric in metrics]
    whole = parts[0]
    for part in parts[1:]:
        whole = replace(
            whole,
            tables=whole.tables + part.tables,
            rules=whole.rules + part.rules,
            queries=whole.queries + part.queries,
        )
    return whole


def _run(nodes: int, metrics: tuple[str, ...], share: float | None) -> Routing:
    program = _together(metrics)
    return routing(overlay_of(nodes, 0), "latency", period=None, share=share, program=program)


def _measured(run: Routing, metrics: tuple[str, ...]) -> dict[str, Any]:
    changes = []
    for metric in metrics:
        costs = weighed(run.topology, metric, 0)
        changes += [(1, f"link{_METRICS[metric]}", row) for row in rows_of(costs)]
    run.network.update(changes)
    settled = run.network.settle()
    rate = run.rate()
    return {
        "rate": rate,
        "peak": max(rate),
        "seconds": settled,
        "mb": run.transport.counters.sent_bytes / 1e6,
        "messages": run.transport.counters.sent,
    }


def table(found: Found) -> Table:
    """Return one row for each run."""
    rows = [
        (name, run["seconds"], run["peak"], run["mb"], run["messages"])
        for name, run in found["runs"].items()
    ]
    runs = found["runs"]
    saved = 100 * (1 - runs["shared"]["mb"] / runs["not shared"]["mb"])
    peak = 100 * (1 - runs["shared"]["peak"] / runs["not shared"]["peak"])
    note = f"sharing saves {saved:.0f} % of the traffic and {peak:.0f} % of the peak"
    headers = ("paths by", "converged s", "peak KB/s per node", "MB", "messages")
    return Table(headers, rows, (f"{note}; the paper: 39 % and 33 %",))


def picture(found: Found) -> Picture:
    """Return traffic over time."""
    longest = max(len(run["rate"]) for run in found["runs"].values())
    places = [i * found["bucket"] for i in range(longest)]
    lines = {name: run["rate"] for name, run in found["runs"].items()}
    return Picture("KB/s per node", (Panel("8.8 message sharing", "s", places, lines),))


EXPERIMENT = Experiment(
    "programs that share messages",
    ("8.8",),
    "sharing lowers the peak from 46 to 31 KB/s per node and the traffic by 39 %",
    measure,
    table,
    picture,
)
