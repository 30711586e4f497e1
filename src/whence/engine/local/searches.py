"""Searches that are kept current: the parents of all states, as steps and seeds change.

`Searches` holds the steps between states and the seeds of each search, in lists that kernels
follow; `reach.py` and `best.py` repair what hangs on them, without values and with them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import advise_huge, grown, reserve
from whence.engine.local.changes import Buffers
from whence.engine.local.dictionary import Dictionary
from whence.engine.local.guard import Guard
from whence.engine.local.kernels import repair as kernels
from whence.engine.local.kernels.hashing import Flags, Ints, Rows, Small
from whence.engine.local.parallel import together
from whence.plan.nodes import Search

MOST_CELLS = 1 << 27
"""Parents that are kept for all searches together, at most."""

FEW_CELLS = 1 << 22
SPARSE = 16
"""Beyond so many, one of so many must be reached: else it is quicker to go by what is there."""

_SAMPLE = 64
"""Searches that are made first, to see how much they reach."""

_SHARES = 3
"""Parts per thread into which the searches are cut."""

_WORTH_A_THREAD = 256
"""Searches for which a thread of its own pays."""

_WORTH_THREADS = 8_000
"""States to be touched for which threads pay."""

Numbers = NDArray[Any]
Changed = tuple[list[Rows], list[Rows]]
"""Rows that came, and rows that went; their columns lie together."""

_NO_STEPS: Ints = np.zeros(0, dtype=np.int64)


class Unsuited(Exception):
    """The numbers are not such that a search can be kept current, or there are too many states."""

    def __init__(self, relation: str) -> None:
        super().__init__(relation)
        self.relation = relation


class Numbered:
    """Rows with a number each, that are there or not."""

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

    values: int
    """Columns of steps, and of seeds, behind their states."""

    def __init__(
        self, search: Search, guard: Guard, threads: int, pool: ThreadPoolExecutor | None
    ) -> None:
        self.search = search
        self._guard = guard
        self._threads = threads if pool is not None else 1
        self._pool = pool
        width, carried = len(search.state), len(search.pivot)
        self.pivots, self.states = Dictionary(carried), Dictionary(width)
        self.steps = Numbered(2 * width + self.values)
        self.seeds = Numbered(carried + width + self.values)
        self.src, self.dst, self.nout, self.nin = (_small(16) for _ in range(4))
        self.out, self.inn = _small(16), _small(16)
        self.seed_pivot, self.seed_state, self.following = (_small(16) for _ in range(3))
        self.first_seed = _small(16)
        self.parent: Small = np.zeros((0, 0), dtype=np.int32)
        self.changed: Flags = np.zeros(16, dtype=np.uint8)
        self.alive = 0
        self.work: Ints = np.zeros(2, dtype=np.int64)
        self._per_change = 0.0
        self._lock = threading.Lock()
        self._spare: list[tuple[int, Any, Buffers]] = []

    @property
    def width(self) -> int:
        """How many columns the relation has."""
        return len(self.search.pivot) + len(self.search.state) + self.values

    # ── what kind of search it is ──

    def stirred(self, new: Ints, gone: Ints, found: Ints) -> int:
        """Write down the searches that changed steps and seeds touch; return how many they are."""
        raise NotImplementedError

    def repair(
        self, order: Ints, at: int, new: Ints, gone: Ints, scratch: Any, out: Buffers
    ) -> int:
        """Repair these searches from `at` on, and return where it stopped for want of room."""
        raise NotImplementedError

    def scratch(self) -> Any:
        """Return what a thread needs to repair searches."""
        raise NotImplementedError

    @property
    def order(self) -> list[int]:
        """The columns of the relation as seeds have them."""
        return [*self.search.pivot, *self.search.state]

    def check(self, steps: Rows, seeds: Rows) -> None:
        """Refuse steps and seeds with which searches cannot be kept current."""

    def check_sizes(self) -> None:
        """The same once it is known how many states there are."""

    def enter_steps(self, first: int, last: int) -> None:
        """Take in what new steps have behind their states."""

    def enter_seeds(self, first: int, last: int) -> None:
        """Take in what new seeds have behind their states."""

    def widen(self, before: tuple[int, int], long: int, wide: int) -> None:
        """Make room for what is kept beside parents."""

    def fill(self, rows: Rows, at: Ints, state: Ints) -> None:
        """Write what rows have behind their states."""

    def keep(self) -> Any:
        """Return what is needed to know later which states were better or worse."""

    def same(self, kept: Any) -> NDArray[np.bool_] | bool:
        """Say which of the states that were reached and are reached are as good as before."""
        return True

    def kept_rows(self, kept: Any, at: Ints, state: Ints) -> Rows:
        """Return rows as they were when something was kept."""
        return self.rows_at(at, state)

    # ── changes ──

    def begin(self, steps: Rows, seeds: Rows) -> list[Rows]:
        """Take the first steps and seeds; return all rows."""
        self._enter(steps, steps[:0], seeds, seeds[:0])
        n, came = self.pivots.size, list[Rows]()
        cells = n * self.states.size
        if cells > FEW_CELLS and n > _SAMPLE:
            chosen = np.linspace(0, n - 1, _SAMPLE).astype(np.int64)
            came, _ = self._repair(_NO_STEPS, _NO_STEPS, chosen)
            if self.alive * SPARSE < _SAMPLE * self.states.size:
                raise Unsuited(self.search.relation)
            self.changed[chosen] = 0
        more, _ = self._repair(_NO_STEPS, _NO_STEPS, None)
        self.changed[:n] = 0
        return came + more

    def apply(self, steps: tuple[Rows, Rows], seeds: tuple[Rows, Rows]) -> Changed:
        """Take in what came and went of steps and seeds; return the rows that came and went.

        Rows of steps are the state left, the state reached, and what is behind; those of seeds
        are rows of the relation itself.
        """
        new, gone, touched = self._enter(*steps, *seeds)
        any_step = bool(new.shape[0] or gone.shape[0])
        found = self._repair(new, gone, None if any_step else touched)
        self.changed[touched] = 0
        changes = max(1, new.shape[0] + gone.shape[0])
        self._per_change = (self._per_change + float(self.work[1]) / changes) / 2
        return found

    def again(self, steps: tuple[Rows, Rows], seeds: tuple[Rows, Rows]) -> Changed:
        """The same by searching from all seeds, and comparing."""
        self._enter(*steps, *seeds)
        kept, there = self.keep(), self.parent != kernels.NO_PARENT
        self.parent[:] = kernels.NO_PARENT
        self._guard.tuples -= self.alive
        self.alive = 0
        self.changed[: self.pivots.size] = 1
        self._repair(_NO_STEPS, _NO_STEPS, None)
        self.changed[: self.pivots.size] = 0
        now = self.parent != kernels.NO_PARENT
        same = there & now & self.same(kept)
        came = self.rows_at(*np.nonzero(now & ~same))
        return [came], [self.kept_rows(kept, *np.nonzero(there & ~same))]

    def _enter(
        self, new_steps: Rows, gone_steps: Rows, new_seeds: Rows, gone_seeds: Rows
    ) -> tuple[Ints, Ints, Ints]:
        self.check(new_steps, new_seeds)
        new, gone = self._enter_steps(new_steps, gone_steps)
        touched = self._enter_seeds(new_seeds, gone_seeds)
        self.check_sizes()
        self._reserve()
        self.work[:] = 0
        return new, gone, touched

    def _enter_steps(self, came: Rows, went: Rows) -> tuple[Ints, Ints]:
        width = len(self.search.state)
        before = self.steps.size
        gone, new = self.steps.number(went), self.steps.number(came)
        after = self.steps.size
        if after > before:
            fresh = self.steps.rows.rows[before:after]
            for name in ("src", "dst", "nout", "nin"):
                setattr(self, name, grown(getattr(self, name), before, after))
            self.src[before:after] = self._state_numbers(fresh[:, :width])
            self.dst[before:after] = self._state_numbers(fresh[:, width : 2 * width])
            self.enter_steps(before, after)
            kernels.link_steps(
                before, after, self.src, self.dst, self.out, self.nout, self.inn, self.nin
            )
        self.steps.live[gone] = 0
        self.steps.live[new] = 1
        return new, gone

    def _enter_seeds(self, came: Rows, went: Rows) -> Ints:
        if not came.shape[0] and not went.shape[0]:
            return _NO_STEPS
        carried, width = len(self.search.pivot), len(self.search.state)
        order, before = self.order, self.seeds.size
        gone, new = self.seeds.number(went[:, order]), self.seeds.number(came[:, order])
        after = self.seeds.size
        if after > before:
            fresh = self.seeds.rows.rows[before:after]
            for name in ("seed_pivot", "seed_state", "following"):
                setattr(self, name, grown(getattr(self, name), before, after))
            self.seed_pivot[before:after] = self._pivot_numbers(fresh[:, :carried])
            self.seed_state[before:after] = self._state_numbers(fresh[:, carried : carried + width])
            self.enter_seeds(before, after)
            kernels.link_seeds(before, after, self.seed_pivot, self.first_seed, self.following)
        self.seeds.live[gone] = 0
        self.seeds.live[new] = 1
        touched: Ints = self.seed_pivot[np.concatenate([gone, new])].astype(np.int64)
        if touched.shape[0] > 1:
            touched = np.unique(touched)
        self.changed[touched] = 1
        return touched

    def _state_numbers(self, rows: Rows) -> Ints:
        numbers = self.states.encode(np.ascontiguousarray(rows))
        self.out = _with_ends(self.out, self.states.size)
        self.inn = _with_ends(self.inn, self.states.size)
        return numbers

    def _pivot_numbers(self, rows: Rows) -> Ints:
        if self.search.pivot:
            numbers = self.pivots.encode(np.ascontiguousarray(rows))
        else:
            self.pivots.size = 1
            numbers = np.zeros(rows.shape[0], dtype=np.int64)
        self.first_seed = _with_ends(self.first_seed, self.pivots.size)
        have = self.changed.shape[0]
        if self.pivots.size > have:
            self.changed = grown(self.changed, have, self.pivots.size)
            self.changed[have:] = 0
        return numbers

    def _reserve(self) -> None:
        """Make room for a parent of every state in every search."""
        n, m = self.pivots.size, self.states.size
        have_n, have_m = self.parent.shape
        if n <= have_n and m <= have_m:
            return
        wide = m if have_m == 0 else max(have_m, m + m // 4 if m > have_m else 0)
        long = n if have_n == 0 else max(have_n, n + n // 4 if n > have_n else 0)
        if wide * long > MOST_CELLS:
            raise Unsuited(self.search.relation)
        parent = reserve((long, wide), np.int32)
        advise_huge(parent)
        parent[:have_n, :have_m] = self.parent
        self.parent = parent
        self.widen((have_n, have_m), long, wide)

    # ── repairing ──

    def _repair(self, new: Ints, gone: Ints, touched: Ints | None) -> Changed:
        came: list[Rows] = []
        went: list[Rows] = []
        n = self.pivots.size
        if touched is not None:
            order, workers = touched, 1
        elif new.shape[0] or gone.shape[0]:
            order = np.empty(n, dtype=np.int64)
            order = order[: self.stirred(new, gone, order)]
            expected = self._per_change * (new.shape[0] + gone.shape[0])
            workers = self._threads if expected > _WORTH_THREADS else 1
        else:
            order, workers = np.arange(n), min(self._threads, n // _WORTH_A_THREAD)
        workers = max(1, min(workers, order.shape[0]))
        shares = workers * _SHARES if workers > 1 else 1
        # Searches from near each other touch as much, so each share has some of all parts.
        ticket = iter([np.ascontiguousarray(order[i::shares]) for i in range(shares)])
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
        ticket: Iterator[Ints],
        new: Ints,
        gone: Ints,
        came: list[Rows],
        went: list[Rows],
    ) -> None:
        m = self.states.size
        scratch, buffers = self._begun(m)
        while True:
            with self._lock:
                share = next(ticket, None)
            if share is None:
                break
            at, end = 0, share.shape[0]
            while at < end:
                at = self.repair(share, at, new, gone, scratch, buffers)
                if at < end:  # no room is left: hand over, and go on with more
                    self._hand_over(buffers, came, went)
                    buffers = buffers.larger(m)
        self._hand_over(buffers, came, went)
        with self._lock:
            self._spare.append((m, scratch, buffers.kept()))

    def _begun(self, m: int) -> tuple[Any, Buffers]:
        """Return what a thread works with: what is spare, as far as nobody holds on to it."""
        with self._lock:
            spare = self._spare.pop() if self._spare else None
        if spare is None or spare[0] < m:
            return self.scratch(), Buffers(2 * m, self.width)
        _, scratch, buffers = spare
        return scratch, buffers if buffers.free else Buffers(2 * m, self.width)

    def _hand_over(self, out: Buffers, came: list[Rows], went: list[Rows]) -> None:
        with self._lock:
            if out.nc:
                came.append(out.came[:, : out.nc].T)
            if out.nw:
                went.append(out.went[:, : out.nw].T)
            self._guard.tuples += out.nc - out.nw
            self._guard.work += int(out.work[1])
            self.work += out.work
            out.nc = out.nw = 0
            out.work[:] = 0
        self._guard.check()

    # ── reading ──

    def rows(self) -> Rows:
        """Return all rows."""
        return self.rows_at(*np.nonzero(self.parent))

    def rows_at(self, at: Ints, state: Ints) -> Rows:
        """Return the rows of these states of these searches."""
        rows = np.empty((at.shape[0], self.width), dtype=np.int64)
        rows[:, self.search.pivot] = self.pivots.rows[at]
        rows[:, self.search.state] = self.states.rows[state]
        self.fill(rows, at, state)
        return rows


def _small(size: int) -> Small:
    return np.full(size, -1, dtype=np.int32)


def _with_ends(heads: Small, need: int) -> Small:
    """Return the heads of lists with room for those that are new, which are empty."""
    have = heads.shape[0]
    if need > have:
        heads = grown(heads, have, need)
        heads[have:] = -1
    return heads
