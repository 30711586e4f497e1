"""Relations of a task's share: a bitmap over the values that it owns, and an outbox that sends.

Of a column by whose values a relation is spread, a task meets one value in `tasks`. In the bitmap
these are numbered as they come, so that it takes the share of the memory that the tuples do.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.buffers import advise_huge, reserve
from whence.engine.local.kernels.hashing import Ints, Rows, Small, Words
from whence.engine.local.kernels.routing import fill_share, insert_share
from whence.engine.local.membership import Box, Membership, bitmap_bytes
from whence.engine.local.relation import Relation
from whence.engine.spark.gang.routes import Route
from whence.engine.spark.model import EVERYWHERE

_RANKED_VALUES = 1 << 24
"""A wider range of values has no table of their ranks."""


class ShareBitmap:
    """A bitmap in which the values of one column are numbered as they come."""

    name = "bitmap of a share"

    def __init__(self, box: Box, column: int, inner: Box) -> None:
        self.box = box
        self._column = column
        self._inner = inner
        self._ranks: Small = np.zeros(int(box.span[column]), dtype=np.int32)
        self._ranked = 0
        self._bits: Words = reserve(inner.volume // 64 + 1, np.uint64)
        advise_huge(self._bits)

    @property
    def full(self) -> bool:
        """Whether no further value can get a number."""
        return self._ranked == int(self._inner.span[self._column])

    @property
    def bytes(self) -> int:
        """How much the bits take."""
        return int(self._bits.nbytes)

    def fill(self, rows: Rows, size: int) -> None:
        """Enter rows that lie in the box."""
        b = self._inner
        self._ranked = fill_share(
            rows, size, self._column, self._ranks, self._ranked, b.lo, b.stride, self._bits
        )

    def insert(self, cand: Rows, begin: int, end: int, rows: Rows, size: int) -> tuple[int, int]:
        b = self._inner
        done, size, self._ranked = insert_share(
            cand,
            begin,
            end,
            self._column,
            self._ranks,
            self._ranked,
            b.lo,
            b.span,
            b.stride,
            self._bits,
            rows,
            size,
        )
        return done, size

    def unseen(self, cand: Rows, n: int, out: Rows) -> int:
        # A task has one thread, so nobody looks before inserting.
        out[:n] = cand[:n]
        return n


class ShareRelation(Relation):
    """A relation of which this task has the tuples whose values in one column it owns."""

    __slots__ = ("_column", "_tasks")

    def __init__(
        self, name: str, arity: int, hint: tuple[Ints, Ints] | None, column: int, tasks: int
    ) -> None:
        super().__init__(name, arity, hint)
        self._column = column
        self._tasks = tasks

    def _check(self, box: Box, room: int) -> Membership:
        before, values = self.check, int(box.span[self._column])
        part = values // self._tasks
        if isinstance(before, ShareBitmap) and before.full:  # an unlucky share: take them all
            part = values
        ranks = min(values, part + part // 4 + 64)
        if ranks < values <= _RANKED_VALUES:
            hi = box.lo + (box.span - 1)
            hi[self._column] = box.lo[self._column] + ranks - 1
            inner = Box.around(box.lo, hi)
            if inner.volume // 8 <= bitmap_bytes(room):
                found = ShareBitmap(box, self._column, inner)
                found.fill(self.rows, self.size)
                return found
        return super()._check(box, room)


class Outbox(Relation):
    """What rules derive for other tasks; what belongs here goes to its home at once.

    `sent` remembers what has been sent: a tuple is sent once. A home that is everywhere has all of
    it, so that nothing is remembered twice.
    """

    __slots__ = ("home", "route", "sent")

    def __init__(self, name: str, route: Route, home: Relation, sent: Relation) -> None:
        super().__init__(name, home.arity)
        self.route = route
        self.home = home
        self.sent = sent

    @property
    def everywhere(self) -> bool:
        """Whether every task has a home of every tuple."""
        return self.route.placement is EVERYWHERE

    def insert(self, cand: Rows, n: int) -> int:
        """Take in candidates; return how many are new here."""
        own, mine, foreign, others = self.route.split(cand, n)
        if others:
            self.sent.insert(foreign, others)
        return self.home.insert(own, mine) if mine else 0

    def append(self, cand: Rows, n: int) -> int:
        """Take in candidates: what is new for this rule may have come from a peer."""
        return self.insert(cand, n)
