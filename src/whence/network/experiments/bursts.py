"""Figures 7.4 and 7.5 of Loo (2006): path vector under bursts of changed links."""

from __future__ import annotations

import random
from typing import Any

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.routing import BUCKET, Routing, begin, overlay_of, routing
from whence.plotting import Panel, Picture


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Change a tenth of the links by up to a tenth of their cost, every 10 s or 2 and 8 s."""
    nodes = 20 if quick else 100
    found = {}
    for name, gaps in (("every 10 s", (10.0,)), ("after 2 s and 8 s", (2.0, 8.0))):
        say(f"bursts {name} on {nodes} nodes")
        found[name] = _one(nodes, gaps, 2 if quick else 6)
    return {"nodes": nodes, "runs": found, "bucket": BUCKET}


def _one(nodes: int, gaps: tuple[float, ...], bursts: int) -> dict[str, Any]:
    run = routing(overlay_of(nodes, 0), "random")
    rng = random.Random("bursts")
    begin(run)
    fresh_seconds = run.network.settle()
    fresh_bytes = run.transport.counters.sent_bytes
    start = 10.0 * (int(fresh_seconds / 10) + 1)
    run.network.run(start - run.clock.now())
    times, each_bytes, settled = [], [], []
    for number in range(bursts):
        gap = gaps[number % len(gaps)]
        times.append(run.clock.now())
        before = run.transport.counters.sent_bytes
        _burst(run, rng)
        begun = run.clock.now()
        run.network.run(gap)
        each_bytes.append(run.transport.counters.sent_bytes - before)
        settled.append(_last_traffic(run, begun) - begun)
    rate = run.rate()
    cut = int(start / BUCKET)
    return {
        "rate": rate,
        "from_scratch_seconds": fresh_seconds,
        "from_scratch_kb": fresh_bytes / 1000 / nodes,
        "burst_kb": [b / 1000 / nodes for b in each_bytes],
        "burst_seconds": settled,
        "bursts_at": times,
        "peak_part": max(rate[cut:], default=0.0) / max(rate[:cut]),
        "total_part": sum(each_bytes) / len(each_bytes) / fresh_bytes,
    }


def _burst(run: Routing, rng: random.Random) -> None:
    """Change the cost of a tenth of all links, both ways alike."""
    links = [(link.source, link.target) for link in run.topology.links]
    changed = []
    for source, target in rng.sample(links, max(1, len(links) // 10)):
        cost = max(1, round(run.costs[source, target] * rng.uniform(0.9, 1.1)))
        run.costs[source, target] = run.costs[target, source] = cost
        changed += [(1, "link", (source, target, cost)), (1, "link", (target, source, cost))]
    run.network.update(changed)


def _last_traffic(run: Routing, begun: float) -> float:
    series = run.transport.traffic.series()
    last = max((i for i, count in enumerate(series) if count), default=0)
    return max(begun, (last + 1) * BUCKET)


def table(found: Found) -> Table:
    """Return one row for each kind of burst."""
    rows = []
    for name, run in found["runs"].items():
        rows.append(
            (
                name,
                run["from_scratch_seconds"],
                max(run["burst_seconds"]),
                100 * run["peak_part"],
                100 * run["total_part"],
            )
        )
    headers = ("bursts", "from scratch s", "slowest burst s", "peak %", "traffic of a burst %")
    return Table(headers, rows, ("the paper: 32 % of the peak, 28 % of the traffic",))


def picture(found: Found) -> Picture:
    """Return traffic over time."""
    panels = []
    for (name, run), figure in zip(found["runs"].items(), ("7.4", "7.5"), strict=True):
        places = [i * found["bucket"] for i in range(len(run["rate"]))]
        panels.append(Panel(f"{figure} bursts {name}", "s", places, {"all links": run["rate"]}))
    return Picture("KB/s per node", tuple(panels))


EXPERIMENT = Experiment(
    "path vector under bursts of changed links",
    ("7.4", "7.5"),
    "a burst on 10 % of the links costs 32 % of the peak and 28 % of the traffic of a fresh start",
    measure,
    table,
    picture,
)
