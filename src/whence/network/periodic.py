"""Periodic aggregate selection: what is new waits, and goes on together once in a period.

Loo 2006, section 8.1.1. Of all that came in a period only the best is followed, so nothing is sent
that something better replaces at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from contextlib import suppress

from whence.network.model import Gate, Handle, Host, Row, Scheme, Update


class Periodic:
    """A gate before another: it lets updates pass once in `period` seconds, the best first.

    `best` is the aggregate, `min` or `max`, and the column by which one tuple is better.
    """

    def __init__(self, inner: Gate, period: float, best: tuple[str, int]) -> None:
        self.inner = inner
        self.period = period
        self._sign, self._column = (1 if best[0] == "min" else -1), best[1]
        self._waiting: list[Update] = []
        self._released: deque[Row] = deque()
        self._timer: Handle | None = None
        self._host: Host
        self._scheme: Scheme

    def attach(self, host: Host) -> None:
        """Work for this processor."""
        self._host, self._scheme = host, host.scheme
        self.inner.attach(host)

    @property
    def waiting(self) -> int:
        """How many updates wait for the end of the period."""
        return len(self._waiting)

    def push(self, update: Update) -> Sequence[Update]:
        """Let an update wait, unless it has waited already."""
        if self._released and update[2] is self._released[0]:
            self._released.popleft()
            return self.inner.push(update)
        self._waiting.append(update)
        if self._timer is None:
            clock = self._host.clock
            self._timer = clock.call_at(clock.now() + self.period, self._tick)
        return ()

    def kill(self, dead: frozenset[Hashable]) -> Sequence[Update]:
        """Do without variables that are false, also in what waits."""
        self._waiting = [
            (sign, relation, row, left)
            for sign, relation, row, note in self._waiting
            if (left := self._scheme.restrict(note, dead)) is not None
        ]
        return self.inner.kill(dead)

    def _tick(self) -> None:
        self._timer = None
        waiting, self._waiting = self._waiting, []
        if self._scheme.retracting and not self._scheme.annotated:
            waiting = netted(waiting)
        column = self._column
        with suppress(TypeError):  # values that do not compare come as they came
            waiting.sort(key=lambda update: update[2][column], reverse=self._sign < 0)
        waiting.sort(key=lambda update: -update[0])
        for update in waiting:
            self._released.append(update[2])
            self._host.enqueue(update)
        self._host.run()


def netted(updates: Sequence[Update]) -> list[Update]:
    """Return the updates without derivations that came and went among them.

    >>> netted([(1, "p", (1,), None), (1, "p", (2,), None), (-1, "p", (1,), None)])
    [(1, 'p', (2,), None)]
    """
    net: dict[tuple[str, Row], int] = {}
    for sign, relation, row, _ in updates:
        key = (relation, row)
        net[key] = net.get(key, 0) + sign
    return [
        (1 if count > 0 else -1, relation, row, None)
        for (relation, row), count in net.items()
        for _ in range(abs(count))
    ]
