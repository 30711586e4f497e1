"""Searches that are kept current: values and parents of all states, as steps and seeds change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import advise_huge, grown, reserve
from whence.engine.local.dictionary import Dictionary
from whence.engine.local.guard import Guard
from whence.engine.local.kernels import repair as kernels
from whence.engine.local.kernels.hashing import Flags, Ints, Rows, Small
from whence.engine.local.kernels.search import SAMPLE, WAYS
from whence.engine.local.parallel import together
from whence.plan.nodes import Combine, Search
from whence.syntax.nodes import Kind

MOST_CELLS = 1 << 27
"""Values that are kept for all searches together, at most."""

_SHARES = 8
"""Parts per thread into which the searches are cut."""

_WORTH_A_THREAD = 256
"""Searches for which a thread of its own pays."""

_ROOM, _MOST_ROOM = 1 << 14, 1 << 18
"""Rows that a thread has room for at first, and later, before it hands them over."""

Numbers = NDArray[Any]


class Unsuited(Exception):
    """The numbers are not such that a search can be kept current, or there are too many states."""


class _Numbered:
    """Rows with a number each, that are there or not; columns of numbers beside them."""

    def __init__(self, width: int) -> None:
        self.rows = Dictionary(width)
        self.live: Flags = np.zeros(16, dtype=np.uint8)

    @property
    def size(self) -> int:
        return self.rows.size

    def number(self, rows: Rows) -> Ints:
        numbers = self.rows.encode(np.ascontiguousarray(rows))
        before = self.live.shape[0]
        if self.size > before:
            self.live = grown(self.live, before, self.size)
            self.live[before:] = 0
        return numbers


class Searches:
    """All searches of one recursion, one for each value of its pivot columns."""

    def __init__(
        self, search: Search, guard: Guard, threads: int, pool: ThreadPoolExecutor | None
    ) -> None:
        self._search = search
        self._guard = guard
        self._threads = threads if pool is not None else 1
        self._pool = pool
        width, carried = len(search.state), len(search.pivot)
        self._number = np.float64 if search.keyed.kind is Kind.FLOAT else np.int64
        self._pivots = Dictionary(carried)
        self._states = Dictionary(width)
        self._steps = _Numbered(2 * width + 1)
        self._seeds = _Numbered(carried + width + 1)
        self._src, self._dst, self._nout, self._nin = (_small(16) for _ in range(4))
        self._weight: Numbers = np.zeros(16, dtype=self._number)
        self._out, self._in = _small(16), _small(16)
        self._seed_pivot, self._seed_state, self._following = (_small(16) for _ in range(3))
        self._seed_value: Numbers = np.zeros(16, dtype=self._number)
        self._first_seed = _small(16)
        self._value: Numbers = np.zeros((0, 0), dtype=self._number)
        self._parent: Small = np.zeros((0, 0), dtype=np.int32)
        self._changed: Flags = np.zeros(16, dtype=np.uint8)
        self.alive = 0
        self.work: Ints = np.zeros(2, dtype=np.int64)
        self._lock = threading.Lock()

    def apply(
        self, steps: tuple[Rows, Rows], seeds: tuple[Rows, Rows]
    ) -> tuple[list[Rows], list[Rows]]:
        """Take in what came and went of steps and seeds; return the rows that came and went.

        Rows of steps are the state left, the state reached and the weight; those of seeds are
        rows of the relation itself.
        """
        self._check(steps[0][:, -1], seeds[0][:, self._search.keyed.value])
        new, gone = self._enter_steps(*steps)
        all_searches = bool(new.shape[0] or gone.shape[0])
        touched = self._enter_seeds(*seeds)
        self._reserve()
        self.work[:] = 0
        found = self._repair(new, gone, None if all_searches else touched)
        self._changed[touched] = 0
        return found

    def again(
        self, steps: tuple[Rows, Rows], seeds: tuple[Rows, Rows]
    ) -> tuple[list[Rows], list[Rows]]:
        """The same by searching from all seeds, and comparing."""
        self._check(steps[0][:, -1], seeds[0][:, self._search.keyed.value])
        self._enter_steps(*steps)
        self._enter_seeds(*seeds)
        self._reserve()
        self.work[:] = 0
        value, there, alive = self._value.copy(), self._parent != kernels.NO_PARENT, self.alive
        self._parent[:] = kernels.NO_PARENT
        self._changed[:] = 1
        none: Ints = np.zeros(0, dtype=np.int64)
        self._repair(none, none, None)
        self._changed[:] = 0
        self.alive -= alive
        self._guard.tuples -= alive
        now = self._parent != kernels.NO_PARENT
        same = there & now & (value == self._value)
        return [self._rows(now & ~same, self._value)], [self._rows(there & ~same, value)]

    def rows(self) -> Rows:
        """Return all rows."""
        return self._rows(self._parent != kernels.NO_PARENT, self._value)

    def _rows(self, chosen: NDArray[np.bool_], value: Numbers) -> Rows:
        at, state = np.nonzero(chosen)
        out = np.empty((at.shape[0], self._width), dtype=np.int64)
        out[:, self._search.pivot] = self._pivots.rows[at]
        out[:, self._search.state] = self._states.rows[state]
        out[:, self._search.keyed.value] = value[at, state].view(np.int64)
        return out

    @property
    def _width(self) -> int:
        return len(self._search.keyed.key) + 1

    # ── what changes ──

    def _check(self, *columns: Ints) -> None:
        """Refuse numbers with which some way round could be better than none."""
        combine, greatest = self._search.combine, self._search.keyed.greatest
        for place, codes in enumerate(columns):
            numbers = np.ascontiguousarray(codes).view(self._number)
            if not numbers.shape[0]:
                continue
            low, high = numbers.min(), numbers.max()
            if not (np.isfinite(low) and np.isfinite(high)) and combine in (
                Combine.SUM,
                Combine.PRODUCT,
                Combine.BOUNDED,
            ):
                raise Unsuited
            if low != low or high != high:
                raise Unsuited
            step = place == 0
            match combine:
                case Combine.SUM:
                    suits = not step or (high <= 0 if greatest else low >= 0)
                case Combine.PRODUCT:
                    suits = low >= 0 and (not step or (high <= 1 if greatest else low >= 1))
                case Combine.BOUNDED:
                    suits = greatest and (not step or high <= 1)
                case Combine.LEAST:
                    suits = greatest
                case Combine.GREATEST:
                    suits = not greatest
            if not suits:
                raise Unsuited

    def _enter_steps(self, came: Rows, went: Rows) -> tuple[Ints, Ints]:
        width = len(self._search.state)
        before = self._steps.size
        gone, new = self._steps.number(went), self._steps.number(came)
        after = self._steps.size
        if after > before:
            fresh = self._steps.rows.rows[before:after]
            for name in ("_src", "_dst", "_nout", "_nin", "_weight"):
                setattr(self, name, grown(getattr(self, name), before, after))
            self._src[before:after] = self._state_numbers(fresh[:, :width])
            self._dst[before:after] = self._state_numbers(fresh[:, width : 2 * width])
            weights = np.ascontiguousarray(fresh[:, 2 * width])
            self._weight[before:after] = weights.view(self._number)
            kernels.link_steps(
                before, after, self._src, self._dst, self._out, self._nout, self._in, self._nin
            )
        self._steps.live[gone] = 0
        self._steps.live[new] = 1
        return new, gone

    def _enter_seeds(self, came: Rows, went: Rows) -> Ints:
        search = self._search
        order = [*search.pivot, *search.state, search.keyed.value]
        before = self._seeds.size
        gone, new = self._seeds.number(went[:, order]), self._seeds.number(came[:, order])
        after = self._seeds.size
        if after > before:
            carried, width = len(search.pivot), len(search.state)
            fresh = self._seeds.rows.rows[before:after]
            for name in ("_seed_pivot", "_seed_state", "_following", "_seed_value"):
                setattr(self, name, grown(getattr(self, name), before, after))
            self._seed_pivot[before:after] = self._pivot_numbers(fresh[:, :carried])
            self._seed_state[before:after] = self._state_numbers(
                fresh[:, carried : carried + width]
            )
            values = np.ascontiguousarray(fresh[:, -1])
            self._seed_value[before:after] = values.view(self._number)
            kernels.link_seeds(before, after, self._seed_pivot, self._first_seed, self._following)
        self._seeds.live[gone] = 0
        self._seeds.live[new] = 1
        touched = np.unique(self._seed_pivot[np.concatenate([gone, new])]).astype(np.int64)
        self._changed[touched] = 1
        return touched

    def _state_numbers(self, rows: Rows) -> Ints:
        before = self._states.size
        numbers = self._states.encode(np.ascontiguousarray(rows))
        after = self._states.size
        for name in ("_out", "_in"):
            setattr(self, name, _with_ends(getattr(self, name), before, after))
        return numbers

    def _pivot_numbers(self, rows: Rows) -> Ints:
        if not self._search.pivot:
            self._pivots.size = 1
            numbers: Ints = np.zeros(rows.shape[0], dtype=np.int64)
            before = 0
        else:
            before = self._pivots.size
            numbers = self._pivots.encode(np.ascontiguousarray(rows))
        self._first_seed = _with_ends(self._first_seed, before, self._pivots.size)
        have = self._changed.shape[0]
        if self._pivots.size > have:
            self._changed = grown(self._changed, have, self._pivots.size)
            self._changed[have:] = 0
        return numbers

    def _reserve(self) -> None:
        """Make room for a value of every state in every search."""
        n, m = self._pivots.size, self._states.size
        have_n, have_m = self._value.shape
        if n <= have_n and m <= have_m:
            return
        wide = m if have_m == 0 else max(have_m, m + m // 4 if m > have_m else 0)
        long = n if have_n == 0 else max(have_n, n + n // 4 if n > have_n else 0)
        if wide * long > MOST_CELLS:
            raise Unsuited
        value, parent = reserve((long, wide), self._number), reserve((long, wide), np.int32)
        advise_huge(value)
        advise_huge(parent)
        value[:have_n, :have_m] = self._value
        parent[:have_n, :have_m] = self._parent
        self._value, self._parent = value, parent

    # ── repairing ──

    def _repair(self, new: Ints, gone: Ints, touched: Ints | None) -> tuple[list[Rows], list[Rows]]:
        came: list[Rows] = []
        went: list[Rows] = []
        n = self._pivots.size
        if touched is None:
            workers = max(1, min(self._threads, n // _WORTH_A_THREAD))
            shares = workers * _SHARES if workers > 1 else 1
            cuts = [n * i // shares for i in range(shares + 1)]
            ticket: Iterator[tuple[int, int]] = pairwise(cuts)
        else:
            workers = 1
            ticket = iter([(int(p), int(p) + 1) for p in touched])
        tasks = [partial(self._work, ticket, new, gone, came, went) for _ in range(workers)]
        if workers > 1:
            assert self._pool is not None
            together(self._pool, self._guard, tasks)
        else:
            tasks[0]()
        self.alive += sum(r.shape[0] for r in came) - sum(r.shape[0] for r in went)
        return came, went

    def _work(
        self,
        ticket: Iterator[tuple[int, int]],
        new: Ints,
        gone: Ints,
        came: list[Rows],
        went: list[Rows],
    ) -> None:
        search, m = self._search, self._states.size
        mark, flag = np.zeros(m, dtype=np.uint8), np.zeros(m, dtype=np.uint8)
        old, sample = np.empty(m, dtype=self._number), np.empty(SAMPLE, dtype=self._number)
        touched, far = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
        near = np.empty(1 << m.bit_length(), dtype=np.int32)
        room = max(_ROOM, 2 * m)
        here, there = self._buffers(room)
        nc = nw = 0
        pivot, state = (np.array(c, dtype=np.int64) for c in (search.pivot, search.state))
        work = np.zeros(2, dtype=np.int64)
        while True:
            with self._lock:
                share = next(ticket, None)
            if share is None:
                break
            at, end = share
            while at < end:
                at, nc, nw = kernels.repair(
                    at,
                    end,
                    self._value,
                    self._parent,
                    self._out,
                    self._nout,
                    self._in,
                    self._nin,
                    self._src,
                    self._dst,
                    self._weight,
                    self._steps.live,
                    gone,
                    new,
                    self._first_seed,
                    self._following,
                    self._seed_state,
                    self._seed_value,
                    self._seeds.live,
                    self._changed,
                    WAYS[search.combine],
                    search.keyed.greatest,
                    mark,
                    flag,
                    old,
                    touched,
                    near,
                    far,
                    sample,
                    self._pivots.rows,
                    pivot,
                    self._states.rows[:m],
                    state,
                    search.keyed.value,
                    here[0],
                    here[1],
                    nc,
                    there[0],
                    there[1],
                    nw,
                    work,
                )
                if at < end:  # no room is left: hand over, and go on with more
                    self._hand_over(here[0][:nc], there[0][:nw], came, went, work)
                    room = min(2 * room, _MOST_ROOM + m)
                    here, there = self._buffers(room)
                    nc = nw = 0
        self._hand_over(here[0][:nc], there[0][:nw], came, went, work)

    def _buffers(self, room: int) -> tuple[tuple[Rows, Numbers], tuple[Rows, Numbers]]:
        here, there = (np.empty((room, self._width), dtype=np.int64) for _ in range(2))
        return (here, here.view(self._number)), (there, there.view(self._number))

    def _hand_over(
        self, new: Rows, gone: Rows, came: list[Rows], went: list[Rows], work: Ints
    ) -> None:
        with self._lock:
            if new.shape[0]:
                came.append(new)
            if gone.shape[0]:
                went.append(gone)
            self._guard.tuples += new.shape[0] - gone.shape[0]
            self._guard.work += int(work[1])
            self.work += work
            work[:] = 0
        self._guard.check()


def _small(size: int) -> Small:
    return np.full(size, -1, dtype=np.int32)


def _with_ends(heads: Small, before: int, after: int) -> Small:
    """Return the heads of lists with room for those that are new, which are empty."""
    if after > heads.shape[0]:
        have = heads.shape[0]
        heads = grown(heads, have, after)
        heads[have:] = -1
    return heads
