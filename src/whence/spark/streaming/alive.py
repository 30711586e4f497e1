"""Processes that hold views stay: Spark ends those that had no task for a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_EVERY = 25.0
"""Seconds without a batch after which processes are given a task that does nothing."""


class KeepAlive:
    """Gives the worker processes of a query something to do while it waits for updates."""

    def __init__(self, spark: SparkSession, tasks: int) -> None:
        self.busy = threading.Lock()
        """Held while a batch runs."""
        self._spark, self._tasks = spark, tasks
        self._last = time.monotonic()
        self._over = threading.Event()

    def begin(self, query: StreamingQuery) -> None:
        """Begin, for as long as the query is active."""
        thread = threading.Thread(target=self._run, args=(query,), daemon=True)
        thread.start()

    def touch(self) -> None:
        """Note that there was a batch."""
        self._last = time.monotonic()

    def end(self) -> None:
        """End it."""
        self._over.set()

    def _run(self, query: StreamingQuery) -> None:
        from py4j.protocol import Py4JError

        while not self._over.wait(_EVERY / 5):
            try:
                if not query.isActive:
                    return
                if time.monotonic() - self._last > _EVERY and self.busy.acquire(blocking=False):
                    try:
                        self._touch_processes()
                    finally:
                        self.busy.release()
            except (Py4JError, OSError):  # the session has ended
                return
            except Exception:  # an executor that is lost now is found out by the next batch
                self.touch()

    def _touch_processes(self) -> None:
        context = self._spark.sparkContext
        context.setJobDescription("whence: processes that hold views stay")
        context.parallelize(range(self._tasks), self._tasks).foreachPartition(_nothing)
        self.touch()


def _nothing(_: Iterable[int]) -> None:
    """Do nothing, for long enough that every process gets one of the tasks."""
    time.sleep(0.05)
