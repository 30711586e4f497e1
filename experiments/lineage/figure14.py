"""Figure 14: how right each mode is on streams that are out of order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pyarrow as pa

from benchmarks.report import Table
from experiments.lineage.trace import Job, recorded, truth
from whence import plotting as plots
from whence.lineage.reduce import reduce
from whence.lineage.reduce.disorder import disordered
from whence.lineage.reduced import Pair, pairs_of

MODES: Final = ("exact", "grouping", "window", "ordered")
WINDOW: Final = 1000
"""Elements, as in the paper."""
Unit = Literal["group", "edge"]
STREAMS: Final[dict[str, tuple[bool, Unit]]] = {
    "groups stay whole": (False, "group"),
    "edges move alone": (False, "edge"),
    "groups, entities used twice": (True, "group"),
}


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Reduce disordered streams in every mode; the first kind of stream is the paper's."""
    tweets = 300 if quick else 6_000
    percents = (0, 30) if quick else (0, 1, 5, 10, 20, 30, 50)
    seeds = (1,) if quick else (1, 2, 3)
    rows: list[dict[str, Any]] = []
    edges = 0
    for stream, (twice, unit) in STREAMS.items():
        say(f"figure 14: {stream}")
        for seed in seeds:
            job = Job(tweets, twice=twice, seed=seed)
            record, true = recorded(job), pairs_of(truth(job))
            edges = edges or record.num_rows
            for percent in percents:
                moved = disordered(record, percent, seed=seed, unit=unit)
                for mode, right in _modes(moved, true):
                    row = {"stream": stream, "seed": seed, "percent": percent, "mode": mode}
                    rows.append({**row, **right})
    return {"tweets": tweets, "edges": edges, "seeds": len(seeds), "rows": rows}


def _modes(stream: pa.RecordBatch, true: set[Pair]) -> Iterator[tuple[str, dict[str, float]]]:
    for mode in MODES:
        found = pairs_of(reduce([stream], mode=mode, window=WINDOW).table)
        yield mode, judged(found, true)


def judged(found: set[Pair], true: set[Pair]) -> dict[str, float]:
    """Return shares: of true pairs that were found (the paper's accuracy), of found that are true,
    of outputs whose backward answer is right, of inputs whose forward answer is right."""
    both, wrong = len(found & true), found ^ true
    outputs, inputs = {output for output, _ in true}, {source for _, source in true}
    return {
        "accuracy": both / len(true),
        "precision": both / len(found) if found else 1.0,
        "backward": 1 - len(outputs & {output for output, _ in wrong}) / len(outputs),
        "forward": 1 - len(inputs & {source for _, source in wrong}) / len(inputs),
    }


def mean(found: dict[str, Any], key: str, **chosen: Any) -> float:
    """Return the mean over seeds."""
    values = [r[key] for r in found["rows"] if all(r[k] == v for k, v in chosen.items())]
    return float(sum(values) / len(values))


def percents(found: dict[str, Any]) -> list[int]:
    """Return the shares of disorder that were measured."""
    return sorted({row["percent"] for row in found["rows"]})


def tables(found: dict[str, Any]) -> tuple[Table, ...]:
    """Accuracy over disorder, and what else is wrong at the worst of it."""
    steps = percents(found)
    worst = steps[-1]
    over = Table(
        f"Accuracy in % over the % of elements out of order ({found['edges']:,} edges)",
        ("stream", "mode", *map(str, steps)),
        tuple(
            (
                stream,
                mode,
                *(
                    _percent(mean(found, "accuracy", stream=stream, mode=mode, percent=p))
                    for p in steps
                ),
            )
            for stream in STREAMS
            for mode in MODES
        ),
        left=2,
    )
    keys = ("accuracy", "precision", "backward", "forward")
    rest = Table(
        f"At {worst} % out of order, in %",
        ("stream", "mode", *keys),
        tuple(
            (
                stream,
                mode,
                *(_percent(mean(found, k, stream=stream, mode=mode, percent=worst)) for k in keys),
            )
            for stream in STREAMS
            for mode in MODES
        ),
        left=2,
    )
    return over, rest


def _percent(share: float) -> str:
    return "100" if share == 1 else f"{min(share * 100, 99.99):.2f}"


def failures(found: dict[str, Any]) -> list[str]:
    """The exact mode is exact, and the others do what the paper says in order."""
    keys = ("accuracy", "precision", "backward", "forward")
    exact = [row for row in found["rows"] if row["mode"] == "exact"]
    wrong = [] if all(row[k] == 1 for row in exact for k in keys) else ["exact is not exact"]
    whole = [row for row in found["rows"] if row["stream"] == "groups stay whole"]
    if any(row["accuracy"] < 1 for row in whole if row["mode"] == "grouping"):
        wrong.append("grouping loses pairs although groups are whole")
    if any(row["accuracy"] < 1 for row in whole if row["percent"] == 0):
        wrong.append("a mode loses pairs of a stream in order")
    return wrong


def draw(found: dict[str, Any]) -> plots.Picture:
    """Accuracy over disorder, a panel for each kind of stream."""
    steps = percents(found)
    panels = []
    for stream in STREAMS:
        lines = {
            mode: [
                100 * mean(found, "accuracy", stream=stream, mode=mode, percent=p) for p in steps
            ]
            for mode in MODES
        }
        panels.append(plots.Panel(stream, "% of elements out of order", steps, lines))
    return plots.Picture("accuracy in %", tuple(panels))
