"""A reducer of a log that is killed at random goes on, and the reduced graph is the same."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from lineage.reduce import reducers
from lineage.reduce.streams import timed
from lineage.reduce.test_exact import layered
from whence.diagnostics import UsageError, WhenceError
from whence.lineage.events import batch_of, edges_of
from whence.lineage.log import Topic, open_log
from whence.lineage.partitioning import split
from whence.lineage.reduce import reduce
from whence.lineage.reduce.local_global import Settings
from whence.lineage.reduce.resumed import LogReduction
from whence.lineage.reduced import REDUCED, pairs_of

KILLS = int(os.environ.get("WHENCE_KILLS", "50"))


def written(folder: Path, width: int, *, ordered: bool = False) -> pa.Table:
    """Write a log of two partitions in small batches; return the reduced graph it has."""
    batch, _ = layered(7, 3, width)
    if ordered:  # what a pipeline would tell: executions one after the other, each with its end
        edges = sorted(edges_of(batch), key=lambda e: (_activity(e), int(e.kind) == 4))
        batch = batch_of(timed(edges))
    log = open_log(folder / "log", sync=False)
    log.create(Topic("job", 2, attempts=True))
    for begin in range(0, batch.num_rows, 150):
        for partition, part in split(batch.slice(begin, 150), "random", 2):
            log.append("job", partition, part)
    return reduce([batch], attempts=True).table


def _activity(edge: object) -> tuple[str, int]:
    kind, source, target = edge.kind, edge.source, edge.target  # type: ignore[attr-defined]
    found: tuple[str, int] = target if kind == 1 else source
    return found


@pytest.mark.slow
@pytest.mark.parametrize("watermark", [-1.0, 0.0])
def test_killed_at_random_points_the_reduced_graph_is_the_same(
    tmp_path: Path, watermark: float
) -> None:
    expected = written(tmp_path, 400, ordered=watermark >= 0)
    chance = random.Random(int(watermark) + 5)
    command = [sys.executable, reducers.__file__, str(tmp_path), str(watermark)]
    environment = {**os.environ, "WHENCE_INTERPRET": "1"}
    killed = 0
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        while killed < KILLS // 2:
            forking.stdin.write(b"\n")
            forking.stdin.flush()
            line = forking.stdout.readline()
            child = int(forking.stdout.readline() if line == b"done\n" else line)
            time.sleep(chance.random() * 0.3)
            with contextlib.suppress(ProcessLookupError):  # it may have ended
                os.kill(child, signal.SIGKILL)
            killed += 1
            ended = (tmp_path / "result.arrow").exists()
            if ended:  # the next begins from nothing again
                assert _result(tmp_path) == pairs_of(expected)
                (tmp_path / "result.arrow").unlink()
                for name in os.listdir(tmp_path / "state" / "steps"):
                    (tmp_path / "state" / "steps" / name).unlink()
                (tmp_path / "state" / "committed").unlink()
        forking.stdin.close()
    reducers.reduce(tmp_path, None if watermark < 0 else watermark)
    assert _result(tmp_path) == pairs_of(expected)


def _result(folder: Path) -> set[object]:
    with pa.OSFile(str(folder / "result.arrow")) as file:
        return set(pairs_of(pa.ipc.open_file(file).read_all().cast(REDUCED)))


def test_a_reduction_goes_on_where_it_stopped(tmp_path: Path) -> None:
    expected = written(tmp_path, 30)
    log = open_log(tmp_path / "log")
    begun = LogReduction(log, "job")
    steps = iter(begun.in_steps(tmp_path / "state", step=100, progress=_stop_after(2)))
    with pytest.raises(KeyboardInterrupt):
        list(steps)
    gone_on = LogReduction(log, "job")
    table = pa.Table.from_batches(gone_on.in_steps(tmp_path / "state", step=100), REDUCED)
    assert pairs_of(table) == pairs_of(expected)
    whole = LogReduction(log, "job")
    assert pairs_of(pa.Table.from_batches(whole.at_once(), REDUCED)) == pairs_of(expected)
    assert gone_on.flow.edges == whole.flow.edges


def _stop_after(steps: int) -> object:
    left = [steps]

    def progress(_: object) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    return progress


def test_what_comes_later_is_reduced_with_what_was_there(tmp_path: Path) -> None:
    batch, _ = layered(3, 3, 20)
    log = open_log(tmp_path / "log")
    log.create(Topic("job", 1))
    log.append("job", 0, batch.slice(0, 100))
    list(LogReduction(log, "job").in_steps(tmp_path / "state"))
    log.append("job", 0, batch.slice(100))
    table = pa.Table.from_batches(LogReduction(log, "job").in_steps(tmp_path / "state"), REDUCED)
    assert pairs_of(table) == pairs_of(reduce([batch]).table)


def test_a_folder_of_another_reduction_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    log.create(Topic("job", 1))
    log.append("job", 0, layered(3, 1, 3)[0])
    list(LogReduction(log, "job").in_steps(tmp_path / "state"))
    other = LogReduction(log, "job", Settings(watermark=3))
    with pytest.raises(UsageError, match=r"W1129.*differs in watermark"):
        list(other.in_steps(tmp_path / "state"))


def test_two_reducers_never_share_a_folder(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    log.create(Topic("job", 1))
    log.append("job", 0, layered(3, 1, 3)[0])
    first = LogReduction(log, "job").in_steps(tmp_path / "state")
    next(first)
    with pytest.raises(WhenceError, match="W0662"):
        list(LogReduction(log, "job").in_steps(tmp_path / "state"))
    list(first)
    list(LogReduction(log, "job").in_steps(tmp_path / "state"))


def test_a_log_is_over_when_nothing_has_come_for_the_flush_time(tmp_path: Path) -> None:
    batch, _ = layered(3, 2, 20)
    log = open_log(tmp_path / "log")
    log.create(Topic("job", 1))
    log.append("job", 0, batch.slice(0, 100))
    later = threading.Timer(0.2, lambda: log.append("job", 0, batch.slice(100)))
    later.start()
    waiting = LogReduction(log, "job", Settings(flush_time=3.0))
    table = pa.Table.from_batches(waiting.at_once(), REDUCED)
    later.join()
    assert pairs_of(table) == pairs_of(reduce([batch]).table)
