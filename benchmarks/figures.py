"""Figures over many measurements."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TypedDict


class Spread(TypedDict):
    """Milliseconds of many updates."""

    count: int
    median: float
    p99: float
    max: float
    mean: float


def spread(seconds: Sequence[float]) -> Spread:
    """Return the spread of some times.

    >>> spread([0.001, 0.002, 0.009])
    {'count': 3, 'median': 2.0, 'p99': 9.0, 'max': 9.0, 'mean': 4.0}
    """
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "count": len(ordered),
        "median": round(median(ordered) * 1e3, 4),
        "p99": round(ordered[min(last, int(len(ordered) * 0.99))] * 1e3, 4),
        "max": round(ordered[last] * 1e3, 4),
        "mean": round(sum(ordered) / len(ordered) * 1e3, 4),
    }
