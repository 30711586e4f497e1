"""A line on the terminal for evaluations that take longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live

    from whence.engine.base import Round

PATIENCE = 1.0
"""Seconds before there is anything to see: shorter runs should leave the terminal alone."""


class Progress:
    """An observer that shows stratum, round, new tuples, their rate and the memory in use."""

    def __init__(self, *, enabled: bool | None = None, patience: float = PATIENCE) -> None:
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._patience = patience
        self._started = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
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

    def on_round(self, event: Round) -> None:
        """Show the round, once the run has lasted long enough to be worth watching."""
        if not self._enabled or time.monotonic() - self._started < self._patience:
            return
        from rich.text import Text

        from whence.engine.local.guard import resident_bytes

        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=8)
            self._live.start()
        self._live.update(Text(describe(event, resident_bytes())))


def describe(event: Round, memory: int) -> str:
    """Return one line about a round.

    >>> from whence.engine.base import Round
    >>> describe(Round(2, 3, ("path",), 7, 1500, 2_000_000, 0.5), 3 * 2**20)
    'stratum 2/3 path  round 7  +1,500 tuples  2,000,000 in all  4,000,000/s  3 MB'
    """
    names = ", ".join(event.relations[:3]) + (", …" if len(event.relations) > 3 else "")
    rate = int(event.total_tuples / event.seconds) if event.seconds > 0 else 0
    return (
        f"stratum {event.stratum}/{event.strata} {names}  round {event.round}  "
        f"+{event.new_tuples:,} tuples  {event.total_tuples:,} in all  {rate:,}/s  "
        f"{memory >> 20:,} MB"
    )
