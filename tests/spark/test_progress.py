"""What a terminal is shown while Spark works."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from whence.app.cli.progress import ActiveJob, Progress, active_jobs, describe_jobs
from whence.engine.base import Round
from whence.engine.spark.jobs import described

pytestmark = pytest.mark.spark


def napping(batches: Any) -> Any:
    for batch in batches:
        time.sleep(4)
        yield batch


def wait_for(spark: Any) -> list[ActiveJob]:
    while not (found := active_jobs(spark)) or not found[0].tasks:
        time.sleep(0.05)
    return found


def test_jobs_are_shown_by_name_with_their_tasks_and_rounds(
    spark: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run() -> None:
        with described(spark, "whence: path (gang)"):
            spark.range(2, numPartitions=2).mapInArrow(napping, "id long").count()

    thread = threading.Thread(target=run)
    with Progress(enabled=True, patience=0.0) as progress:
        progress.follow(spark)
        thread.start()
        (job, *_) = wait_for(spark)
        assert job.name == "whence: path (gang)"
        assert (job.done <= job.tasks, job.tasks > 0) == (True, True)
        progress.on_round(Round(1, 1, ("path",), 7, 1500, 2000, 0.5))
        thread.join()
    shown = capsys.readouterr().err
    assert "whence: path (gang)" in shown
    assert "round 7  +1,500 tuples" in shown


def test_nothing_is_shown_where_there_is_no_terminal(
    spark: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with Progress(patience=0.0) as progress:
        progress.follow(spark)
        assert spark.range(3).count() == 3
    assert capfd.readouterr() == ("", "")


def test_no_jobs_are_no_line() -> None:
    assert describe_jobs([], 3.0) == ""
