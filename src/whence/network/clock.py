"""Clocks: one that is simulated and never waits, one that is real and runs on a thread's loop."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable


class Timer:
    """Something that was asked of a clock; a cancelled one stays in the heap until its time."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Let it not happen."""
        self.callback = None


class _Heap:
    """Timers by time, those of one time in the order in which they were asked for."""

    def __init__(self) -> None:
        self.timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def push(self, at: float, callback: Callable[[], None]) -> Timer:
        timer = Timer(callback)
        heapq.heappush(self.timers, (at, next(self._order), timer))
        return timer

    def next_time(self) -> float | None:
        """Return when the next timer is due that was not cancelled."""
        while self.timers and self.timers[0][2].callback is None:
            heapq.heappop(self.timers)
        return self.timers[0][0] if self.timers else None


class SimulatedClock:
    """Time that jumps from one timer to the next."""

    def __init__(self, start: float = 0.0) -> None:
        self.time = start
        self._heap = _Heap()

    def now(self) -> float:
        """Return the simulated time."""
        return self.time

    def call_at(self, time: float, callback: Callable[[], None]) -> Timer:
        """Call back at a time, or now where that is past."""
        return self._heap.push(max(time, self.time), callback)

    def next_time(self) -> float | None:
        """Return when something happens next, if anything does."""
        return self._heap.next_time()

    def step(self) -> bool:
        """Let the next thing happen; return whether there was one."""
        timers = self._heap.timers
        while timers:
            at, _, timer = heapq.heappop(timers)
            callback = timer.callback
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
            at, _, timer = pop(timers)
            callback = timer.callback
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
            callback = heapq.heappop(timers)[2].callback
            if callback is not None:
                happened += 1
                callback()
        return happened
