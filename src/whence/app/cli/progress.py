"""A line on the terminal for evaluations that take longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.live import Live

    from whence.engine.base import Round

PATIENCE = 1.0
"""Seconds before there is anything to see: shorter runs should leave the terminal alone."""

EVERY = 0.25
"""Seconds between two looks at the jobs of Spark."""


class Progress:
    """An observer that shows stratum, round, new tuples, their rate and the memory in use."""

    def __init__(self, *, enabled: bool | None = None, patience: float = PATIENCE) -> None:
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._patience = patience
        self._started = time.monotonic()
        self._live: Live | None = None
        self._round: Round | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._follower: threading.Thread | None = None

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._follower is not None:
            self._follower.join()
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def follow(self, spark: SparkSession) -> None:
        """Show what the jobs of a Spark session are doing, until the end."""
        if not self._enabled:
            return

        def look() -> None:
            while not self._over.wait(EVERY):
                with contextlib.suppress(Exception):  # a session that is just being stopped
                    text = describe_jobs(active_jobs(spark), time.monotonic() - self._started)
                    if text:
                        self._show(text + self._last_round(text))

        self._follower = threading.Thread(target=look, daemon=True)
        self._follower.start()

    def on_round(self, event: Round) -> None:
        """Show the round, once the run has lasted long enough to be worth watching."""
        from whence.engine.local.guard import resident_bytes

        self._round = event
        if self._enabled and self._follower is None:
            self._show(describe(event, resident_bytes()))

    def _last_round(self, job: str) -> str:
        """Return what is known of the rounds of a job of Spark."""
        event = self._round
        if event is None or not any(name in job for name in event.relations):
            return ""
        return f"  round {event.round}  +{event.new_tuples:,} tuples"

    def _show(self, line: str) -> None:
        if not self._enabled or time.monotonic() - self._started < self._patience:
            return
        from rich.text import Text

        with self._lock:
            if self._live is None:
                from rich.console import Console
                from rich.live import Live

                console = Console(stderr=True)
                self._live = Live(console=console, transient=True, refresh_per_second=8)
                self._live.start()
            self._live.update(Text(line))


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


@dataclass(frozen=True, slots=True)
class ActiveJob:
    """A Spark job that is running: its name, and how many of its tasks are done."""

    name: str
    done: int
    tasks: int


def active_jobs(spark: SparkSession) -> list[ActiveJob]:
    """Return the jobs of the session that are running now."""
    context: Any = spark.sparkContext
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    found = []
    for job in sorted(tracker.getActiveJobsIds()):
        known = tracker.getJobInfo(job)
        stages = [tracker.getStageInfo(stage) for stage in known.stageIds] if known else []
        there = [stage for stage in stages if stage is not None]
        text = store.job(job).description()
        found.append(
            ActiveJob(
                str(text.get()) if text.isDefined() else f"job {job}",
                sum(stage.numCompletedTasks for stage in there),
                sum(stage.numTasks for stage in there),
            )
        )
    return found


def describe_jobs(jobs: Sequence[ActiveJob], seconds: float) -> str:
    """Return one line about the jobs of Spark that are running.

    >>> describe_jobs([ActiveJob("path (gang)", 1, 4)], 12.3)
    'path (gang)  1/4 tasks  12 s'
    """
    names = ", ".join(dict.fromkeys(job.name for job in jobs))
    if not names:
        return ""
    done, tasks = sum(job.done for job in jobs), sum(job.tasks for job in jobs)
    return f"{names}  {done:,}/{tasks:,} tasks  {seconds:,.0f} s"
