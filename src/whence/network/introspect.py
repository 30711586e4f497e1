"""What a node tells of itself: a bounded log, what is watched, firings, tables and faults."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from whence.network.model import Clock, Row


class Entry(NamedTuple):
    """One thing that happened: when, what, of whom, and more about it."""

    time: float
    what: str
    subject: str
    detail: object


class Log:
    """The last things that happened at a node, and how often functions had no value."""

    def __init__(self, clock: Clock, size: int) -> None:
        self._clock = clock
        self.entries: deque[Entry] = deque(maxlen=size)
        self.faults: dict[str, int] = {}

    def note(self, what: str, subject: str, detail: object) -> None:
        """Write a line."""
        self.entries.append(Entry(self._clock.now(), what, subject, detail))

    def watched(self, sign: int, relation: str, row: Row) -> None:
        """Write down that a watched tuple came or went."""
        self.note("+" if sign > 0 else "-", relation, row)

    def fault(self, rule: str, error: Exception) -> None:
        """Count that a function had no value in a rule; the first time is written down."""
        if rule not in self.faults:
            self.note("fault", rule, error)
        self.faults[rule] = self.faults.get(rule, 0) + 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A node at one moment, in numbers."""

    name: str
    time: float
    rows: dict[str, int]
    firings: dict[str, int]
    faults: dict[str, int]
    updates_sent: int
    updates_received: int
    programs: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Return the numbers by their names."""
        return {
            "name": self.name,
            "time": self.time,
            "rows": dict(self.rows),
            "firings": dict(self.firings),
            "faults": dict(self.faults),
            "updates_sent": self.updates_sent,
            "updates_received": self.updates_received,
            "programs": list(self.programs),
        }
