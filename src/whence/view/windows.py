"""Windows and soft state: which base facts are still there, by their time or their number.

A fact is stamped with its time and arrival. Windows look at whole commits: the updates first, then
what is too old, then what is too many. Each commit costs its updates and what it expires.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from whence.diagnostics import DataError, Diagnostic, UsageError

Row: TypeAlias = tuple[int | float | str, ...]
Stamp: TypeAlias = tuple[float, int]
"""The time of a fact's latest insertion, and its place in the order of all insertions."""
Time: TypeAlias = Literal["event", "clock"]

UNDATED = -math.inf
"""The time of facts that were there before the first time was known."""


@dataclass(frozen=True, slots=True)
class Window:
    """How long facts stay: `width` seconds after their last insertion, or until `last` are newer.

    With `by`, the last ones are counted for each value of these columns.
    """

    width: float | None = None
    last: int | None = None
    by: tuple[int, ...] = ()
    time: Time | None = None
    """Where times come from; None lets the first update decide."""

    def __post_init__(self) -> None:
        if self.width is not None and not 0 < self.width < math.inf:
            raise _no_window(f"a window of {self.width:g} seconds holds nothing or everything")
        if self.last is not None and self.last < 1:
            raise _no_window(f"a window of the last {self.last} facts holds nothing")
        if self.width is None and self.last is None:
            raise _no_window("a window needs a width or a number of facts")
        if self.by and self.last is None:
            raise _no_window("only the last facts are counted by key")

    def as_json(self) -> dict[str, object]:
        """Return plain data that `Window(**…)` takes back, `by` as a list."""
        return {"width": self.width, "last": self.last, "by": list(self.by), "time": self.time}


def _no_window(message: str) -> UsageError:
    hint = "give `ttl` or `within` in seconds above 0, or `last` from 1"
    return UsageError(Diagnostic("W0811", message, hint=hint))


@dataclass(slots=True)
class Said:
    """What one transaction says of the facts of a windowed relation.

    A fact comes with its stamp or, with None, goes; `forgotten` are those that go before they come,
    whose earlier insertions no longer count.
    """

    stamps: dict[Row, Stamp | None] = field(default_factory=dict)
    forgotten: set[Row] = field(default_factory=set)
    adopted: bool = False
    """Whether the facts are in the relation already, and only the window has not seen them."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a commit changed in one relation: facts that were not there before, and that were."""

    came: list[Row]
    went: list[Row]


