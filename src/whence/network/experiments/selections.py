"""Figures 8.3 to 8.6 of Loo (2006): aggregate selections, at once and periodic."""

from __future__ import annotations

from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.routing import BUCKET, METRICS, PERIOD, begin, overlay_of, routing
from whence.plotting import Panel, Picture

_PAPER: Final = {"hop count": 19, "latency": 15, "reliability": 23, "random": 34}
_SAMPLE: Final = 0.1


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Compute all shortest paths by each metric, and watch how far the results are."""
    nodes = 20 if quick else 100
    runs: dict[str, dict[str, Any]] = {}
    for kind, period in (("at once", None), ("periodic", PERIOD)):
        for metric in METRICS:
            say(f"selections {kind}, {metric}, {nodes} nodes")
            runs[f"{kind}, {metric}"] = _one(nodes, metric, period)
    return {"nodes": nodes, "runs": runs, "bucket": BUCKET, "sample": _SAMPLE}


def _one(nodes: int, metric: str, period: float | None) -> dict[str, Any]:
    run = routing(overlay_of(nodes, 0), metric, period=period)
    begin(run)
    seen: list[set[Any]] = []
    clock = run.clock
    while clock.next_time() is not None:
        run.network.run(_SAMPLE)
        seen.append(run.network.rows("spCost"))
    final = seen[-1]
    done = [len(rows & final) / len(final) for rows in seen]
    return {
        "rate": run.rate(),
        "done": done,
        "seconds": (done.index(1.0) + 1) * _SAMPLE,
        "mb": run.transport.counters.sent_bytes / 1e6,
    }


def table(found: Found) -> Table:
    """Return one row for each metric."""
    rows = []
    for metric in METRICS:
        once, often = found["runs"][f"at once, {metric}"], found["runs"][f"periodic, {metric}"]
        saved = 100 * (1 - often["mb"] / once["mb"])
        rows.append(
            (
                metric,
                once["seconds"],
                once["mb"],
                often["seconds"],
                often["mb"],
                saved,
                _PAPER[metric],
            )
        )
    headers = (
        "metric",
        "at once s",
        "MB",
        "periodic s",
        "MB",
        "saved %",
        "saved in the paper %",
    )
    return Table(headers, rows)


def picture(found: Found) -> Picture:
    """Return traffic and results over time, for both kinds."""
    panels = []
    for kind, (traffic, results) in (("at once", ("8.3", "8.4")), ("periodic", ("8.5", "8.6"))):
        runs = {metric: found["runs"][f"{kind}, {metric}"] for metric in METRICS}
        longest = max(len(run["rate"]) for run in runs.values())
        places = [i * found["bucket"] for i in range(longest)]
        lines = {metric: run["rate"] for metric, run in runs.items()}
        panels.append(
            Panel(f"{traffic} traffic, {kind}", "s", places, lines, beside="KB/s per node")
        )
        longest = max(len(run["done"]) for run in runs.values())
        places = [(i + 1) * found["sample"] for i in range(longest)]
        done = {metric: [100 * d for d in run["done"]] for metric, run in runs.items()}
        panels.append(
            Panel(f"{results} results, {kind}", "s", places, done, beside="% of best paths")
        )
    return Picture("", tuple(panels), shared=False)


EXPERIMENT = Experiment(
    "aggregate selections, at once and periodic, for four metrics",
    ("8.3", "8.4", "8.5", "8.6"),
    "random weights cost most and take longest; periodic selections save 19, 15, 23 and 34 %",
    measure,
    table,
    picture,
)
