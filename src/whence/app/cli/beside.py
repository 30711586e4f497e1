"""Work on a thread of its own, while the main thread waits for it and for signals.

A signal never comes in the middle of a call to Spark then: those cannot be broken off.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.engine.spark.interrupt import Interrupt

_EVERY = 0.05
"""Seconds between two looks at whether there was an interrupt."""

_LAST = 15.0
"""Seconds that work has to end once it has been made impossible."""


def beside(work: Callable[[], object], interrupt: Interrupt, force: Callable[[], None]) -> None:
    """Do the work, and raise what it raises; an interrupt is noted, and raised once it has ended.

    A second interrupt, or the first one when the work has lost its patience, makes the work
    impossible by `force`. So does whatever else a signal raises here.
    """
    failed: list[BaseException] = []
    over = threading.Event()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # whatever it is, the main thread raises it
            failed.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, name="whence", daemon=True)
    signals = _Signals()
    try:
        with signals:
            thread.start()
            _wait(over, signals, interrupt, force)
    except BaseException:  # SIGTERM, as `main` has it
        interrupt.note()
        force()
        over.wait(_LAST)
        raise
    if interrupt.noted:
        raise KeyboardInterrupt
    if failed:
        raise failed[0]


def _wait(
    over: threading.Event, signals: _Signals, interrupt: Interrupt, force: Callable[[], None]
) -> None:
    began: float | None = None
    while not over.wait(_EVERY):
        if signals.count and began is None and interrupt.note():
            began = time.monotonic()
        if began is None:
            continue
        if signals.count > 1 or time.monotonic() - began >= interrupt.patience:
            force()
            over.wait(_LAST)
            return


class _Signals:
    """Counts interrupts, unless somebody has decided that there are none."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if callable(self._before):
            signal.signal(signal.SIGINT, self._on_interrupt)

    def __exit__(self, *_: object) -> None:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: object) -> None:
        self.count += 1
