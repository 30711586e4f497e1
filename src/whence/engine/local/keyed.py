"""A keyed relation: one row per key, improved in place; the rows that changed are the frontier."""

from __future__ import annotations

import numpy as np

from whence.engine.local.buffers import grown, reserve
from whence.engine.local.kernels import keyed as kernels
from whence.engine.local.kernels.hashing import Ints, Rows, Small
from whence.engine.local.kernels.membership import bounds
from whence.engine.local.membership import MAX_LOAD, Box, table_bits
from whence.engine.local.relation import MAX_ROWS, Relation, TooManyRows, with_headroom
from whence.plan.nodes import Keyed
from whence.syntax.nodes import Kind

_DENSE_FLOOR = 1 << 20
_NAN = int(np.array(np.nan).view(np.int64))
_ORDER = {Kind.NUMBER: 0, Kind.UNSIGNED: 1, Kind.FLOAT: 2}


class Unordered(Exception):
    """A value is neither better nor worse than any other, so a key may have several best rows."""


class KeyedRelation(Relation):
    """A relation whose `insert` merges: a better value replaces the row of its key."""

    __slots__ = (
        "_box",
        "_changed",
        "_delta",
        "_frontier",
        "_key",
        "_kind",
        "_round",
        "_rows_of",
        "_stamp",
        "_table",
        "keyed",
    )

    def __init__(self, name: str, arity: int, keyed: Keyed) -> None:
        super().__init__(name, arity)
        self.keyed = keyed
        self._key: Ints = np.array(keyed.key, dtype=np.int64)
        self._kind = _ORDER[keyed.kind]
        self._round = 1
        self._stamp: Small = np.zeros(16, dtype=np.int32)
        self._frontier: Small = np.empty(16, dtype=np.int32)
        self._changed = 0
        self._delta: Rows = np.empty((0, arity), dtype=np.int64)
        self._box: Box | None = None
        self._rows_of: Small = np.zeros(0, dtype=np.int32)
        self._table: Ints = np.zeros(0, dtype=np.int64)

    @property
    def method(self) -> str:
        return "key → row table" if self._box is not None else "hashed keys"

    def insert(self, cand: Rows, n: int) -> int:
        """Merge the first `n` candidates; return how many keys are new."""
        if n == 0:
            return 0
        if self.keyed.kind is Kind.FLOAT and bool((cand[:n, self.keyed.value] == _NAN).any()):
            raise Unordered
        if self.size + n > MAX_ROWS:
            raise TooManyRows(self.name)
        before = self.size
        room = self.size + n
        self.rows = grown(self.rows, self.size, room)
        self._stamp = _wider(self._stamp, self.size, room)
        self._frontier = grown(self._frontier, self._changed, self._changed + n)
        if before == 0 and self._box is None:
            self._choose_table(cand, 0, n)
        done = self._merge(cand, 0, n)
        while done < n:
            self._choose_table(cand, done, n)
            done = self._merge(cand, done, n)
        return self.size - before

    def _merge(self, cand: Rows, begin: int, end: int) -> int:
        k = self.keyed
        common = (
            k.value,
            self._kind,
            k.greatest,
            self._round,
            self.rows,
            self.size,
            self._stamp,
            self._frontier,
            self._changed,
        )
        if self._box is not None:
            b = self._box
            done, self.size, self._changed = kernels.merge_dense(
                cand, begin, end, self._key, b.lo, b.span, b.stride, self._rows_of, *common
            )
        else:
            table = self._table
            shift = 65 - table.shape[0].bit_length()
            room = max(int(table.shape[0] * MAX_LOAD) - self.size, 0)
            done, self.size, self._changed = kernels.merge_hashed(
                cand, begin, end, self._key, table, shift, room, *common
            )
        return done

    def _choose_table(self, cand: Rows, begin: int, end: int) -> None:
        """Pick the table for all rows and the candidates: dense over the keys' box, or hashed."""
        keys = np.ascontiguousarray(cand[begin:end][:, self._key])
        if self._box is not None:
            lo, hi = self._box.lo.copy(), self._box.lo + (self._box.span - 1)
            before = lo.copy(), hi.copy()
            bounds(keys, 0, keys.shape[0], lo, hi)
            lo, hi = with_headroom(before, (lo, hi))
        else:
            lo, hi = keys[0].copy(), keys[0].copy()
            bounds(keys, 0, keys.shape[0], lo, hi)
            if self.size:
                known = np.ascontiguousarray(self.rows[: self.size][:, self._key])
                bounds(known, 0, self.size, lo, hi)
        box = Box.around(lo, hi)
        room = max(1024, 2 * self.size, self.size + end - begin)
        if box.volume <= max(_DENSE_FLOOR, 4 * room):
            self._box = box
            self._rows_of = reserve(box.volume, np.int32)
            at = (self.rows[: self.size][:, self._key] - box.lo) @ box.stride
            self._rows_of[at] = np.arange(1, self.size + 1, dtype=np.int32)
        else:
            self._box = None
            bits = table_bits(room)
            self._table = reserve(1 << bits, np.int64)
            kernels.fill_keys(self.rows, self.size, self._key, self._table, 64 - bits)

    def forget_keys(self) -> None:
        """Take the rows as they are: the relation is complete, and its rows have been replaced."""
        self._box, self._rows_of = None, np.zeros(0, dtype=np.int32)
        self._table = np.zeros(0, dtype=np.int64)
        self._changed = 0
        self.indexes.clear()

    def delta(self) -> Rows:
        return self._delta

    def sample(self, room: int) -> Ints:
        """Return how good some of the changed rows are: a number each, the least being the best."""
        k = self.keyed
        out = np.empty(min(room, self._changed), dtype=np.int64)
        kernels.sample_frontier(
            self.rows, k.value, self._kind, k.greatest, self._frontier, self._changed, out
        )
        return out

    def advance_to(self, bound: int) -> int:
        """Make the changed rows that are as good as the bound the delta; the others wait."""
        k, n = self.keyed, self._changed
        taken = np.empty(n, dtype=np.int32)
        m, self._changed = kernels.take_near(
            self.rows, k.value, self._kind, k.greatest, bound, self._frontier, n, self._stamp, taken
        )
        self._delta = self.rows[taken[:m]]
        super().advance()
        return m

    @property
    def cells(self) -> tuple[Ints, Ints, Ints, Small] | None:
        """The dense table from keys to rows, if there is one: its box, and its entries."""
        b = self._box
        return None if b is None else (b.lo, b.span, b.stride, self._rows_of)

    @property
    def changed(self) -> int:
        """How many rows have changed and have not been the delta since."""
        return self._changed

    def waiting(self) -> Rows:
        """Return the rows that have changed and have not been the delta since, as they are now."""
        return self.rows[self._frontier[: self._changed]]

    def advance(self) -> int:
        """Make the rows that changed the delta, as they are now."""
        changed = self._frontier[: self._changed]
        self._delta = self.rows[changed]
        self._changed = 0
        self._round += 1
        super().advance()
        return int(self._delta.shape[0])

    def restart(self) -> None:
        super().restart()
        self._delta = self.rows[: self.size].copy()
        self._changed = 0
        self._round += 1


def _wider(stamp: Small, used: int, need: int) -> Small:
    if need <= stamp.shape[0]:
        return stamp
    fresh = grown(stamp, used, need)
    fresh[used:need] = 0  # beyond that it is set when the row is made
    return fresh
