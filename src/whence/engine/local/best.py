"""Searches for the best value of each state, which a step makes of the value it starts from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import advise_huge, grown, reserve
from whence.engine.local.changes import Buffers
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.kernels.repair import repair, stirred
from whence.engine.local.kernels.search import SAMPLE, WAYS
from whence.engine.local.searches import Numbers, Searches, Unsuited
from whence.plan.nodes import Combine, Keyed, Search
from whence.syntax.nodes import Kind

_MOST = 1 << 62
"""Whole numbers stay below, so that their sums and products do not wrap round."""


class Best(Searches):
    """A relation that keeps the best value of each state that steps reach from seeds."""

    values = 1

    def __init__(
        self, search: Search, guard: Guard, threads: int, pool: ThreadPoolExecutor | None
    ) -> None:
        assert search.keyed is not None
        self._keyed: Keyed = search.keyed
        self._number = np.float64 if self._keyed.kind is Kind.FLOAT else np.int64
        self.weight: Numbers = np.zeros(16, dtype=self._number)
        self.seed_value: Numbers = np.zeros(16, dtype=self._number)
        self.value: Numbers = np.zeros((0, 0), dtype=self._number)
        self._largest = [0, 0]
        super().__init__(search, guard, threads, pool)

    @property
    def order(self) -> list[int]:
        return [*super().order, self._keyed.value]

    def check(self, steps: Rows, seeds: Rows) -> None:
        """Refuse numbers with which some way round could be better than none."""
        combine, greatest = self.search.combine, self._keyed.greatest
        for codes in (steps[:, -1], seeds[:, self._keyed.value]):
            numbers = np.ascontiguousarray(codes).view(self._number)
            if not numbers.shape[0]:
                continue
            low, high = numbers.min(), numbers.max()
            computes = combine in (Combine.SUM, Combine.PRODUCT, Combine.BOUNDED)
            infinite = not (np.isfinite(low) and np.isfinite(high))
            if low != low or high != high or (computes and infinite):
                raise Unsuited(self.search.relation)
            if combine is Combine.PRODUCT and low < 0:
                raise Unsuited(self.search.relation)
        weights = np.ascontiguousarray(steps[:, -1]).view(self._number)
        if not weights.shape[0]:
            return
        low, high = weights.min(), weights.max()
        match combine:
            case Combine.SUM:
                suits = high <= 0 if greatest else low >= 0
            case Combine.PRODUCT:
                suits = high <= 1 if greatest else low >= 1
            case Combine.BOUNDED:
                suits = False  # a + 1 - 1 is rounded, and may be better than a
            case Combine.LEAST:
                suits = greatest
            case Combine.GREATEST:
                suits = not greatest
        if not suits:
            raise Unsuited(self.search.relation)

    def check_sizes(self) -> None:
        """Refuse whole numbers whose sums or products may wrap round, and be better then."""
        if self._keyed.kind is Kind.FLOAT:
            return
        step, seed = self._largest
        if self.search.combine is Combine.SUM:
            fits = seed + step * self.states.size < _MOST
        elif self.search.combine is Combine.PRODUCT:
            bits = seed.bit_length() + step.bit_length() * self.states.size
            fits = step <= 1 or seed == 0 or bits < _MOST.bit_length()
        else:
            fits = True
        if not fits:
            raise Unsuited(self.search.relation)

    def enter_steps(self, first: int, last: int) -> None:
        codes = np.ascontiguousarray(self.steps.rows.rows[first:last, -1])
        self.weight = grown(self.weight, first, last)
        self.weight[first:last] = codes.view(self._number)
        self._largest[0] = max(self._largest[0], _largest(codes))

    def enter_seeds(self, first: int, last: int) -> None:
        codes = np.ascontiguousarray(self.seeds.rows.rows[first:last, -1])
        self.seed_value = grown(self.seed_value, first, last)
        self.seed_value[first:last] = codes.view(self._number)
        self._largest[1] = max(self._largest[1], _largest(codes))

    def widen(self, before: tuple[int, int], long: int, wide: int) -> None:
        value = reserve((long, wide), self._number)
        advise_huge(value)
        value[: before[0], : before[1]] = self.value
        self.value = value

    def fill(self, rows: Rows, at: Ints, state: Ints) -> None:
        rows[:, self._keyed.value] = self.value[at, state].view(np.int64)

    def keep(self) -> Numbers:
        return self.value.copy()

    def same(self, kept: Numbers) -> NDArray[np.bool_]:
        return np.asarray(kept == self.value)

    def kept_rows(self, kept: Numbers, at: Ints, state: Ints) -> Rows:
        rows = self.rows_at(at, state)
        rows[:, self._keyed.value] = kept[at, state].view(np.int64)
        return rows

    def scratch(self) -> Any:
        m = self.states.size
        mark, flag = np.zeros(m, dtype=np.uint8), np.zeros(m, dtype=np.uint8)
        old, sample = np.empty(m, dtype=self._number), np.empty(SAMPLE, dtype=self._number)
        touched, far = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
        near = np.empty(1 << m.bit_length(), dtype=np.int32)
        return mark, flag, old, touched, near, far, sample

    def stirred(self, new: Ints, gone: Ints, found: Ints) -> int:
        return stirred(
            self.pivots.size,
            self.value,
            self.parent,
            self.src,
            self.dst,
            self.weight,
            gone,
            new,
            self.changed,
            WAYS[self.search.combine],
            self._keyed.greatest,
            found,
        )

    def repair(
        self, order: Ints, at: int, new: Ints, gone: Ints, scratch: Any, out: Buffers
    ) -> int:
        search, (mark, flag, old, touched, near, far, sample) = self.search, scratch
        at, out.nc, out.nw = repair(
            order,
            at,
            order.shape[0],
            self.value,
            self.parent,
            self.out,
            self.nout,
            self.inn,
            self.nin,
            self.src,
            self.dst,
            self.weight,
            self.steps.live,
            gone,
            new,
            self.first_seed,
            self.following,
            self.seed_state,
            self.seed_value,
            self.seeds.live,
            self.changed,
            WAYS[search.combine],
            self._keyed.greatest,
            mark,
            flag,
            old,
            touched,
            near,
            far,
            sample,
            self.pivots.rows,
            np.array(search.pivot, dtype=np.int64),
            self.states.rows[: self.states.size],
            np.array(search.state, dtype=np.int64),
            self._keyed.value,
            out.came,
            out.came.view(self._number),
            out.nc,
            out.went,
            out.went.view(self._number),
            out.nw,
            out.work,
        )
        return at


def _largest(numbers: Ints) -> int:
    """Return the largest of the numbers, without sign."""
    return max(abs(int(numbers.min())), abs(int(numbers.max())))