class Contents:
    """The facts in the window of one relation, oldest first in heaps.

    A refresh leaves its old entry in the heap: an entry counts while its stamp is the fact's own.
    """

    def __init__(self, window: Window, since: float) -> None:
        self.window = window
        self.since = since
        """The clock when the window was set, which dates what was there before."""
        self.time: Time | None = window.time
        self.dated = window.time == "clock"
        self.stamps: dict[Row, Stamp] = {}
        self._ages: list[tuple[float, int, Row]] = []
        self._groups: dict[Row, list[tuple[float, int, Row]]] = {}
        self._sizes: dict[Row, int] = {}
        self._unlooked = False
        """Whether some groups may hold too many, as after another window held the facts."""

    def decide(self, time: Time, start: float) -> Callable[[], None]:
        """Fix where times come from, date what has none, and return how to undo it."""
        before = (self.time, self.dated, self.stamps, self._ages, self._groups, self._sizes)
        self.time, self.dated = time, True
        self.restore(
            {row: (start if at == UNDATED else at, n) for row, (at, n) in self.stamps.items()}
        )

        def undo() -> None:
            self.time, self.dated, self.stamps, self._ages, self._groups, self._sizes = before

        return undo

    def restore(self, stamps: dict[Row, Stamp]) -> None:
        """Hold these facts and no others."""
        self.stamps, self._groups, self._sizes = stamps, {}, {}
        self._unlooked = True
        self._ages = [(at, n, row) for row, (at, n) in stamps.items()]
        heapq.heapify(self._ages)
        if self.window.by:
            for entry in self._ages:
                self._groups.setdefault(self._key(entry[2]), []).append(entry)
            for key, heap in self._groups.items():
                heapq.heapify(heap)
                self._sizes[key] = len(heap)

    def copy(self) -> Contents:
        """Return the same facts in a window of their own."""
        other = Contents(self.window, self.since)
        other.time, other.dated = self.time, self.dated
        other.restore(dict(self.stamps))
        return other

    def commit(self, said: Said, now: float | None) -> tuple[Effect, Callable[[], None]]:
        """Apply what a transaction said and expire what is out of the window at `now`."""
        before: dict[Row, Stamp | None] = {}
        touched: dict[Row, None] = {}
        for row, stamp in said.stamps.items():
            old = self.stamps.get(row)
            kept = None if row in said.forgotten else old
            if stamp is None:
                new = None
            elif self._is_old(stamp[0], now):  # too late: it changes nothing
                new = kept
            else:
                new = stamp if kept is None else max(kept, stamp)
                touched[self._key(row)] = None
            if new != old:
                before[row] = old
                self._set(row, old, new)
        self._expire(now, before)
        self._evict(list(self._sizes) if self._unlooked else touched, before)
        self._unlooked = False
        known = {r for r, old in before.items() if old is not None or said.adopted}
        came = [row for row in before if row not in known and row in self.stamps]
        went = [row for row in before if row in known and row not in self.stamps]
        self._tidy(self._ages, len(self.stamps))

        def undo() -> None:
            self._unlooked = True
            for row, old in before.items():
                self._set(row, self.stamps.get(row), old)

        return Effect(came, went), undo

    @property
    def next_expiry(self) -> float | None:
        """The time at which the oldest fact leaves, by the window's own kind of time."""
        while self._ages and self.stamps.get(self._ages[0][2]) != self._ages[0][:2]:
            heapq.heappop(self._ages)
        if self.window.width is None or not self._ages:
            return None
        start = self._ages[0][0] if self.dated else self.since
        return start + self.window.width

    def _key(self, row: Row) -> Row:
        return tuple([row[c] for c in self.window.by])

    def _is_old(self, at: float, now: float | None) -> bool:
        width = self.window.width
        return width is not None and now is not None and self.dated and at + width <= now

    def _set(self, row: Row, old: Stamp | None, new: Stamp | None) -> None:
        if new is None:
            self.stamps.pop(row, None)
        else:
            self.stamps[row] = new
            heapq.heappush(self._ages, (*new, row))
        if self.window.by:
            key = self._key(row)
            if new is not None:
                heapq.heappush(self._groups.setdefault(key, []), (*new, row))
            size = self._sizes.get(key, 0) + (new is not None) - (old is not None)
            if size:
                self._sizes[key] = size
                self._tidy(self._groups[key], size)
            else:
                self._sizes.pop(key, None)
                self._groups.pop(key, None)

    def _expire(self, now: float | None, before: dict[Row, Stamp | None]) -> None:
        while self._ages and self._is_old(self._ages[0][0], now):
            self._take(self._ages, before)

    def _evict(self, touched: Iterable[Row], before: dict[Row, Stamp | None]) -> None:
        last = self.window.last
        if last is None:
            return
        if not self.window.by:
            while len(self.stamps) > last:
                self._take(self._ages, before)
            return
        for key in touched:
            while self._sizes.get(key, 0) > last:
                self._take(self._groups[key], before)

    def _take(self, heap: list[tuple[float, int, Row]], before: dict[Row, Stamp | None]) -> None:
        """Take the oldest entry, and its fact unless that was refreshed since or is gone."""
        at, n, row = heapq.heappop(heap)
        if self.stamps.get(row) == (at, n):
            before.setdefault(row, (at, n))
            self._set(row, (at, n), None)

    def _tidy(self, heap: list[tuple[float, int, Row]], facts: int) -> None:
        """Drop old entries once they are most of the heap, which keeps memory near the facts."""
        if len(heap) > 64 + 4 * facts:
            heap[:] = [entry for entry in heap if self.stamps.get(entry[2]) == entry[:2]]
            heapq.heapify(heap)


class Windows:
    """The windows of a database, and its times: the latest event, the latest look at the clock."""

    def __init__(self) -> None:
        self.contents: dict[str, Contents] = {}
        self.event: float | None = None
        self.clock = -math.inf

    def copy(self) -> Windows:
        """Return windows that hold the same and change by themselves."""
        other = Windows()
        other.event, other.clock = self.event, self.clock
        other.contents = {name: held.copy() for name, held in self.contents.items()}
        return other

    def check_times(self, relation: str, timed: bool, before: bool) -> None:
        """Refuse facts with times where those before had none, and the other way round."""
        contents = self.contents[relation]
        if timed == (before if contents.time is None else contents.time == "event"):
            return
        if timed:
            message = f"this fact of `{relation}` has a time, but its window goes by the clock"
        else:
            message = f"this fact of `{relation}` has no time, but its window goes by event time"
        hint = "give all facts of a relation with a window a time, or none"
        raise DataError(Diagnostic("W0681", message, hint=hint))

    def commit(
        self,
        said: Mapping[str, Said],
        decided: Mapping[str, Time],
        event: float | None,
        clock: float,
    ) -> tuple[dict[str, Effect], Callable[[], None]]:
        """Move both times forward, apply what was said, expire; and return how to undo it all.

        `decided` are the relations whose facts show where their times come from.
        """
        undos: list[Callable[[], None]] = []
        times = (self.event, self.clock)
        if event is not None:
            self.event = event if self.event is None else max(self.event, event)
        self.clock = max(self.clock, clock)
        effects: dict[str, Effect] = {}
        for name, contents in self.contents.items():
            time = contents.time or decided.get(name)
            start = contents.since if time == "clock" else self.event
            if time is not None and start is not None and not (contents.time and contents.dated):
                undos.append(contents.decide(time, start))
            now = self.clock if contents.time == "clock" else self.event
            effect, undo = contents.commit(said.get(name, Said()), now)
            undos.append(undo)
            if effect.came or effect.went:
                effects[name] = effect

        def undo_all() -> None:
            for undo in reversed(undos):
                undo()
            self.event, self.clock = times

        return effects, undo_all

    @property
    def next_expiry(self) -> float | None:
        """When the clock next expires a fact; None while nothing waits for the clock."""
        due = [c.next_expiry for c in self.contents.values() if c.time != "event"]
        return min((at for at in due if at is not None), default=None)
