"""Ctrl-C while Spark starts and works, at moments of all kinds: one word, and nobody is left.

WHENCE_KILLS says how many of the runs are interrupted at random moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spark.processes import command_line, members, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ENDLESS = ".decl n(x: number) .output n n(0). n(x + 1) :- n(x), x < 1000000000000."


def interrupted(folder: Path, ready: Callable[[int], None], *signals: int) -> tuple[int, str, str]:
    """Return how a run on Spark ends that is sent signals once it is ready for them."""
    program = folder / "endless.dl"
    program.write_text(ENDLESS)
    arguments = ["-D", str(folder / "out"), "--engine", "spark", "--master", "local[2]"]
    run = subprocess.Popen(
        [sys.executable, "-m", "whence", "run", str(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        ready(run.pid)
        for number in signals:
            os.killpg(run.pid, number)  # as a terminal does it
        out, err = run.communicate(timeout=120)
        assert wait_for(lambda: not members(run.pid), 60), [*map(command_line, members(run.pid))]
    finally:
        for pid in members(run.pid):
            os.kill(pid, signal.SIGKILL)
    assert not (folder / "out").exists()
    return run.returncode, out, err


def has_started(*texts: str, after: float = 0.0) -> Callable[[int], None]:
    """Wait until a process runs with one of these in its command, and some seconds more."""

    def there(session: int) -> bool:
        commands = [command_line(pid) for pid in members(session)]
        return any(text in command for text in texts for command in commands)

    def ready(session: int) -> None:
        assert wait_for(lambda: there(session), 300, 0.1), texts
        time.sleep(after)

    return ready


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(has_started("spark-submit", "apache.spark"), id="the JVM is being launched"),
        pytest.param(has_started("SparkSubmit", after=1.5), id="the session is being made"),
    ],
)
def test_ctrl_c_while_spark_starts_ends_the_jvm_too(
    moment: Callable[[int], None], tmp_path: Path
) -> None:
    assert interrupted(tmp_path, moment, signal.SIGINT) == (130, "", "interrupted\n")


def test_ctrl_c_twice_does_not_wait(tmp_path: Path) -> None:
    moment = has_started("pyspark.daemon")
    ended = interrupted(tmp_path, moment, signal.SIGINT, signal.SIGINT)
    assert ended == (130, "", "interrupted\n")


@pytest.mark.parametrize("number", range(int(os.environ.get("WHENCE_KILLS", "1"))))
def test_ctrl_c_at_any_moment(number: int, tmp_path: Path) -> None:
    seconds = random.Random(number).uniform(0.5, 16.0)
    ended = interrupted(tmp_path, lambda _: time.sleep(seconds), signal.SIGINT)
    assert ended == (130, "", "interrupted\n")


def test_what_java_says_when_it_does_not_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.dl").write_text(".decl n(x: number) .output n n(0).")
    command = [sys.executable, "-m", "whence", "run", "one.dl", "--engine", "spark"]
    ended = subprocess.run(
        [*command, "--conf", "spark.driver.memory=1k"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "W1064" in ended.stderr
    assert "Too small maximum heap" in ended.stderr
