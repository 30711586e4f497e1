"""A live relation: tuples come and go, each with a rank; a tuple that comes back keeps its row.

Each row has two flags: `dead` says that it is not there now, as a negative rank does, `was` that it
was not there before the transaction. What is derived is pending until the wave it belongs to is
over. Rows beyond need are dropped by `compact`, between transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.engine.local.buffers import advise_huge, grown, reserve
from whence.engine.local.index import Index
from whence.engine.local.kernels import live as kernels
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.kernels.membership import bounds
from whence.engine.local.membership import MAX_LOAD, Box, table_bits
from whence.engine.local.relation import MAX_ROWS, Relation, TooManyRows, with_headroom
from whence.engine.local.selection import Selector
from whence.plan.nodes import Selection

_DENSE_FLOOR = 1 << 20
"""Entries of a dense table that are taken however few the rows are."""

_DENSE_PER_ROW = 4
"""Beyond the floor a dense table may have so many entries a row: it is far quicker than hashing."""

COMPACT_FLOOR = 4096
"""Rows that may be dead however few are alive."""

_NO_CELLS: Rows = np.zeros((0, 2), dtype=np.int64)
NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Delta:
    """Rows of a relation that a transaction let come and go."""

    came: Ints
    went: Ints

    def __bool__(self) -> bool:
        return bool(self.came.shape[0] or self.went.shape[0])


class LiveRelation(Relation):
    """Rows with a rank in their last column, found by their tuple."""

    __slots__ = (
        "alive_rows",
        "box",
        "consts",
        "dense",
        "hashed",
        "pending",
        "pivot",
        "selector",
        "shift",
        "slots",
        "waiting",
        "was",
        "witness",
    )

    def __init__(self, name: str, arity: int, hint: tuple[Ints, Ints] | None = None) -> None:
        super().__init__(name, arity, hint)
        self.slots: Ints = np.arange(arity, dtype=np.int64)
        self.consts: Ints = np.zeros(arity, dtype=np.int64)
        self.selector: Selector | None = None
        self.witness: Ints = NONE
        """For each row of a recursive relation the rank of a premise that supports it, if known."""
        self.pivot: int | None = None
        """A column that the recursion carries along: changes run along it, so the table does."""
        self._clear()

    def select(self, selections: Sequence[Selection]) -> None:
        """Follow only rows that are best for one of the selections, from now on."""
        self.selector = Selector(self, selections)
        self.reselect()

    def reselect(self) -> None:
        """Follow just the rows that are best now."""
        assert self.selector is not None
        alive = self.dead[: self.size] == 0
        self.rows[: self.size, self.arity][alive] |= kernels.IDLE
        self.sync(np.flatnonzero(alive))
        self.follow(self.selector.rebuild())

    def _clear(self) -> None:
        self.rows = np.empty((16, self.arity + 1), dtype=np.int64)
        self.dead = np.zeros(16, dtype=np.uint8)
        self.was: Flags = np.zeros(16, dtype=np.uint8)
        self.size = self.old = self.mark = 0
        self.alive_rows = 0
        self.box = Box.around(self.consts, self.consts)
        self.dense: Rows = _NO_CELLS
        self.hashed: Ints = NONE
        self.shift = 63
        self.pending: Ints = np.empty(16, dtype=np.int64)
        self.waiting = 0
        for index in self.indexes.values():
            # In place: compiled joins hold on to it.
            index.__init__(index.columns)  # type: ignore[misc]

    # ── rows of tuples ──

    @property
    def table(self) -> tuple[Ints, Ints, Ints, Rows, Ints, int]:
        """What kernels need to find the row of a tuple."""
        b = self.box
        return b.lo, b.span, b.stride, self.dense, self.hashed, self.shift

    def find(self, tuples: Rows) -> Ints:
        """Return the row of each tuple, there or not, -1 for one that has none."""
        out = np.empty(tuples.shape[0], dtype=np.int64)
        kernels.find_rows(
            tuples, tuples.shape[0], self.slots, self.consts, *self.table, self.rows, out
        )
        return out

    def adopt(self, rows: Rows, ranks: Ints | None = None) -> None:
        """Take these tuples, all different, instead of all there were; they are settled."""
        self._clear()
        n = rows.shape[0]
        self._reserve(n)
        self.rows[:n, : self.arity] = rows
        self.rows[:n, self.arity] = np.arange(n) if ranks is None else ranks
        self.dead[:n] = 0
        self.was[:n] = 0
        self.size = self.mark = self.old = self.alive_rows = n
        self.forget_witnesses()
        if n:
            self._choose_table(rows, 0, 0)
        self._enter()

    def admit(self, cand: Rows, n: int) -> None:
        """Make the candidates that are not there pending."""
        if n == 0:
            return
        if self.size + n > MAX_ROWS:
            raise TooManyRows(self.name)
        self._reserve(self.size + n)
        self.pending = grown(self.pending, self.waiting, self.waiting + n)
        done = 0
        if self.size == 0:
            self._choose_table(cand, 0, n)
        while True:
            room = int(self.hashed.shape[0] * MAX_LOAD) - self.size
            done, self.size, self.waiting = kernels.admit_rows(
                cand,
                done,
                n,
                *self.table,
                max(room, 0),
                self.rows,
                self.size,
                self.dead,
                self.was,
                self.witness,
                self.pending,
                self.waiting,
            )
            if done == n:
                return
            self._choose_table(cand, done, n)

    def ensure(self, cand: Rows, n: int) -> Ints:
        """Return the row of each candidate; those that had none get one that is not there."""
        tuples = cand[:n]
        ids = self.find(tuples)
        missing = ids < 0
        if missing.any():
            before, waiting = self.size, self.waiting
            fresh = np.ascontiguousarray(tuples[missing][:, : self.arity])
            self.admit(fresh, fresh.shape[0])
            self.dead[before : self.size] = 1
            self.waiting = waiting
            ids = self.find(tuples)
        self._enter()  # also rows that a wave never reached
        return ids

    def _enter(self) -> None:
        self.mark = self.old = self.size
        for index in self.indexes.values():
            index.extend(self.rows, self.mark)

    def revive(self, ids: Ints) -> None:
        """Make dead rows pending."""
        self.pending = grown(self.pending, self.waiting, self.waiting + ids.shape[0])
        self.waiting = kernels.revive_rows(ids, self.dead, self.pending, self.waiting)

    def wave(self, rank: int = 0) -> Ints:
        """Let what is pending be seen, with ranks from `rank` on; return its rows.

        With a selector they are idle until `follow` says otherwise.
        """
        ids = self.pending[: self.waiting].copy()
        self.waiting = 0
        if ids.shape[0]:
            self.dead[ids] = 0
            if self.selector is not None:
                rank += int(kernels.IDLE)
            self.rows[ids, self.arity] = np.arange(rank, rank + ids.shape[0])
            self.sync(ids)
            self.alive_rows += ids.shape[0]
            self._enter()
        return ids

    def bury(self, rows: Ints) -> None:
        """Take rows that are there out."""
        self.dead[rows] = 1
        self.rows[rows, self.arity] = -1
        self.sync(rows)
        self.alive_rows -= rows.shape[0]

    def follow(self, ids: Ints) -> None:
        """Let the recursion see these rows, which were idle."""
        self.rows[ids, self.arity] &= ~kernels.IDLE
        self.sync(ids)

    def sync(self, ids: Ints) -> None:
        """Let the dense table know the ranks of these rows."""
        if self.dense.shape[0]:
            kernels.sync_ranks(ids, self.box.lo, self.box.stride, self.dense, self.rows)

    def sync_all(self) -> None:
        """Let the dense table know the ranks of all rows."""
        if self.dense.shape[0]:
            b = self.box
            kernels.fill_rows(
                self.rows, self.size, self.arity, b.lo, b.stride, self.dense, self.hashed, 0
            )

    def find_ranks(
        self, binding: Rows, n: int, key: tuple[Ints, Ints], at: Ints, out: Ints
    ) -> None:
        """Write the row and the rank of each tuple, given by slots and constants."""
        slots, consts = key
        if not self.dense.shape[0]:
            kernels.find_rows(binding, n, slots, consts, *self.table, self.rows, at)
        b = self.box
        kernels.find_ranks(
            binding, n, slots, consts, b.lo, b.span, b.stride, self.dense, self.rows, at, out
        )

    def ranks(self, ids: Ints) -> Ints:
        """Return the ranks of rows, followed or idle."""
        found: Ints = self.rows[ids, self.arity] & ~kernels.IDLE
        return found

    def keep_witnesses(self) -> None:
        """Know from now on which premise supports a tuple, once that was asked."""
        self.witness = np.full(self.rows.shape[0], kernels.UNKNOWN)

    def forget_witnesses(self) -> None:
        """Know no witness: the ranks are others now."""
        self.witness[: self.size] = kernels.UNKNOWN

    def living(self) -> Ints:
        """Return the rows that are there."""
        return np.flatnonzero(self.dead[: self.size] == 0)

    def changed(self) -> Delta:
        """Return what the transaction has done so far, by looking at all rows."""
        dead, was = self.dead[: self.size] != 0, self.was[: self.size] != 0
        return Delta(np.flatnonzero(~dead & was), np.flatnonzero(dead & ~was))

    def tuples_of(self, delta: Delta) -> tuple[Rows, Rows]:
        """Return the tuples that came and went."""
        return self.rows[delta.came], self.rows[delta.went]

    def parts_of(self, delta: Delta) -> tuple[list[Rows], list[Rows]]:
        """Return the same, in parts where they are held so."""
        came, went = self.tuples_of(delta)
        return [came], [went]

    def settle_all(self) -> None:
        """End the transaction for all rows."""
        self.was[: self.size] = self.dead[: self.size]

    def settle_rows(self, ids: Ints) -> None:
        """End the transaction for these rows: what is there now is what was there."""
        self.was[ids] = self.dead[ids]

    def compact(self) -> bool:
        """Drop the rows that are not there, when they are more than those that are."""
        if self.size - self.alive_rows <= max(self.alive_rows, COMPACT_FLOOR):
            return False
        kept = self.rows[: self.size][self.dead[: self.size] == 0]
        try:
            self._keep(kept)
        except BaseException:  # an interrupt: these rows are nowhere else by now
            self._keep(kept)
            raise
        return True

    def _keep(self, kept: Rows) -> None:
        """Hold these rows with their ranks, and no others."""
        self.adopt(np.ascontiguousarray(kept[:, : self.arity]), kept[:, self.arity])
        if self.selector is not None:
            idle = (kept[:, self.arity] & kernels.IDLE) != 0
            self.selector.restore(np.flatnonzero(~idle))

    @property
    def alive(self) -> int:
        return self.alive_rows

    @property
    def method(self) -> str:
        return "tuple → row table" if self.dense.shape[0] else "hashed tuples"

    def live_rows(self) -> Rows:
        """Return the tuples that are there, without ranks."""
        rows: Rows = self.rows[: self.size, : self.arity]
        if self.alive_rows < self.size:
            rows = rows[self.dead[: self.size] == 0]
        return rows

    def index(self, columns: tuple[int, ...]) -> Index:
        """Return the index on these columns."""
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = Index(columns)
        found.extend(self.rows, self.mark)
        return found

    # ── room ──

    def _reserve(self, need: int) -> None:
        if need > self.rows.shape[0]:
            self.rows = grown(self.rows, self.size, need)
        for name in ("dead", "was", "witness"):
            array = getattr(self, name)
            if name == "witness" and not array.shape[0]:
                continue
            if need > array.shape[0]:
                setattr(self, name, grown(array, self.size, need))

    def _choose_table(self, cand: Rows, begin: int, end: int) -> None:
        """Pick a table for all rows and these candidates, with headroom where the range grew."""
        k = self.arity
        first = cand[begin] if self.size == 0 else self.rows[0]
        lo, hi = first[:k].copy(), first[:k].copy()
        if self.size and self.dense.shape[0]:
            lo, hi = self.box.lo.copy(), self.box.lo + (self.box.span - 1)
        elif self.size:
            known = self.rows[: self.size, :k]
            lo, hi = known.min(axis=0), known.max(axis=0)
        elif self.hint is not None:
            lo, hi = np.minimum(lo, self.hint[0]), np.maximum(hi, self.hint[1])
        if end > begin:
            before = lo.copy(), hi.copy()
            bounds(np.ascontiguousarray(cand[:, :k]), begin, end, lo, hi)
            if self.dense.shape[0]:
                lo, hi = with_headroom(before, (lo, hi))
        box = Box.around(lo, hi, self.pivot)
        room = max(1024, 2 * self.size, self.size + end - begin)
        if box.volume <= max(_DENSE_FLOOR, _DENSE_PER_ROW * room):
            self.box = box
            self.dense, self.hashed = reserve((box.volume, 2), np.int64), NONE
            advise_huge(self.dense)
        else:
            bits = table_bits(room)
            self.dense, self.hashed = _NO_CELLS, reserve(1 << bits, np.int64)
            self.shift = 64 - bits
            advise_huge(self.hashed)
        kernels.fill_rows(
            self.rows,
            self.size,
            k,
            self.box.lo,
            self.box.stride,
            self.dense,
            self.hashed,
            self.shift,
        )


def replace_rows(relation: LiveRelation, gone: Rows | None, new: Rows | None) -> Delta:
    """Delete, then insert; return the net change."""
    removed = NONE
    if gone is not None:
        found = relation.find(gone)
        found = np.unique(found[found >= 0])
        removed = found[relation.dead[found] == 0]
        relation.bury(removed)
    came = NONE
    if new is not None:
        relation.admit(new, new.shape[0])
        ids = relation.wave()
        came = ids[relation.was[ids] != 0]
        removed = removed[relation.dead[removed] != 0]
    return Delta(came, removed)
