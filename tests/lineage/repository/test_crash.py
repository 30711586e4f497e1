"""After a crash at any point a repository is as it was before a change or after it, never between."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import pytest

from lineage.repository import killed
from lineage.repository.killed import graph_of
from store.disk import Disk, Recording, put
from whence.lineage.reduced import reduced_of
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.repository import Repository
from whence.lineage.repository.snapshot import Snapshot

KILLS = int(os.environ.get("WHENCE_KILLS", "50"))
State = tuple[tuple[object, ...], ...]


def state(repository: Repository) -> State:
    """Return what a repository says: by its edges, by its indexes, and of what was deleted."""
    snapshot = repository.snapshot()
    edges = [tuple(row.values()) for run in snapshot.runs for row in edge_rows(snapshot, run)]
    answer = repository.backward([(space, n) for space in ("u", "t0") for n in range(10)])
    return (snapshot.runs, tuple(edges), tuple(answer.entities), tuple(repository.deleted()))


def edge_rows(snapshot: Snapshot, run: Run) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = snapshot.edges(run).to_pylist()
    return rows


def live(folder: Path, random: Random, steps: int) -> tuple[Recording, list[tuple[int, State]]]:
    """Change a repository at random; return all writes, and the states with where they ended."""
    files = Recording(folder)
    repository = Repository(folder, files=files)
    states = [(0, state(repository))]
    compactions = 0
    for step in range(steps):
        if step > 1 and random.random() < 0.3:
            repository.compact()
            compactions += 1  # what it has put together is not replaced
        elif step and random.random() < 0.4:
            space = random.choice(["t", "u"])
            repository.delete((space, random.randint(0, 9)), derived=random.random() < 0.5)
        else:
            name = random.choice([None, f"again {compactions}"])
            repository.add(reduced_of(graph_of(step)), workflow="w", job="j", run=name)
        states.append((len(files.notes), state(repository)))
    return files, states


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_a_crash_leaves_one_state_or_the_next(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    files, states = live(tmp_path / "life", random, 6)
    disk = Disk.before(files)
    place = 0
    for number, note in enumerate(files.notes, 1):
        disk.do(note)
        while place + 1 < len(states) and states[place + 1][0] < number:
            place += 1
        if random.random() < 0.7:
            continue
        possible = [found for _, found in states[place : place + 2]]
        for left in (disk.kept(), disk.torn(random)):
            put(tmp_path / "crashed", left)
            repository = Repository(tmp_path / "crashed", files=Recording(tmp_path / "crashed"))
            assert state(repository) in possible, number
            repository.add(reduced_of(graph_of(99)), workflow="w", job="last")
            names = {path.name for path in (tmp_path / "crashed").iterdir()}
            assert names == {*repository.snapshot().manifest.files(), "lock", "manifest.json"}


def kill_often(folder: Path, times: int, seed: int) -> None:
    random = Random(seed)
    done = 0
    for _ in range(times):
        command = [sys.executable, killed.__file__, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"%d\n" % done, "the child found all of it"
                time.sleep(random.random() ** 2 * 0.2)
            finally:
                child.kill()
            said = child.stdout.read().split()
        reported = int(said[-1]) if said else done
        runs = Repository(folder).runs
        assert len(runs) in (reported, reported + 1)
        assert [run.run for run in runs] == [str(n) for n in range(1, len(runs) + 1)]
        done = len(runs)
    with tempfile.TemporaryDirectory() as other:
        judge = Repository(other, files=Recording(Path(other)))
        found = Repository(folder)
        for run in found.runs:
            judge.add(reduced_of(graph_of(run.number)), workflow="w", job="j")
        assert state(found)[1:] == state(judge)[1:]


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "r", 3, 1)


@pytest.mark.slow
@pytest.mark.cluster
def test_many_kills_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "r", KILLS, 2)
