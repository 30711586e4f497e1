"""An index: for each value of the key columns, the rows that have it, in ascending order.

A single key column of small range addresses its list directly; other keys are hashed. The
first extension lays the lists out exactly (as CSR does); later ones grow list by list.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.buffers import grown, reserve
from whence.engine.local.kernels import groups as kernels
from whence.engine.local.kernels.hashing import Ints, Rows, Small

_NO_SMALL: Small = np.zeros(0, dtype=np.int32)


class Index:
    """The rows of a relation by key; `extend` takes in the rows added since the last time."""

    __slots__ = (
        "columns",
        "count",
        "dense",
        "entered",
        "first",
        "groups",
        "key_array",
        "lo",
        "more",
        "pool",
        "room",
        "shift",
        "start",
        "table",
        "used",
    )

    def __init__(self, columns: tuple[int, ...], *, hashed: bool = False) -> None:
        self.columns = columns
        self.key_array: Ints = np.array(columns, dtype=np.int64)
        self.dense = len(columns) == 1 and not hashed
        self.entered = 0
        self.lo = 0
        self.groups = 0
        self.used = 0
        self.shift = 58
        self.start: Ints = np.zeros(0, dtype=np.int64)
        self.count = self.room = self.more = self.pool = self.first = _NO_SMALL
        self.table: Small = np.zeros(64, dtype=np.int32)

    def extend(self, rows: Rows, size: int) -> None:
        """Enter the rows up to `size`."""
        begin = self.entered
        if begin == size:
            return
        of = self._dense_groups(rows, begin, size) if self.dense else None
        if of is None:
            of = self._hashed_groups(rows, begin, size)
        self._enter(begin, of)
        self.entered = size

    def number_groups(self, rows: Rows, size: int) -> Small:
        """Return the group of each row, without entering any: for folds, which need no lists."""
        return self._hashed_groups(rows, 0, size)

    def number_more(self, rows: Rows, size: int) -> Small:
        """Return the group of each row since the last time, without entering any in lists."""
        of = self._hashed_groups(rows, self.entered, size)
        self.entered = size
        return of

    def _dense_groups(self, rows: Rows, begin: int, end: int) -> Small | None:
        keys = rows[begin:end, self.columns[0]]
        lo, hi = int(keys.min()), int(keys.max())
        have = self.start.shape[0]
        if lo < self.lo or hi >= self.lo + have or have == 0:
            if have:
                lo, hi = min(lo, self.lo), max(hi, self.lo + have - 1)
                # Headroom on the side that moved, so that a creeping range is not copied each time.
                lo, hi = (
                    (max(lo - have, -(1 << 63)) if lo < self.lo else lo),
                    (hi + have if hi >= self.lo + have else hi),
                )
            if hi - lo >= 4 * end + 65536:
                self._hash_instead(rows)
                return None
            self._widen(lo, hi)
        return (keys - self.lo).astype(np.int32)

    def _widen(self, lo: int, hi: int) -> None:
        offset, have, span = self.lo - lo, self.start.shape[0], hi - lo + 1
        for name in ("start", "count", "room", "more"):
            old = getattr(self, name)
            fresh = reserve(span, np.int64 if name == "start" else np.int32)
            if have:
                fresh[offset : offset + have] = old
            setattr(self, name, fresh)
        self.lo, self.groups = lo, span

    def _hash_instead(self, rows: Rows) -> None:
        size = self.entered
        self.__init__(self.columns, hashed=True)  # type: ignore[misc]
        self.extend(rows, size)

    def _hashed_groups(self, rows: Rows, begin: int, end: int) -> Small:
        of = np.empty(end - begin, dtype=np.int32)
        step = 1 << 16
        for at in range(begin, end, step):
            until = min(at + step, end)
            self._reserve_groups(rows, self.groups + until - at)
            self.groups = kernels.group_rows(
                rows,
                at,
                until,
                self.key_array,
                self.table,
                self.shift,
                self.first,
                self.groups,
                of[at - begin : until - begin],
            )
        return of

    def _reserve_groups(self, rows: Rows, need: int) -> None:
        for name in ("start", "count", "room", "more", "first"):
            array = getattr(self, name)
            if need > array.shape[0]:
                wider = grown(array, self.groups, need)
                wider[self.groups :] = 0
                setattr(self, name, wider)
        if need * 2 > self.table.shape[0]:
            bits = (need * 2).bit_length()
            self.table = reserve(1 << bits, np.int32)
            self.shift = 64 - bits
            kernels.fill_groups(
                rows, self.groups, self.key_array, self.first, self.table, self.shift
            )

    def _enter(self, begin: int, of: Small) -> None:
        if begin and of.shape[0] * 4 < self.groups:
            done = 0
            while True:
                done, self.used = kernels.append_groups(
                    begin, done, of, self.start, self.count, self.room, self.pool, self.used
                )
                if done == of.shape[0]:
                    return
                need = max(self.used + 2 * int(self.room[of[done]]) + 4, self.used + of.shape[0])
                self.pool = grown(self.pool, self.used, need)
        while True:
            need = kernels.place_groups(
                of, self.groups, self.more, self.start, self.count, self.room, self.pool, self.used
            )
            if need <= self.pool.shape[0]:
                break
            self.pool = grown(self.pool, self.used, need) if begin else np.empty(need, np.int32)
        self.used = need
        kernels.enter_groups(begin, of, self.start, self.count, self.pool)
