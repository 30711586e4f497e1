"""Where searches write the rows that came and went: column by column, in memory used again."""

from __future__ import annotations

import sys

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows

_ROOM, _MOST_ROOM = 1 << 14, 1 << 18
"""Rows that a thread has room for at first, and later, before it hands them over."""

_KEPT = 1 << 16
"""Room that is kept for the next change."""

_OWN = 2
"""References to an array of which nobody has a view: the attribute, and who asks."""


class Buffers:
    """Where a thread writes the rows that came and went; others read views of that."""

    def __init__(self, room: int, width: int) -> None:
        room = max(room, _ROOM)
        self.came: Rows = np.empty((width, room), dtype=np.int64)
        self.went: Rows = np.empty((width, room), dtype=np.int64)
        self.nc = self.nw = 0
        self.work: Ints = np.zeros(2, dtype=np.int64)

    @property
    def room(self) -> int:
        """How many rows of either kind there is room for."""
        return int(self.came.shape[1])

    @property
    def free(self) -> bool:
        """Whether this may be written again: no view of it is left."""
        return sys.getrefcount(self.came) <= _OWN and sys.getrefcount(self.went) <= _OWN

    def kept(self) -> Buffers:
        """Return what to keep for the next change."""
        return self if self.room <= _KEPT else Buffers(_ROOM, self.came.shape[0])

    def larger(self, states: int) -> Buffers:
        """Return others with more room, at least for one search of so many states."""
        room = min(2 * self.room, _MOST_ROOM + states)
        return Buffers(max(room, 2 * states), self.came.shape[0])
