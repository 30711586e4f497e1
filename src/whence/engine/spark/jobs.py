"""Spark jobs that belong together: what they are called, and that they end together.

Names are what Spark's own pages show. An interrupt, an error or a time limit ends every job of a
block, and no other: jobs are found again by a tag, so a group that the user has set stays as it is.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from whence.diagnostics import Diagnostic, LimitError, WhenceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"
_INTERRUPT = "spark.job.interruptOnCancel"
_AGAIN = 0.2
"""Seconds between two attempts to end jobs: another one may have been about to start."""


@contextlib.contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Give the jobs that this thread starts in the block a name in Spark's pages and logs."""
    with _property(spark, _DESCRIPTION, text):
        yield


@contextlib.contextmanager
def ending_together(
    spark: SparkSession, timeout: float | None = None, *, grace: float = 0.0
) -> Iterator[None]:
    """End the jobs of a block when its time is over, or when it is left by an error.

    After the time they have a `grace` of so many seconds to end by themselves.
    """
    context: Any = spark.sparkContext
    tag = f"whence-{uuid.uuid4().hex}"
    over, late = threading.Event(), threading.Event()
    watch: threading.Thread | None = None
    context.addJobTag(tag)
    try:
        if timeout is not None:
            arguments = (context, tag, timeout + grace, over, late)
            watch = threading.Thread(target=_end_late, args=arguments, daemon=True)
            watch.start()
        with _property(spark, _INTERRUPT, "true"):
            yield
    except BaseException as error:
        # After an interrupt this thread's line to the JVM may hold half an answer.
        _elsewhere(lambda: context.cancelJobsWithTag(tag))
        ours = isinstance(error, WhenceError)
        if late.is_set() and isinstance(error, Exception) and not ours:
            raise too_late(timeout or 0.0) from None
        raise
    finally:
        over.set()
        if watch is not None:
            watch.join()
        with contextlib.suppress(Exception):  # a session that was stopped
            context.removeJobTag(tag)


def too_late(timeout: float) -> LimitError:
    """Return the error of an evaluation that took too long."""
    return LimitError(
        Diagnostic(
            "W0702",
            f"the evaluation took longer than {timeout:g} s",
            hint="raise `--timeout`; a recursion through arithmetic may never end",
            notes=("nothing was written",),
        )
    )


def _end_late(
    context: Any, tag: str, after: float, over: threading.Event, late: threading.Event
) -> None:
    if over.wait(after):
        return
    late.set()
    while True:
        with contextlib.suppress(Exception):
            context.cancelJobsWithTag(tag)
        if over.wait(_AGAIN):
            return


def _elsewhere(call: Callable[[], None]) -> None:
    """Call a function in a thread of its own, and wait for it a while."""

    def attempt() -> None:
        with contextlib.suppress(Exception):
            call()

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(timeout=10.0)


@contextlib.contextmanager
def _property(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    context: Any = spark.sparkContext
    before = context.getLocalProperty(name)
    context.setLocalProperty(name, value)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # a session that was stopped
            context.setLocalProperty(name, before)
