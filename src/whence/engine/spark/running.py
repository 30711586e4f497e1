"""An evaluation's time on Spark: what it is doing, until when it may, what a failure means."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, UsageError
from whence.engine.spark.jobs import described, ending_together, too_late

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GRACE = 1.0
"""Seconds that tasks have to say themselves that they took too long."""


class Watch:
    """The Spark jobs of one evaluation."""

    def __init__(self, spark: SparkSession, timeout: float | None) -> None:
        self._spark = spark
        self._timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        self._doing = "evaluation"

    def left(self) -> float | None:
        """Return the seconds that are left; None is for ever."""
        if self._until is None:
            return None
        left = self._until - time.monotonic()
        if left <= 0:
            raise too_late(self._timeout or 0.0)
        return left

    @contextlib.contextmanager
    def over_all(self) -> Iterator[None]:
        """Let all jobs end together, and tell a failure of Spark's in a line or two.

        What tasks say of a user's mistakes comes another way: as a value, through `summarise`.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            with ending_together(self._spark, self._timeout, grace=_GRACE):
                yield
        except (PySparkException, Py4JError) as error:
            raise failed(self._doing, error) from error

    @contextlib.contextmanager
    def job(self, description: str) -> Iterator[None]:
        """Run jobs under a name."""
        self._doing = description
        with described(self._spark, f"whence: {description}"):
            yield


def failed(doing: str, error: Exception) -> UsageError:
    """Return what is to be told of a job that Spark gave up."""
    return UsageError(
        Diagnostic(
            "W1025",
            f"Spark gave up on {doing}",
            notes=_lines(error),
            hint="Spark's own log says more",
        )
    )


def _lines(error: Exception) -> tuple[str, ...]:
    """Return what an error of Spark's says, without the places in its code."""
    text = str(getattr(error, "java_exception", None) or error)
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith(("at ", "File ", "^", "Caused"))]
    if not told:
        return (type(error).__name__,)
    last = [line for line in told[1:] if line.split(":")[0].endswith(("Error", "Exception"))]
    return tuple(dict.fromkeys((told[0][:300], *(line[:300] for line in last[-1:]))))
