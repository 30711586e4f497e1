"""Names of Spark jobs, and how they end together."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from whence.diagnostics import LimitError
from whence.engine.spark.jobs import described, ending_together

pytestmark = pytest.mark.spark


def described_jobs(spark: Any) -> list[str]:
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    found = (jobs.apply(i).description() for i in range(jobs.size()))
    return [text.get() if text.isDefined() else "" for text in found]


def sleeping(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(60)
        yield batch


def asleep(spark: Any) -> Any:
    return spark.range(2, numPartitions=2).mapInArrow(sleeping, "id long")


def test_a_job_has_the_name_of_its_block(spark: Any) -> None:
    with described(spark, "path, round 1"):
        with described(spark, "path, round 1: path(x, y) :- edge(x, y)."):
            assert spark.range(3).count() == 3
        assert spark.range(4).count() == 4
    assert spark.range(5).count() == 5
    found = described_jobs(spark)
    assert "path, round 1" in found
    assert "path, round 1: path(x, y) :- edge(x, y)." in found
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_a_name_that_the_user_has_set_comes_back(spark: Any) -> None:
    spark.sparkContext.setJobDescription("mine")
    try:
        with described(spark, "ours"):
            pass
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", None)


def test_jobs_end_when_their_time_is_over(spark: Any) -> None:
    started = time.monotonic()
    with pytest.raises(LimitError, match="W0702"), ending_together(spark, timeout=1.0):
        asleep(spark).count()
    assert time.monotonic() - started < 40
    assert not list(spark.sparkContext.getJobTags())
    assert spark.range(7).count() == 7


def test_jobs_end_when_their_block_is_interrupted(spark: Any) -> None:
    """The main thread is interrupted while it waits for a job, as Ctrl-C does it."""
    started = threading.Event()

    def run() -> None:
        started.set()
        with pytest.raises(Exception, match="cancelled"):
            asleep(spark).count()

    from pyspark import inheritable_thread_target

    with pytest.raises(KeyboardInterrupt), ending_together(spark):
        other = threading.Thread(target=inheritable_thread_target(spark)(run))
        other.start()
        started.wait()
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        raise KeyboardInterrupt
    other.join(timeout=60)
    assert not other.is_alive()


def test_an_interrupt_while_a_job_runs_ends_the_job_and_is_raised(
    spark: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt), ending_together(spark):
        thread.start()
        asleep(spark).count()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    while spark.sparkContext.statusTracker().getActiveJobsIds():  # it is told a little later
        time.sleep(0.05)
    assert spark.range(7).count() == 7
    assert capfd.readouterr().err == ""


def test_an_interrupt_between_jobs_is_raised_at_the_end_and_a_second_one_at_once(
    spark: Any,
) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), ending_together(spark):
        signal.raise_signal(signal.SIGINT)
        done.append("after the first")
    with pytest.raises(KeyboardInterrupt), ending_together(spark):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("after the second")
    assert done == ["after the first"]


def test_jobs_of_others_go_on(spark: Any) -> None:
    found: list[int] = []

    def slow(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            time.sleep(3)
            yield batch

    def run() -> None:
        frame = spark.range(1, numPartitions=1).mapInArrow(slow, "id long")
        found.append(frame.count())

    other = threading.Thread(target=run)
    other.start()
    with pytest.raises(LimitError), ending_together(spark, timeout=0.5):
        asleep(spark).count()
    other.join(timeout=120)
    assert found == [1]
