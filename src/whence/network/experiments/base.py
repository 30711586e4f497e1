"""What an experiment is: it measures, and what it found is a table, a picture and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.plotting import Picture

Found = Mapping[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Table:
    """Figures for people: names of columns, and rows of cells."""

    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """Figures of a paper that are drawn again."""

    title: str
    figures: tuple[str, ...]
    """Their numbers in the paper."""
    claim: str
    """What the paper found."""
    measure: Callable[[bool, Say], dict[str, Any]]
    """Takes whether to be quick, and whom to tell how far it is; returns JSON."""
    table: Callable[[Found], Table]
    picture: Callable[[Found], Picture]


def lines_of(table: Table) -> list[str]:
    """Return a table as text, columns aligned.

    >>> lines_of(Table(("a", "nodes"), [("x", 3), ("yz", 10)]))
    ['a   nodes', 'x       3', 'yz     10']
    """
    cells = [[str(h) for h in table.headers], *([shown(c) for c in row] for row in table.rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.headers))]
    out = []
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        out.append("  ".join((first, *rest)).rstrip())
    return [*out, *table.notes]


def shown(value: object) -> str:
    """Return a figure with as many digits as matter."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def mean(values: Sequence[float]) -> float:
    """Return the average; zero of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which a part of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def distribution(values: Sequence[float], places: Sequence[float]) -> list[float]:
    """Return the part of values that is at most each place."""
    ordered = sorted(values)
    out, i = [], 0
    for place in places:
        while i < len(ordered) and ordered[i] <= place:
            i += 1
        out.append(i / len(ordered) if ordered else 0.0)
    return out
