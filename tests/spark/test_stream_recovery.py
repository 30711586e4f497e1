"""A driver that is killed at any point goes on as if it had not been."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spark.streams import SAME_GENERATION, Feed, rows_of
from whence import spark as on_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.cluster]

TESTS = Path(__file__).parents[1]
NAMES = ("sg", "cousins", "alone")
KILLS = int(os.environ.get("WHENCE_KILLS", "20"))


def start(feed: Feed, state: Path) -> subprocess.Popen[bytes]:
    """Start a driver in a process group of its own."""
    script = Path(__file__).with_name("stream_driver.py")
    return subprocess.Popen(
        [sys.executable, str(script), str(feed.folder), str(state)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def traces(state: Path) -> tuple[object, ...]:
    """Return what changes on disk when a driver is at work."""
    parts = ("deltas", "staging", "changes/sg", "snapshots")
    names = [sorted(os.listdir(state / p)) if (state / p).is_dir() else [] for p in parts]
    committed = state / "committed"
    return (*map(tuple, names), committed.stat().st_mtime_ns if committed.exists() else 0)


def kill(driver: subprocess.Popen[bytes], whole: bool) -> None:
    """Kill the driver; with `whole` its JVM and workers too, else they notice by themselves."""
    if whole:
        os.killpg(driver.pid, signal.SIGKILL)
    else:
        driver.kill()
    driver.communicate()
    until = time.monotonic() + 60
    while time.monotonic() < until:  # the JVM ends when its driver has
        try:
            os.killpg(driver.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(driver.pid, signal.SIGKILL)


def states(spark: Any, state: Path, name: str) -> list[frozenset[tuple[Any, ...]]]:
    """Return what the changes of each batch have led to, each of which has to fit."""
    found: list[frozenset[tuple[Any, ...]]] = [frozenset()]
    there: set[tuple[Any, ...]] = set()
    rows = sorted(rows_of(on_spark.changes(spark, state, name)), key=lambda r: (r[-1], r[0] != "-"))
    for _, batch in itertools.groupby(rows, key=lambda row: row[-1]):
        for op, *row, _ in batch:
            if op == "-":
                there.remove(tuple(row))
            else:
                assert tuple(row) not in there
                there.add(tuple(row))
        found.append(frozenset(there))
    return found


def is_way_through(part: list[Any], whole: list[Any]) -> bool:
    """Say whether a list is another one with some of its elements left out."""
    left = iter(whole)
    return all(any(one == other for other in left) for one in part)


@pytest.mark.timeout(3600)
def test_a_driver_killed_at_random_points_changes_nothing(spark: Any, tmp_path: Path) -> None:
    chance = random.Random(2)
    feed = Feed(tmp_path / "in", ["up", "down", "flat"], nodes=7)
    for _ in range(3 * KILLS + 2):
        feed.write(12)
    state = tmp_path / "killed"
    kills = 0
    while kills < KILLS:
        driver, before = start(feed, state), traces(state)
        now = before
        for _ in range(chance.randrange(1, 8)):  # a batch leaves about four traces
            while driver.poll() is None and (now := traces(state)) == before:
                time.sleep(0.002)
            before = now
        time.sleep(chance.choice([0, 0.005, 0.02, 0.3 * chance.random()]))
        if driver.poll() is not None:
            assert driver.returncode == 0, driver.communicate()[1].decode()
            break
        kill(driver, whole=chance.random() < 0.5)
        kills += 1
    done = on_spark.last_batch(state)
    last = start(feed, state)
    assert last.wait(1200) == 0, last.communicate()[1].decode()
    last.communicate()
    assert kills == KILLS, "the driver was done before it was killed often enough"
    assert done < feed.written - 1
    calm = tmp_path / "calm"
    other = start(feed, calm)
    assert other.wait(1200) == 0, other.communicate()[1].decode()
    other.communicate()
    for name in NAMES:
        expected = feed.expected(SAME_GENERATION, name)
        assert rows_of(on_spark.view(spark, state, name)) == expected
        assert rows_of(on_spark.view(spark, calm, name)) == expected
        killed_states, calm_states = states(spark, state, name), states(spark, calm, name)
        assert killed_states[-1] == calm_states[-1] == expected
        # A driver that is killed after its source has noted a file, and before Spark has noted the
        # batch, takes that file together with the next one.
        assert is_way_through(killed_states, calm_states)
        assert len(killed_states) > len(calm_states) // 2
    assert sorted(os.listdir(state / "staging")) == []
