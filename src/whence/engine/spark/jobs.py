"""Spark jobs that belong together: what they are called, and that they end together.

Names are what Spark's own pages show. An interrupt, an error or a time limit ends every job of a
block, and no other: jobs are found again by a tag, so a group that the user has set stays as it is.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whence.diagnostics import Diagnostic, LimitError, WhenceError
from whence.engine.spark.interrupt import Interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"
_INTERRUPT = "spark.job.interruptOnCancel"
_EVERY = 0.1
"""Seconds between two looks at the time, and at whether there was an interrupt."""


@contextlib.contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Give the jobs that this thread starts in the block a name in Spark's pages and logs."""
    with _property(spark, _DESCRIPTION, text):
        yield


@contextlib.contextmanager
def ending_together(
    spark: SparkSession,
    timeout: float | None = None,
    *,
    grace: float = 0.0,
    interrupt: Interrupt | None = None,
) -> Iterator[None]:
    """End the jobs of a block when its time is over, at an interrupt, or when it fails.

    After the time they have a `grace` of so many seconds to end by themselves. An interrupt ends
    the jobs, and is raised once the block has noticed; a second one is raised at once. `interrupt`
    is what another thread notes interrupts in, if one does.
    """
    context: Any = spark.sparkContext
    watch = _Watch(context, f"whence-{uuid.uuid4().hex}", timeout, grace, interrupt or Interrupt())
    context.addJobTag(watch.tag)
    try:
        with watch, _property(spark, _INTERRUPT, "true"):
            yield
        watch.interrupt.check()
    except Exception as error:
        watch.cancel()
        if watch.interrupt.noted:
            raise KeyboardInterrupt from None
        if watch.late and not isinstance(error, WhenceError):
            raise too_late(timeout or 0.0) from None
        raise
    except BaseException:
        # This thread's line to the JVM may hold half an answer, so another one is used.
        thread = threading.Thread(target=watch.cancel, daemon=True)
        thread.start()
        thread.join(timeout=10.0)
        raise
    finally:
        with contextlib.suppress(Exception):  # a session that was stopped
            context.removeJobTag(watch.tag)


class _Watch:
    """Ends the jobs with a tag, from a thread of its own, when it is time or at an interrupt.

    PySpark's own way with interrupts asks the JVM to end all jobs of the session, and does so in
    the middle of a call to it, which fails.
    """

    def __init__(
        self, context: Any, tag: str, timeout: float | None, grace: float, interrupt: Interrupt
    ) -> None:
        self.tag = tag
        self.late = False
        self.interrupt = interrupt
        self._context = context
        self._until = None if timeout is None else time.monotonic() + timeout + grace
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._on_interrupt)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)

    def cancel(self) -> None:
        with contextlib.suppress(Exception):  # a session that was stopped
            self._context.cancelJobsWithTag(self.tag)

    def _on_interrupt(self, number: int, frame: object) -> None:
        self.interrupt.check()  # the second one
        self.interrupt.note()

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            self.late = self._until is not None and time.monotonic() >= self._until
            if self.late or self.interrupt.noted:
                self.cancel()  # again and again: another job may have been about to start


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
