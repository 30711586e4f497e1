"""A writer that is killed at any moment leaves whole segments, and others go on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

import pytest

from lineage.log.writers import Judge, started
from whence.lineage.log import Topic, open_log


def kill_often(folder: Path, times: int, seed: int, *options: str) -> None:
    random = Random(seed)
    log = open_log(folder, sync=False)
    log.create(Topic("t"))
    judge = Judge(log, "t")
    with started(folder, 0, *options) as killed, started(folder, 1, "steady") as steady:
        assert killed.stdin is not None
        assert killed.stdout is not None
        assert steady.stdin is not None
        assert steady.stdout is not None
        steady.stdin.write(b"0\n")
        steady.stdin.flush()
        steady_pid = int(steady.stdout.readline().split()[1])
        steady.stdout.readline()  # it has begun
        number = 0
        for _ in range(times):
            killed.stdin.write(b"%d\n" % number)
            killed.stdin.flush()
            pid = int(killed.stdout.readline().split()[1])
            said = number
            if random.random() < 0.7:  # a first commit may take long on a busy machine
                said = int(killed.stdout.readline())
            time.sleep(random.random() ** 2 * 0.03)
            os.kill(pid, signal.SIGKILL)
            while (line := killed.stdout.readline()) != b"dead\n":
                said = int(line)
            found = judge.look().get(0, 0)
            assert found in (said, said + 2), "what was told is there, and at most one commit more"
            number = found
        os.kill(steady_pid, signal.SIGKILL)
        steady.stdin.close()
        told = [2, *(int(line) for line in steady.stdout if line != b"dead\n")]
    assert judge.look()[1] in (told[-1], told[-1] + 2)
    assert number > 0


def test_a_few_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "log", 4, 1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("sync",)])
def test_many_kills_lose_and_double_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    kill_often(tmp_path / "log", 5 if options else 25, 2, *options)


def test_what_a_killed_writer_left_is_removed_after_a_day(tmp_path: Path) -> None:
    log = open_log(tmp_path, sync=False)
    log.create(Topic("t"))
    folder = tmp_path / "t" / "partition-000"
    for name, age in (("old.tmp", 25 * 3600), ("new.tmp", 3600)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    assert log.end_offsets("t") == [0]
    log.retain("t", newest=0)
    assert sorted(path.name for path in folder.iterdir()) == ["lock", "new.tmp"]
