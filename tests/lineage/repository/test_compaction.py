"""Runs become one: answers stay, readers are not disturbed, and a kill leaves it done or not done."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from lineage.repository import compacted
from lineage.repository.compacted import names
from lineage.repository.killed import graph_of
from lineage.repository.test_answers import asked, judge
from lineage.repository.workflows import Job, Quick, kept, workflows
from whence.diagnostics import UsageError
from whence.lineage.reduced import Link, Name, reduced_of
from whence.lineage.repository.repository import Repository

KILLS = int(os.environ.get("WHENCE_KILLS", "50"))


@settings(max_examples=15)
@given(workflows, workflows, asked)
def test_answers_are_the_same_after_a_compaction(
    jobs: list[Job], later: list[Job], asked: list[Name]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = kept(Path(folder) / "r", jobs)
        repository.compact()
        assert len(repository.runs) == len({job.name for job in jobs})
        judge(repository, jobs, asked)
        for job in later:
            repository.add(job.table(), workflow="w", job=job.name)
        judge(repository, [*jobs, *later], asked)
        repository.compact()  # what was compacted is compacted again, with what came after
        judge(Repository(repository.path), [*jobs, *later], asked)
        assert len(repository.runs) == len({job.name for job in [*jobs, *later]})


def one(number: int) -> list[tuple[Link, Name, Name]]:
    return [(Link.PAIR, ("out", number), ("in", number))]


def test_only_runs_before_a_time_and_no_more_edges_than_said(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", files=Quick())
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 7)]
    for number, day in enumerate(days):
        repository.add(reduced_of(one(number)), workflow="w", job="j", started=day, ended=day)
    (made,) = repository.compact(before=days[3])
    assert (made.started, made.ended, made.compacted) == (days[0], days[2], ("1", "2", "3"))
    assert [run.run for run in repository.runs] == ["3", "4", "5", "6"]
    answer = repository.forward([("in", n) for n in range(6)], since=days[1], until=days[2])
    assert set(answer.ends) == {("out", 0), ("out", 1), ("out", 2)}  # the whole of it, or nothing
    assert repository.compact(most=2) != []
    assert [run.edges for run in repository.runs] == [3, 2, 1]
    assert repository.compact(most=2) == []
    files = {path.name for path in repository.path.iterdir()}
    assert files == {*repository.snapshot().manifest.files(), "lock", "manifest.json"}


def test_a_compacted_run_is_not_replaced(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", files=Quick())
    for number in (1, 2):
        repository.add(reduced_of(one(number)), workflow="w", job="j", run=f"day {number}")
    repository.compact()
    for number in (1, 2):
        with pytest.raises(UsageError, match="W1204"):
            repository.add(reduced_of(one(7)), workflow="w", job="j", run=f"day {number}")
    repository.add(reduced_of(one(7)), workflow="w", job="other", run="day 1")
    assert len(repository.runs) == 2


def test_a_run_without_a_name_takes_no_place(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", files=Quick())
    repository.add(reduced_of(one(1)), workflow="w", job="j", run="2")
    repository.add(reduced_of(one(2)), workflow="w", job="j")
    assert [run.run for run in repository.runs] == ["2", "3"]


def test_readers_are_not_disturbed(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", files=Quick())
    for number in range(4):
        repository.add(reduced_of(one(number)), workflow="w", job="j")
    over, seen = threading.Event(), []

    def read() -> None:
        reader = Repository(repository.path)
        while not over.is_set():
            found = Repository(repository.path) if len(seen) % 2 else reader
            seen.append(set(found.forward([("in", n) for n in range(4)]).ends))

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(4, 12):
        repository.compact()
        repository.add(reduced_of(one(number)), workflow="w", job="j")
    over.set()
    thread.join()
    assert seen
    assert all(ends == {("out", n) for n in range(4)} for ends in seen)


def kill_often(folder: Path, times: int, seed: int) -> None:
    random = Random(seed)
    done = 0
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for _ in range(times):
        command = [sys.executable, compacted.__file__, str(folder)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, **paths}
        ) as child:
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"%d\n" % done, "the child found all of it"
                time.sleep(random.random() ** 2 * 0.2)
            finally:
                child.kill()
            said = child.stdout.read().split()
        told = int(said[-1]) if said else done
        there = names(Repository(folder))
        assert sorted(map(int, there)) == list(range(1, len(there) + 1))
        assert len(there) in (told, told + 1)
        done = len(there)
    found = Repository(folder)
    with tempfile.TemporaryDirectory() as other:
        whole = Repository(other, files=Quick())
        for number in range(1, done + 1):
            whole.add(reduced_of(graph_of(number)), workflow="w", job="j")
        rows = [(space, n) for space in ("u", "t0", "t1", "t2") for n in range(10)]
        for row in rows:
            assert found.backward(row).entities == whole.backward(row).entities


def test_a_few_kills_leave_a_compaction_done_or_not_done(tmp_path: Path) -> None:
    kill_often(tmp_path / "r", 4, 1)


@pytest.mark.slow
@pytest.mark.cluster
def test_many_kills_leave_a_compaction_done_or_not_done(tmp_path: Path) -> None:
    kill_often(tmp_path / "r", KILLS, 2)
