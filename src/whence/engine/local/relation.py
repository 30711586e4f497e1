"""A relation: append-only rows of codes, a duplicate check, indexes, and semi-naive's marks.

Rows before `old` were there before the last round, rows from `old` to `mark` are the delta,
rows from `mark` on are being derived; so old, delta and new are ranges of one array.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.buffers import grown
from whence.engine.local.index import Index
from whence.engine.local.kernels import membership as kernels
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.kernels.joins import group_of
from whence.engine.local.membership import Box, Membership, choose

NO_FLAGS: Flags = np.zeros(0, dtype=np.uint8)
MAX_ROWS = (1 << 31) - 2
"""Row numbers are 32 bits wide in indexes."""


class TooManyRows(Exception):
    """A relation would outgrow its row numbers."""


class Relation:
    """The tuples of one relation; `hint` is a range that its columns are expected to keep to."""

    __slots__ = (
        "_whole",
        "arity",
        "check",
        "dead",
        "hint",
        "indexes",
        "mark",
        "name",
        "old",
        "rows",
        "size",
    )

    def __init__(self, name: str, arity: int, hint: tuple[Ints, Ints] | None = None) -> None:
        self.name = name
        self.arity = arity
        self.rows: Rows = np.empty((16, arity), dtype=np.int64)
        self.size = 0
        self.old = 0
        self.mark = 0
        self.dead: Flags = NO_FLAGS
        self.hint = hint
        self.check: Membership | None = None
        self.indexes: dict[tuple[int, ...], Index] = {}
        self._whole: Index | None = None

    def insert(self, cand: Rows, n: int) -> int:
        """Append the first `n` candidates that are new; return how many were."""
        before = self.size
        if n == 0:
            return 0
        if before + n > MAX_ROWS:
            raise TooManyRows(self.name)
        rows = self.rows = grown(self.rows, before, before + n)
        check = self.check
        if check is None:
            check = self._choose(cand, 0, n)
        done, self.size = check.insert(cand, 0, n, rows, before)
        while done < n:
            check = self._choose(cand, done, n)
            done, self.size = check.insert(cand, done, n, rows, self.size)
        return self.size - before

    def append(self, cand: Rows, n: int) -> int:
        """Append the first `n` candidates, which are known to be new and different."""
        before, self.size = self.size, self.size + n
        if self.size > MAX_ROWS:
            raise TooManyRows(self.name)
        self.rows = grown(self.rows, before, self.size)
        self.rows[before : self.size] = cand[:n]
        return n

    def _choose(self, cand: Rows, begin: int, end: int) -> Membership:
        """Pick a check whose box holds all rows and the candidates, with headroom where it grew."""
        if self.check is None:
            lo, hi = cand[0].copy(), cand[0].copy()
            if self.hint is not None:
                lo, hi = np.minimum(lo, self.hint[0]), np.maximum(hi, self.hint[1])
            kernels.bounds(cand, begin, end, lo, hi)
            kernels.bounds(self.rows, 0, self.size, lo, hi)
        else:
            box = self.check.box
            lo, hi = box.lo.copy(), box.lo + (box.span - 1)
            before = lo.copy(), hi.copy()
            kernels.bounds(cand, begin, end, lo, hi)
            lo, hi = with_headroom(before, (lo, hi))
        room = max(1024, 2 * self.size, self.size + (end - begin))
        self.check = self._check(Box.around(lo, hi), room)
        return self.check

    def _check(self, box: Box, room: int) -> Membership:
        return choose(box, self.rows, self.size, room)

    def index(self, columns: tuple[int, ...]) -> Index:
        """Return the index on these columns, with all rows up to `mark` entered."""
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = Index(columns)
        found.extend(self.rows, self.mark)
        return found

    def find(self, tuples: Rows) -> Ints:
        """Return the row number of each tuple, -1 for one that has none up to `mark`."""
        if self._whole is None:
            # Tuples are all different, so the group of all columns is the row.
            self._whole = Index(tuple(range(self.arity)), hashed=True)
        index = self._whole
        index.extend(self.rows, self.mark)
        groups = np.empty(tuples.shape[0], dtype=np.int64)
        slots = np.arange(self.arity, dtype=np.int64)
        group_of(
            tuples,
            tuples.shape[0],
            slots,
            np.zeros_like(slots),
            index.key_array,
            index.table,
            index.first,
            index.shift,
            self.rows,
            groups,
        )
        if index.groups == 0:
            return groups
        return np.where(groups < 0, -1, index.first[groups])

    @property
    def method(self) -> str:
        """How duplicates are found."""
        return self.check.name if self.check is not None else "none needed"

    @property
    def alive(self) -> int:
        """How many rows are not tombstoned."""
        return self.size - int(np.count_nonzero(self.dead[: self.size]))

    def live_rows(self) -> Rows:
        """Return all rows that are not tombstoned."""
        rows = self.rows[: self.size]
        return rows if self.dead.shape[0] == 0 else rows[self.dead[: self.size] == 0]

    def at(self, rows: Ints) -> Rows:
        """Return rows by their numbers."""
        return self.rows[rows]

    def delta(self) -> Rows:
        """Return the rows that the last round added."""
        return self.rows[self.old : self.mark]

    def bury(self, rows: Ints) -> None:
        """Tombstone these rows: joins pass over them, the duplicate check still knows them."""
        if rows.shape[0]:
            self._cover()
            self.dead[rows] = 1

    def _cover(self) -> None:
        """Make room for a tombstone per row."""
        if self.dead.shape[0] < self.size:
            fresh = np.zeros(2 * self.size, dtype=np.uint8)
            fresh[: self.dead.shape[0]] = self.dead
            self.dead = fresh

    def _enter(self) -> None:
        """Enter all rows up to `mark` into the indexes; kernels may look at their tombstones."""
        if self.dead.shape[0]:
            self._cover()
        for index in self.indexes.values():
            index.extend(self.rows, self.mark)

    def advance(self) -> int:
        """Make what was derived the delta, enter it into the indexes, and return its size."""
        self.old = self.mark
        self.mark = self.size
        self._enter()
        return self.mark - self.old

    def restart(self) -> None:
        """Make all rows the delta."""
        self.old = 0
        self.mark = self.size
        self._enter()

    def settle(self) -> None:
        """Make all rows old: the relation is complete."""
        self.old = self.mark = self.size
        self._enter()


def with_headroom(before: tuple[Ints, Ints], after: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    lo, hi = after[0].copy(), after[1].copy()
    for c in range(lo.shape[0]):
        extent = int(after[1][c]) - int(after[0][c])
        if after[0][c] < before[0][c]:
            lo[c] = max(int(lo[c]) - extent, -(1 << 63))
        if after[1][c] > before[1][c]:
            hi[c] = min(int(hi[c]) + extent, (1 << 63) - 1)
    return lo, hi
