"""What a reducer has seen and given, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """What a reducer has seen and given."""

    rows: int = 0
    """Rows in, end markers among them."""
    links: int = 0
    """Rows of the reduced graph."""
    uncommitted: int = 0
    """Edges of attempts that never ended."""
    late: int = 0
    """Rows that came after what they speak of had been forgotten."""
    most_nodes: int = 0
    """The most nodes that were held at a time."""
    spilled: int = 0
    """The most bytes that were in files at a time."""
