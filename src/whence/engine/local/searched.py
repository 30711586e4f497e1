"""A relation whose tuples are what searches have found; it has no rows of its own."""

from __future__ import annotations

import numpy as np

from whence.engine.local.cells import cell_depths, cell_rows
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation
from whence.engine.local.searches import Searches


class SearchedRelation(LiveRelation):
    """A relation that nobody joins with: its tuples are what searches have found.

    Where others have the number of a row it has that of a cell, and a rank is the way from a seed.
    """

    __slots__ = ("_came", "_went", "searches")

    def __init__(self, name: str, arity: int, searches: Searches) -> None:
        super().__init__(name, arity)
        self.searches = searches
        self._came: list[Rows] = []
        self._went: list[Rows] = []

    def change(self, came: list[Rows], went: list[Rows]) -> Delta:
        """Return a delta of so many tuples, which `parts_of` knows."""
        self._came, self._went = came, went
        return Delta(*(_any(sum(part.shape[0] for part in parts)) for parts in (came, went)))

    def forget_change(self) -> None:
        """Let others have the memory of the last change."""
        self._came, self._went = [], []

    def tuples_of(self, delta: Delta) -> tuple[Rows, Rows]:
        return joined(self._came, self.arity), joined(self._went, self.arity)

    def parts_of(self, delta: Delta) -> tuple[list[Rows], list[Rows]]:
        return self._came, self._went

    @property
    def alive(self) -> int:
        return self.searches.alive

    @property
    def method(self) -> str:
        return "a value for each state of each search"

    def live_rows(self) -> Rows:
        return self.searches.rows()

    def settle_all(self) -> None:
        """Nothing to do: values know no transaction."""

    def settle_rows(self, ids: Ints) -> None:
        """Nothing to do: values know no transaction."""

    def compact(self) -> bool:
        return False

    def at(self, rows: Ints) -> Rows:
        return cell_rows(self.searches, rows)

    def ranks(self, ids: Ints) -> Ints:
        return cell_depths(self.searches, ids)


def joined(parts: list[Rows], arity: int) -> Rows:
    """Return all rows of the parts, one after the other."""
    if not parts:
        return np.empty((0, arity), dtype=np.int64)
    return np.ascontiguousarray(np.concatenate(parts) if len(parts) > 1 else parts[0])


def _any(size: int) -> Ints:
    """Return so many numbers, whatever they are."""
    return np.broadcast_to(np.int64(0), size)
