"""Figures 7.7 to 7.9 of Loo (2006): lookups on a Chord ring that does not change."""

from __future__ import annotations

import math
import time
from typing import Any

from whence.network.experiments.base import (
    Experiment,
    Found,
    Say,
    Table,
    distribution,
    mean,
    percentile,
)
from whence.network.experiments.rings import EVERY, GIVE_UP, ring
from whence.plotting import Panel, Picture

_PAPER = {100: "3.3 hops, 0.81 s", 300: "4.0 hops, 0.92 s", 500: "4.5 hops, 1.09 s"}


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Let nodes join, wait until fingers are fixed, then look keys up from ten nodes at once."""
    sizes = (12,) if quick else (100, 300, 500)
    runs = {}
    for nodes in sizes:
        say(f"Chord, {nodes} nodes")
        runs[str(nodes)] = _one(nodes, *((120.0, 4) if quick else (300.0, 20)))
    return {"runs": runs, "bucket": 5.0}


def _one(nodes: int, rest: float, groups: int) -> dict[str, Any]:
    begun = time.process_time()
    made = ring([f"n{i}" for i in range(nodes)])
    made.network.run(rest)
    for _ in range(groups):
        made.ask()
        made.network.run(EVERY)
    spent = time.process_time() - begun
    lookups = list(made.lookups.values())
    answered = [one for one in lookups if one.answer is not None and one.seconds < GIVE_UP]
    rate = made.transport.traffic.rate(nodes, made.clock.now())
    places = [i / 4 for i in range(17)]
    return {
        "lookups": len(lookups),
        "answered": len(answered),
        "right": sum(one.answer == made.owner(one.key) for one in answered),
        "consistent": _consistent(lookups),
        "hops": mean([one.hops for one in answered]),
        "hops_99": percentile([one.hops for one in answered], 0.99),
        "hop_counts": [sum(o.hops == h for o in answered) / len(answered) for h in range(13)],
        "seconds": mean([one.seconds for one in answered]),
        "latency_places": places,
        "latency": distribution([one.seconds for one in answered], places),
        "rate": rate,
        "steady": mean(rate[-6:-1]),
        "simulated_seconds": made.clock.now(),
        "processor_seconds": spent,
    }


def _consistent(lookups: list[Any]) -> float:
    """Return the part of groups whose lookups all gave one answer."""
    groups: dict[int, set[str | None]] = {}
    for one in lookups:
        groups.setdefault(one.group, set()).add(one.answer)
    return mean([len(found) == 1 and None not in found for found in groups.values()])


def table(found: Found) -> Table:
    """Return one row for each size."""
    rows = []
    for nodes, run in found["runs"].items():
        rows.append(
            (
                int(nodes),
                100 * run["answered"] / run["lookups"],
                100 * run["right"] / max(1, run["answered"]),
                100 * run["consistent"],
                run["hops"],
                math.log2(int(nodes)) / 2,
                run["seconds"],
                run["steady"],
                run["simulated_seconds"] / run["processor_seconds"],
                _PAPER.get(int(nodes), "–"),
            )
        )
    headers = (
        "nodes",
        "answered %",
        "right %",
        "consistent %",
        "hops",
        "½ log₂ N",
        "s",
        "KB/s per node",
        "× real time",
        "the paper",
    )
    return Table(headers, rows)


def picture(found: Found) -> Picture:
    """Return hops, latencies and traffic."""
    runs = found["runs"]
    first = next(iter(runs.values()))
    hops = {f"{nodes} nodes": run["hop_counts"] for nodes, run in runs.items()}
    late = {f"{nodes} nodes": run["latency"] for nodes, run in runs.items()}
    rate = {f"{nodes} nodes": run["rate"] for nodes, run in runs.items()}
    places = [i * found["bucket"] for i in range(max(len(r["rate"]) for r in runs.values()))]
    return Picture(
        "",
        (
            Panel("7.7 hops", "hops", list(range(13)), hops, beside="part of lookups"),
            Panel("7.8 latency", "s", first["latency_places"], late, beside="part of lookups"),
            Panel("7.9 traffic", "s", places, rate, beside="KB/s per node"),
        ),
        shared=False,
    )


EXPERIMENT = Experiment(
    "lookups on a Chord ring that does not change",
    ("7.7", "7.8", "7.9"),
    "3.3, 4.0 and 4.5 hops for 100, 300 and 500 nodes, all lookups consistent, 0.34 KB/s per node",
    measure,
    table,
    picture,
)
