"""A driver that reduces on Spark and is killed at random goes on, and the graph is the same."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lineage.reduce.test_exact import layered
from lineage.streaming import driver
from lineage.streaming.test_streaming import in_order, write_log
from whence.lineage.reduce import reduce
from whence.lineage.reduced import pairs_of
from whence.lineage.streaming import reduced

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.cluster]

KILLS = int(os.environ.get("WHENCE_KILLS", "4"))
TESTS = Path(__file__).parents[2]


def started(folder: Path) -> subprocess.Popen[bytes]:
    """Start a driver in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, driver.__file__, str(folder / "log"), str(folder / "state")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), *sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def steps(folder: Path) -> int:
    """Return how many files of steps there are."""
    found = folder / "state" / "steps"
    return len(os.listdir(found)) if found.is_dir() else 0


def killed(process: subprocess.Popen[bytes]) -> bool:
    """Kill a driver and what it started, and say whether it was still at work."""
    at_work = process.poll() is None
    if at_work:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return at_work


@pytest.mark.timeout(300 + 120 * KILLS)
def test_killed_at_random_points_the_reduced_graph_is_the_same(tmp_path: Path) -> None:
    batch = in_order(layered(9, 3, 120)[0])
    write_log(tmp_path / "log", batch, 40)
    expected = pairs_of(reduce([batch], attempts=True).table)
    chance, kills = random.Random(3), 0
    while kills < KILLS:
        process, before = started(tmp_path), steps(tmp_path)
        try:
            until = time.monotonic() + 120
            while steps(tmp_path) == before and process.poll() is None:
                assert time.monotonic() < until, "the driver does nothing"
                time.sleep(0.02)
            time.sleep(chance.random() * 2)
        finally:
            at_work = killed(process)
        kills += at_work
        if not at_work:  # it came to the end of the log: look at the graph, and do it all again
            assert process.returncode == 0
            assert pairs_of(reduced(tmp_path / "state")) == expected
            shutil.rmtree(tmp_path / "state")
    last = started(tmp_path)
    try:
        assert last.wait(300) == 0
    finally:
        killed(last)
    assert pairs_of(reduced(tmp_path / "state")) == expected
