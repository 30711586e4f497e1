"""One evaluation's time on Spark: until when it may run, and what a failure of Spark's means."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, LimitError, UsageError
from whence.engine.spark.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Deadline:
    """When an evaluation has to be done."""

    __slots__ = ("_at", "timeout")

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self._at = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        """Return the seconds that are left; None is for ever."""
        if self._at is None:
            return None
        left = self._at - time.monotonic()
        if left <= 0:
            raise LimitError(
                Diagnostic(
                    "W0702",
                    f"the evaluation took longer than {self.timeout:g} s",
                    hint="raise `--timeout`; a recursion through arithmetic may never end",
                    notes=("nothing was written",),
                )
            )
        return left


@contextlib.contextmanager
def job(spark: SparkSession, description: str) -> Iterator[None]:
    """Run Spark jobs under a name; a failure of Spark's is told in a line or two.

    What tasks say of a user's mistakes comes another way: as a value, through `summarise`.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with described(spark, description):
            yield
    except (PySparkException, Py4JError) as error:
        raise failed(description, error) from error


def failed(description: str, error: Exception) -> UsageError:
    """Return what is to be told of a job that Spark gave up."""
    return UsageError(
        Diagnostic(
            "W1025",
            f"Spark has given up: {description}",
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
