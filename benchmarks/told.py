"""What a section found, as tables and bars."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.bars import Bar
from benchmarks.report import Table


@dataclass(frozen=True, slots=True)
class Told:
    """A section: its tables, the bars it meets or not, and what was wrong."""

    tables: tuple[Table, ...]
    bars: tuple[Bar, ...]
    failures: tuple[str, ...]


def ms(seconds: float) -> str:
    """Return seconds as milliseconds."""
    return f"{seconds * 1e3:.3f}"


def at_most(name: str, limit: float, measured: float, unit: str) -> Bar:
    """Return the bar that a measure may not be above."""
    return Bar(name, f"≤ {limit:g} {unit}", f"{measured:.3f} {unit}", measured <= limit)


def at_least(name: str, needed: float, measured: float) -> Bar:
    """Return the bar that a ratio may not be below."""
    return Bar(name, f"≥ {needed:g} ×", f"{measured:.1f} ×", measured >= needed)
