"""A live picture of `whence watch` on the terminal: rates, latencies, sizes, last changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from whence.app.watch import Progress
    from whence.view.base import Changes

EVERY = 0.25
"""Seconds between two pictures."""


class LiveDisplay:
    """Shows, on the error stream, what is being committed; the answers stay on stdout."""

    def __init__(self, relations: Sequence[str], size: Callable[[str], int]) -> None:
        self._relations = relations
        self._size = size
        self._live: Live | None = None
        self._drawn = 0.0
        self._came = dict.fromkeys(relations, 0)
        self._went = dict.fromkeys(relations, 0)
        self._before = (time.monotonic(), 0, 0)

    def __enter__(self) -> LiveDisplay:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
        self._live.start()
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

    def on_commit(self, changes: Changes, progress: Progress) -> None:
        """Count what changed, and draw a picture when the last one is old enough."""
        for name in self._relations:
            if name in changes:
                self._came[name] += changes[name].insertions
                self._went[name] += changes[name].deletions
        self.draw(progress)

    def draw(self, progress: Progress) -> None:
        """Draw a picture unless the last one is still new."""
        now = time.monotonic()
        if now - self._drawn < EVERY or self._live is None:
            return
        self._drawn = now
        self._live.update(self.picture(progress, now), refresh=True)

    def picture(self, progress: Progress, now: float) -> Group:
        """Return rates since the last picture, latencies, and each relation."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from whence.app.watch import count

        then, commits, updates = self._before
        seconds = max(now - then, 1e-9)
        commit_rate = (progress.commits - commits) / seconds
        update_rate = (progress.updates - updates) / seconds
        head = (
            f"{count(progress.commits, 'commit')} ({commit_rate:,.0f}/s)   "
            f"{count(progress.updates, 'update')} ({update_rate:,.0f}/s)   "
            f"commit {progress.percentile(0.5) * 1e3:.2f} ms median, "
            f"{progress.percentile(0.99) * 1e3:.2f} ms p99"
        )
        if progress.skipped:
            head += f"   {progress.skipped:,} lines skipped"
        self._before = (now, progress.commits, progress.updates)
        table = Table()
        table.add_column("relation")
        for heading in ("tuples", "came", "went"):
            table.add_column(heading, justify="right")
        for name in self._relations:
            came, went = self._came[name], self._went[name]
            table.add_row(name, f"{self._size(name):,}", f"+{came:,}", f"-{went:,}")
            self._came[name] = self._went[name] = 0
        return Group(Text(head), table)
