"""How many tasks of a gang can run at once, and when none ever could; Spark is a stand-in here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from whence.diagnostics import UsageError
from whence.engine.spark.gang import job
from whence.engine.spark.gang.job import gang_tasks


class Clock:
    """A time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(job, "time", found)
    return found


def session(clock: Clock, master: str, slots: dict[float, int], **conf: str) -> Any:
    """A session with so many slots from so many seconds on."""
    profile = object()

    def now(asked: object) -> int:
        assert asked is profile
        return [n for since, n in sorted(slots.items()) if since <= clock.now][-1]

    manager = SimpleNamespace(defaultResourceProfile=lambda: profile)
    scheduler = SimpleNamespace(resourceProfileManager=lambda: manager, maxNumConcurrentTasks=now)
    settings = {name.replace("_", "."): value for name, value in conf.items()}
    return SimpleNamespace(
        sparkContext=SimpleNamespace(
            master=master,
            _conf=settings,
            _jsc=SimpleNamespace(sc=lambda: scheduler),
        )
    )


def test_executors_that_come_and_go_are_refused(clock: Clock) -> None:
    dynamic = {"spark_dynamicAllocation_enabled": "TRUE"}
    with pytest.raises(UsageError, match="W1010") as error:
        gang_tasks(session(clock, "yarn", {0: 8}, **dynamic), 4)
    assert "--strategy rounds" in str(error.value)
    assert clock.now == 0


def test_this_machine_takes_no_notice_of_dynamic_allocation(clock: Clock) -> None:
    dynamic = {"spark_dynamicAllocation_enabled": "true"}
    assert gang_tasks(session(clock, "local[2]", {0: 2}, **dynamic), 4) == 2
    assert clock.now == 0


def test_a_cluster_that_never_has_an_executor_is_told_after_a_while(clock: Clock) -> None:
    with pytest.raises(UsageError, match="W1011"):
        gang_tasks(session(clock, "spark://host:7077", {0: 0, 60: 4}), 4)
    assert 30 <= clock.now < 31


def test_executors_that_are_still_starting_are_waited_for(clock: Clock) -> None:
    assert gang_tasks(session(clock, "spark://host:7077", {0: 0, 5: 1, 12: 6}), 4) == 4
    assert 12 <= clock.now < 13


def test_a_gang_is_as_large_as_its_cluster(clock: Clock) -> None:
    assert gang_tasks(session(clock, "spark://host:7077", {0: 3}), 4) == 3
    assert 30 <= clock.now < 31
