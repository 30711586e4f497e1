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
        self._came = self._went = self.rows[:0]

    def change(self, came: Rows, went: Rows) -> Delta:
        """Return a delta of so many tuples, which `tuples_of` knows."""
        self._came, self._went = came, went
        return Delta(np.arange(came.shape[0]), np.arange(went.shape[0]))

    def tuples_of(self, delta: Delta) -> tuple[Rows, Rows]:
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
