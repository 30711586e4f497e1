"""Edges that the driver itself writes, of the notes of taps in Spark's own process.

Notes are taken as a set: what a task that ran again has noted again is there once, and what an
earlier action told is not told again. So it does not matter how often Spark counted a task.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from whence.lineage.capture.executions import Batch, of_notes
from whence.lineage.capture.jvm_taps import JvmTaps, Notes, joined

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from whence.lineage.capture.staging import Operator
    from whence.lineage.capture.tracer import Reference


@dataclass(slots=True)
class _Page:
    """What is noted for one operator: its taps, one for each space, and what was told of it."""

    operator: Operator
    made: str
    first: int
    spaces: tuple[str, ...]
    of_groups: bool
    told: list[Notes] = field(default_factory=list)
    executions: int = 0

    @property
    def taps(self) -> range:
        return range(self.first, self.first + len(self.spaces))


class Notebook:
    """The notes of one tracer."""

    def __init__(self, taps: JvmTaps) -> None:
        self._taps = taps
        self._pages: dict[Operator, _Page] = {}
        self._lock = threading.Lock()

    def numbered(
        self, frame: DataFrame, number: Column | None, column: str, share: float
    ) -> DataFrame:
        """Return the frame with a column of the numbers of rows in the sample, null for others."""
        return self._taps.numbered(frame, number, column, share)

    def grouped(
        self,
        operator: Operator,
        frame: DataFrame,
        keys: Sequence[Column],
        references: Sequence[Reference],
        column: str,
    ) -> DataFrame:
        """Return the frame with the hash of keys where a row comes from the sample, and noted."""
        found, first = self._taps.grouped(frame, keys, [r.column for r in references], column)
        spaces = tuple(reference.space for reference in references)
        self._pages[operator] = _Page(operator, f"{operator.inner}/part", first, spaces, True)
        return found

    def sunk(
        self,
        operator: Operator,
        made: str,
        frame: DataFrame,
        references: Sequence[Reference],
        column: str,
        shown: bool,
    ) -> DataFrame:
        """Return what the frame shows; rows that come from the sample are noted by position."""
        found, first = self._taps.written(frame, [r.column for r in references], column, shown)
        spaces = tuple(reference.space for reference in references)
        self._pages[operator] = _Page(operator, made, first, spaces, False)
        return found

    def written(
        self, operators: Iterable[Operator], partitions: int, horizontal: bool
    ) -> dict[int, list[Batch]]:
        """Return what is new of these operators, for each partition of a topic."""
        out: dict[int, list[Batch]] = {}
        with self._lock:
            for page in self._of(operators):
                notes = _news(page.told, self._taps.take(page.taps))
                if not len(notes):
                    continue
                if page.of_groups:  # rows are numbered anew by each action
                    page.told.append(notes)
                into = np.full(len(notes), page.operator.part) if horizontal else notes.worker
                into = into % partitions
                for partition in np.unique(into).tolist():
                    found = notes[into == partition]
                    out.setdefault(partition, []).append(_edges(page, found))
        return out

    def forget(self, operators: Iterable[Operator]) -> None:
        """Leave out what an action that failed has noted."""
        with self._lock:
            for page in self._of(operators):
                self._taps.take(page.taps)

    def _of(self, operators: Iterable[Operator]) -> list[_Page]:
        return [self._pages[o] for o in operators if o in self._pages]


def _edges(page: _Page, notes: Notes) -> Batch:
    name = page.operator.name
    batch, count = of_notes(
        f"{name}/combine" if page.of_groups else name,
        page.made,
        page.operator.inner if page.of_groups else None,
        page.spaces,
        Notes(notes.tap - page.first, notes.worker, notes.attempt, notes.number, notes.reference),
        page.executions,
        datetime.now(UTC),
    )
    page.executions += count
    return batch


def _news(told: Sequence[Notes], found: Notes) -> Notes:
    """Return the notes that were not told yet, each once."""
    known = sum(map(len, told))
    every = joined([*told, found])
    order = np.lexsort((every.reference, every.number, every.tap))
    ordered = every[order]
    first = np.ones(len(order), bool)
    first[1:] = (
        (ordered.tap[1:] != ordered.tap[:-1])
        | (ordered.number[1:] != ordered.number[:-1])
        | (ordered.reference[1:] != ordered.reference[:-1])
    )
    return every[np.sort(order[first & (order >= known)])]
