"""Tasks that fail and shuffles that get lost neither lose edges nor tell them twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lineage.capture.captured import Name, inputs_of
from whence.lineage.capture.staging import Staged, _once
from whence.lineage.events import Edge, Kind, edges_of
from whence.lineage.log import open_log

SCRIPT = Path(__file__).with_name("mishaps.py")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("mishaps")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), folder / "log"


def edges(log: Path, job: str) -> list[Edge]:
    return [e for _, batch in open_log(log).read(f"w.{job}", 0) for e in edges_of(batch)]


def rows(found: list[Edge]) -> list[frozenset[Name]]:
    """The inputs of each collected row, in their order."""
    reached = inputs_of(found, {"in"})
    return [reached[name] for name in sorted(reached) if name[0].endswith("/row")]


def repeated(found: list[Edge]) -> list[tuple[Any, int]]:
    said = Counter((e.kind, e.source, e.target) for e in found)
    return [(edge, times) for edge, times in said.items() if times > 1]


def place(n: int) -> Name:
    return ("in", n if n < 20 else (1 << 33) + n - 20)


@pytest.mark.spark
@pytest.mark.slow
def test_attempts_that_fail_leave_nothing(ran: tuple[dict[str, Any], Path]) -> None:
    found = edges(ran[1], "frames")
    assert sorted(ran[0]["frames"]) == [[k, 8] for k in range(5)]
    assert repeated(found) == []
    # What a partition gives comes from all of it, so each row comes from every input.
    assert rows(found) == [frozenset(("in", n) for n in range(40))] * 5
    assert any(edge.attempt for edge in found)


@pytest.mark.spark
@pytest.mark.slow
def test_attempts_of_rdds_that_fail_leave_nothing(ran: tuple[dict[str, Any], Path]) -> None:
    found = edges(ran[1], "rdds")
    assert repeated(found) == []
    meant = [frozenset(place(n) for n in range(40) if n % 5 == key) for key, _ in ran[0]["rdds"]]
    assert rows(found) == meant
    assert any(edge.attempt for edge in found)


@pytest.mark.spark
@pytest.mark.slow
def test_a_shuffle_that_is_computed_again_is_told_once(ran: tuple[dict[str, Any], Path]) -> None:
    found = edges(ran[1], "lost")
    assert repeated(found) == []
    meant = [frozenset(place(n) for n in range(40) if n % 5 == key) for key, _ in ran[0]["lost"]]
    assert rows(found) == meant
    assert len(meant) == 10


def staged(stage: int, partition: int, attempt: int) -> Staged:
    return Staged("op", stage, partition, attempt, 0, f"{attempt}", 1)


def test_of_attempts_of_a_task_the_first_that_succeeds_counts() -> None:
    found = [staged(1, 0, 5), staged(1, 1, 6), staged(1, 0, 7)]
    assert _once(found) == found[:2]


def test_an_operator_that_a_plan_holds_twice_counts_once() -> None:
    found = [staged(4, 0, 1), staged(2, 0, 2), staged(4, 1, 3), staged(2, 1, 4), staged(2, 2, 5)]
    assert _once(found) == [found[1], found[3], found[4]]


def test_jobs_that_look_at_one_partition_after_the_other_count_together() -> None:
    found = [staged(1, 0, 1), staged(2, 1, 2), staged(2, 2, 3)]
    assert _once(found) == found


def test_end_markers_have_no_target() -> None:
    from datetime import UTC, datetime

    import numpy as np

    from whence.lineage.capture.executions import Place, Used, of_rows

    used = [Used("in", np.array([0, 1, 1]), np.array([7, 8, 8]))]
    batch = of_rows("do", "out", used, 0, Place(3, 1, datetime.now(UTC)))
    first = 3 << 33
    assert [(e.kind, e.source, e.target) for e in edges_of(batch)] == [
        (Kind.USED, ("do", first), ("in", 7)),
        (Kind.USED, ("do", first + 1), ("in", 8)),
        (Kind.GENERATED, ("out", first), ("do", first)),
        (Kind.GENERATED, ("out", first + 1), ("do", first + 1)),
        (Kind.END, ("do", first), None),
        (Kind.END, ("do", first + 1), None),
    ]
