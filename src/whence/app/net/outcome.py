"""What came of a run: tuples, times, traffic; as JSON, and as a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from whence.diagnostics import Diagnostic, UsageError
from whence.network.model import Row

_BINS: Final = 40
"""Stretches of time in a picture."""


@dataclass(frozen=True, slots=True)
class Point:
    """How far a run was at a time: tuples that were there, bytes that had been sent."""

    time: float
    tuples: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that is over."""

    program: str
    topology: str
    nodes: int
    links: int
    processors: int
    clock: str
    """`simulated` or `real`."""
    time: float
    """Seconds that passed, by that clock."""
    converged: float
    """Seconds until the last of the tuples that are shown came or went."""
    wall: float
    messages: int
    bytes: int
    rows: dict[str, list[Row]]
    firings: dict[str, int]
    traffic: list[float]
    """KB/s per processor, second by second."""
    points: list[Point] = field(repr=False)

    def as_json(self) -> dict[str, object]:
        """Return everything by name; `wall_seconds` alone is not the same each time."""
        return {
            "program": self.program,
            "topology": {"name": self.topology, "nodes": self.nodes, "links": self.links},
            "processors": self.processors,
            "clock": self.clock,
            "seconds": round(self.time, 6),
            "converged_seconds": round(self.converged, 6),
            "wall_seconds": round(self.wall, 3),
            "messages": self.messages,
            "bytes": self.bytes,
            "kb_per_node": round(self.bytes / 1000 / max(self.processors, 1), 3),
            "kbps_per_node": [round(rate, 4) for rate in self.traffic],
            "firings": self.firings,
            "relations": {name: [list(row) for row in rows] for name, rows in self.rows.items()},
        }


def in_order(rows: set[Row]) -> list[Row]:
    """Return rows in an order that is always the same, whatever their values are."""
    return sorted(rows, key=lambda row: tuple((type(v).__name__, _key(v)) for v in row))


def _key(value: object) -> tuple[float, str]:
    if isinstance(value, int | float):
        return (float(value) if abs(value) < 1e300 else 0.0, str(value))
    return (0.0, json.dumps(value, default=str))


def draw(outcome: Outcome, path: Path) -> None:
    """Draw how tuples came and how much was sent, over time."""
    from whence.plotting import MISSING, Panel, Picture, available, save

    if path.suffix not in (".png", ".svg"):
        message = f"`{path}` is no name of a picture"
        raise UsageError(Diagnostic("W1418", message, hint="it ends with .png or .svg"))
    if not available():
        raise UsageError(Diagnostic("W1418", MISSING))
    last = outcome.points[-1].tuples or 1
    tuples = Panel(
        "convergence",
        "seconds",
        [point.time for point in outcome.points],
        {"tuples of the result": [100 * point.tuples / last for point in outcome.points]},
        beside="% of the result",
    )
    width = max(outcome.points[-1].time, 1e-9) / _BINS
    sent = _spread(outcome.points, width)
    share = 1000 * width * max(outcome.processors, 1)
    traffic = Panel(
        "traffic",
        "seconds",
        [(i + 0.5) * width for i in range(_BINS)],
        {"KB/s per node": [count / share for count in sent]},
        beside="KB/s per node",
    )
    save(Picture("", (tuples, traffic), shared=False), path)


def _spread(points: list[Point], width: float) -> list[float]:
    """Return the bytes of each stretch of time, as if sent evenly between two points.

    >>> _spread([Point(0, 0, 0, 0), Point(2, 0, 0, 80), Point(40, 0, 0, 80)], 1.0)[:3]
    [40.0, 40.0, 0.0]
    """
    sent = [0.0] * _BINS
    for before, after in pairwise(points):
        first = min(int(before.time / width), _BINS - 1)
        last = min(int(after.time / width), _BINS - 1)
        for i in range(first, last + 1):
            start, end = max(before.time, i * width), min(after.time, (i + 1) * width)
            part = (end - start) / (after.time - before.time) if after.time > before.time else 1.0
            sent[i] += max(part, 0.0) * (after.bytes - before.bytes)
    return sent
