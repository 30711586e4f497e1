"""A driver that is killed at any point goes on as if it had not been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spark.streams import SAME_GENERATION, Feed, rows_of
from whence import spark as on_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.cluster]

Row = tuple[Any, ...]
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


def changes(spark: Any, state: Path, name: str) -> set[Row]:
    """Return all changes, each with its batch, none of them twice."""
    return rows_of(on_spark.changes(spark, state, name))


def ends(state: Path) -> list[int]:
    """Return the number of the last file of each batch, as Spark has noted it."""
    notes = {
        int(p.name): p.read_text() for p in (state / "spark/offsets").iterdir() if p.suffix == ""
    }
    assert sorted(notes) == list(range(len(notes)))
    return [json.loads(notes[n].splitlines()[-1])["logOffset"] for n in range(len(notes))]


def together(each: set[Row], files: list[int]) -> set[Row]:
    """Return what changes of one file each come to where batches end with these files."""
    batch_of = {file: next(n for n, end in enumerate(files) if file <= end) for *_, file in each}
    count = Counter[tuple[Any, ...]]()
    for op, *row, file in each:
        count[(*row, batch_of[file])] += 1 if op == "+" else -1
    assert set(count.values()) <= {-1, 0, 1}
    return {("+" if n > 0 else "-", *row) for row, n in count.items() if n}


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
    # A driver that is killed after its source has noted a file, and before Spark has noted the
    # batch, takes that file together with the next one.
    assert ends(calm) == list(range(feed.written))
    assert ends(state)[-1] == feed.written - 1
    for name in NAMES:
        expected = feed.expected(SAME_GENERATION, name)
        assert rows_of(on_spark.view(spark, state, name)) == expected
        assert rows_of(on_spark.view(spark, calm, name)) == expected
        assert changes(spark, state, name) == together(changes(spark, calm, name), ends(state))
    assert sorted(os.listdir(state / "staging")) == []
