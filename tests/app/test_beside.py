"""Work beside the main thread: what it raises is raised, and interrupts wait for a good moment."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from whence.app.cli.beside import beside
from whence.engine.spark.interrupt import Interrupt


class Job:
    """Work that goes on until it is interrupted or made impossible."""

    def __init__(self, interrupt: Interrupt, *, heeds: bool) -> None:
        self.interrupt = interrupt
        self.heeds = heeds
        self.impossible = threading.Event()
        self.forced = 0
        self.ended = ""

    def work(self) -> None:
        while not self.impossible.wait(0.01):
            if self.heeds and self.interrupt.noted:
                self.ended = "in order"
                raise KeyboardInterrupt
        self.ended = "by force"
        raise ConnectionError("nobody is there")

    def force(self) -> None:
        self.forced += 1
        self.impossible.set()


@pytest.fixture
def soon() -> Iterator[Callable[..., None]]:
    """Send signals to this process a little later."""
    threads = []

    def send(*numbers: int) -> None:
        def run() -> None:
            for number in numbers:
                time.sleep(0.2)
                signal.raise_signal(number)

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield send
    for thread in threads:
        thread.join()


def never() -> None:
    raise AssertionError("force was used")


def test_the_main_thread_does_not_do_the_work_but_raises_what_it_raises() -> None:
    found = []
    beside(lambda: found.append(threading.current_thread()), Interrupt(), never)
    assert found != [threading.main_thread()]

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        beside(fail, Interrupt(), never)


def test_an_interrupt_is_noted_and_raised_when_the_work_has_ended(soon) -> None:
    interrupt = Interrupt()
    interrupt.patience = 60.0
    job = Job(interrupt, heeds=True)
    before = signal.getsignal(signal.SIGINT)
    soon(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        beside(job.work, interrupt, job.force)
    assert (job.ended, job.forced) == ("in order", 0)
    assert signal.getsignal(signal.SIGINT) is before


def test_where_nothing_has_begun_an_interrupt_is_force(soon) -> None:
    job = Job(Interrupt(), heeds=False)
    soon(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        beside(job.work, job.interrupt, job.force)
    assert (job.ended, job.forced) == ("by force", 1)


def test_a_second_interrupt_is_force(soon) -> None:
    interrupt = Interrupt()
    interrupt.patience = 60.0
    job = Job(interrupt, heeds=False)
    started = time.monotonic()
    soon(signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        beside(job.work, interrupt, job.force)
    assert (job.ended, job.forced) == ("by force", 1)
    assert time.monotonic() - started < 30


def test_whatever_else_a_signal_raises_is_force_and_raised(soon) -> None:
    def terminated(number: int, frame: object) -> None:
        raise SystemExit(143)

    job = Job(Interrupt(), heeds=False)
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        soon(signal.SIGTERM)
        with pytest.raises(SystemExit, match="143"):
            beside(job.work, job.interrupt, job.force)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert job.ended == "by force"


def test_an_interrupt_comes_too_late_once_outputs_appear(soon) -> None:
    interrupt = Interrupt()
    done = []

    def work() -> None:
        interrupt.settle()
        time.sleep(0.6)
        interrupt.check()
        done.append("published")

    soon(signal.SIGINT)
    beside(work, interrupt, never)
    assert done == ["published"]


def test_an_interrupt_before_outputs_appear_is_raised_there() -> None:
    interrupt = Interrupt()
    assert interrupt.note()
    with pytest.raises(KeyboardInterrupt):
        interrupt.settle()
    assert interrupt.note()


def test_who_ignores_interrupts_goes_on_doing_so(soon) -> None:
    """As in the background of a script, where Ctrl-C is meant for others."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        soon(signal.SIGINT)
        beside(lambda: time.sleep(0.5), Interrupt(), never)
    finally:
        signal.signal(signal.SIGINT, before)
