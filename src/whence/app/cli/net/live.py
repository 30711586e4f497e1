"""A live picture of a network on the terminal: time, tuples and traffic so far."""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from whence.app.net.outcome import Point

EVERY: Final = 0.25
"""Seconds between two pictures."""
PATIENCE: Final = 0.5
"""Seconds before there is anything to see."""
_BARS: Final = " ▁▂▃▄▅▆▇█"
_WIDE: Final = 40


class LiveNetwork:
    """Shows a run on the error stream while it lasts; the answers stay on stdout."""

    def __init__(self, nodes: int, *, enabled: bool | None = None) -> None:
        self._nodes = nodes
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._live: Live | None = None
        self._begun = self._drawn = time.monotonic()
        self._before: Point | None = None
        self._tuples: deque[float] = deque(maxlen=_WIDE)
        self._traffic: deque[float] = deque(maxlen=_WIDE)

    def __enter__(self) -> LiveNetwork:
        self._begun = self._drawn = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def on_point(self, point: Point) -> None:
        """Draw a picture unless the last one is still new."""
        now = time.monotonic()
        if not self._enabled or now - self._begun < PATIENCE or now - self._drawn < EVERY:
            return
        self._drawn = now
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(self.picture(point), refresh=True)

    def picture(self, point: Point) -> Group:
        """Return the numbers of now, and how tuples and traffic came to them."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        before = self._before or point
        passed = max(point.time - before.time, 1e-9)
        rate = (point.bytes - before.bytes) / passed / 1000 / max(self._nodes, 1)
        self._before = point
        self._tuples.append(point.tuples)
        self._traffic.append(rate if before is not point else 0.0)
        head = f"{point.time:,.2f} s of the network in {self._drawn - self._begun:,.0f} s"
        table = Table(show_header=False)
        table.add_row("result", f"{point.tuples:,} tuples", bars(self._tuples))
        table.add_row("traffic", f"{self._traffic[-1]:,.2f} KB/s per node", bars(self._traffic))
        table.add_row("sent", f"{point.messages:,} messages", f"{point.bytes / 1e6:,.2f} MB")
        return Group(Text(head), table)


def bars(values: deque[float]) -> str:
    """Return values as bars, the highest as high as a line.

    >>> bars(deque([0, 1, 4, 8]))
    ' ▁▄█'
    """
    most = max(values, default=0.0) or 1.0
    return "".join(_BARS[round(max(value, 0) / most * 8)] for value in values)
