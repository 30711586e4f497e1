"""Searches for what is reached at all: a parent for each state, and no values."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.engine.local.changes import Buffers
from whence.engine.local.kernels.hashing import Ints
from whence.engine.local.kernels.reach import repair_reach, stirred_reach
from whence.engine.local.searches import Searches


class Reach(Searches):
    """A relation of what steps reach from seeds."""

    values = 0

    def scratch(self) -> Any:
        m = self.states.size
        marks = np.zeros(m, dtype=np.uint8)
        return (marks, *(np.empty(m, dtype=np.int32) for _ in range(2)))

    def stirred(self, new: Ints, gone: Ints, found: Ints) -> int:
        n, parent, changed = self.pivots.size, self.parent, self.changed
        return stirred_reach(n, parent, self.src, self.dst, gone, new, changed, found)

    def repair(
        self, order: Ints, at: int, new: Ints, gone: Ints, scratch: Any, out: Buffers
    ) -> int:
        search, (mark, touched, queue) = self.search, scratch
        at, out.nc, out.nw = repair_reach(
            order,
            at,
            order.shape[0],
            self.parent,
            self.out,
            self.nout,
            self.inn,
            self.nin,
            self.src,
            self.dst,
            self.steps.live,
            gone,
            new,
            self.first_seed,
            self.following,
            self.seed_state,
            self.seeds.live,
            self.changed,
            mark,
            touched,
            queue,
            self.pivots.rows,
            np.array(search.pivot, dtype=np.int64),
            self.states.rows[: self.states.size],
            np.array(search.state, dtype=np.int64),
            out.came,
            out.nc,
            out.went,
            out.nw,
            out.work,
        )
        return at
