"""Clocks: one that is simulated and never waits, one that is real and runs on a thread's loop."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from typing import Any


class Timer(list[Any]):
    """Something that was asked of a clock: its time, its number, and what is called.

    It is what the heap holds, a list of three; a cancelled one stays there until its time.
    """

    __slots__ = ()

    def cancel(self) -> None:
        """Let it not happen."""
        self[2] = None


class _Heap:
    """Timers by time, those of one time in the order in which they were asked for."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []
        self.order = itertools.count()

    def push(self, at: float, callback: Callable[[], None]) -> Timer:
        timer = Timer((at, next(self.order), callback))
        heapq.heappush(self.timers, timer)
        return timer

    def next_time(self) -> float | None:
        """Return when the next timer is due that was not cancelled."""
        while self.timers and self.timers[0][2] is None:
            heapq.heappop(self.timers)
        return float(self.timers[0][0]) if self.timers else None


class SimulatedClock:
    """Time that jumps from one timer to the next."""

    def __init__(self, start: float = 0.0) -> None:
        self.time = start
        self._heap = _Heap()
        self._timers, self._order = self._heap.timers, self._heap.order

    def now(self) -> float:
        """Return the simulated time."""
        return self.time

    def call_at(self, time: float, callback: Callable[[], None]) -> Timer:
        """Call back at a time, or now where that is past."""
        timer = Timer((time if time > self.time else self.time, next(self._order), callback))
        heapq.heappush(self._timers, timer)
        return timer

    def next_time(self) -> float | None:
        """Return when something happens next, if anything does."""
        return self._heap.next_time()

    def step(self) -> bool:
        """Let the next thing happen; return whether there was one."""
        timers = self._heap.timers
        while timers:
            at, _, callback = heapq.heappop(timers)
            if callback is not None:
                self.time = at
                callback()
                return True
        return False

    def run_until(self, end: float) -> None:
        """Let happen whatever is due by `end`, then make it `end`."""
        timers = self._heap.timers
        pop = heapq.heappop
        while timers and timers[0][0] <= end:
            at, _, callback = pop(timers)
            if callback is not None:
                self.time = at
                callback()
        self.time = max(self.time, end)


class RealClock:
    """The time of day; whoever owns the loop asks when to wake up and calls `tick`.

    Times are seconds since the clock was made, from a clock that never goes back.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._heap = _Heap()

    def now(self) -> float:
        """Return the seconds since the clock was made."""
        return time.monotonic() - self._start

    def call_at(self, time: float, callback: Callable[[], None]) -> Timer:
        """Call back from the first `tick` that is not before a time."""
        return self._heap.push(time, callback)

    def wait(self) -> float | None:
        """Return the seconds until something is due; None when nothing is."""
        due = self._heap.next_time()
        return None if due is None else max(0.0, due - self.now())

    def tick(self) -> int:
        """Let happen what is due; return how much that was."""
        happened, now, timers = 0, self.now(), self._heap.timers
        while timers and timers[0][0] <= now:
            callback = heapq.heappop(timers)[2]
            if callback is not None:
                happened += 1
                callback()
        return happened
