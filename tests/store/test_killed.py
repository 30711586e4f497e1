"""A process that is killed at any moment has lost nothing that it had committed."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from store.worker import judge, started
from whence.store import Reader, Store


def kill_often(folder: Path, times: int, seed: int) -> None:
    random = Random(seed)
    commit = 0
    for _ in range(times):
        options = random.choice(((), ("unsynced",)))
        with started(folder, 10**9, random.choice((1, 3, 10, 1000)), *options) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"%d\n" % commit, "the child found all of it"
            time.sleep(random.random() ** 2 * 0.03)
            child.kill()
            said = child.stdout.read().split()
        reported = int(said[-1]) if said else commit
        with Reader.open(folder) as reader:  # before any recovery
            assert judge(reader.recovered) in (reported, reported + 1)
        with Store.open(folder) as store:
            commit = judge(store.recovered)
        assert commit in (reported, reported + 1)
    assert commit > 0


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "db", 5, 1)


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "db", 200, 2)
