"""After a power failure at any point all committed segments are there, and at most one besides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from lineage.log.writers import rows, segment
from store.disk import Disk, Entry, Killed, Recording, put
from whence.lineage.log import Topic
from whence.lineage.log.directory import DirectoryLog

SEEDS = [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 12))]


class Linking(Recording):
    """Notes second names, too."""

    def link(self, source: Path, target: Path) -> bool:
        self.live_on()
        done = super().link(source, target)
        if done:
            self.files[target.name] = self.files[source.name]
            self.notes.append(Entry(((target.name, self.files[source.name]),)))
        return done


@dataclass(frozen=True)
class Step:
    """What was done between two notes: after it, segments `first` to `last` are there."""

    start: int
    end: int
    first: int
    last: int


def there(log: DirectoryLog) -> tuple[int, int]:
    """Return the first and the last number of the segments, all of which are whole."""
    numbers: list[int] = []
    for _, batch in log.read("t", 0):
        number = batch.column("source")[0].as_py()
        assert batch.equals(segment(1, number))
        numbers.append(number)
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True
    return (numbers[0], numbers[-1] + 1) if numbers else (0, 0)


def live(path: Path, random: Random, steps: int) -> tuple[Linking, list[Step]]:
    """Append, forget and be killed at random."""
    DirectoryLog(path).create(Topic("t"))
    files = Linking(path / "t" / "partition-000")
    log = DirectoryLog(path, files=files)
    found = [Step(0, 0, 0, 0)]
    first = last = 0
    for _ in range(steps):
        start = len(files.notes)
        if random.random() < 0.3:
            files.life = random.randint(0, 12)
        try:
            if random.random() < 0.8:
                log.append("t", 0, segment(1, last))
            else:
                log.retain("t", newest=random.choice((0, 3000, 10_000)))
        except Killed:
            pass
        files.life = None
        before = last
        first, last = there(log)
        if first == last:  # everything is forgotten; numbers go on
            last = max(before, _after_all(log))
            first = last
        found.append(Step(start, len(files.notes), first, last))
    return files, found


def _after_all(log: DirectoryLog) -> int:
    """Return the number of segments whose rows come before the end."""
    left, number = log.end_offsets("t")[0], 0
    while left > 0:
        left -= rows(1, number)
        number += 1
    return number


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_at_any_point_loses_nothing_that_was_committed(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    files, steps = live(tmp_path / "live", random, 16)
    log = DirectoryLog(tmp_path / "crashed", sync=False)
    log.create(Topic("t"))
    disk = Disk.before(files)
    for at, note in enumerate(files.notes, 1):
        disk.do(note)
        if random.random() < 0.7:
            continue
        put(log.path / "t" / "partition-000", disk.torn(random))
        found, end = there(log), _after_all(log)
        now = next(step for step in steps if at <= step.end)
        done = [step for step in steps if step.end <= at][-1]
        assert end in {done.last, now.last}
        if found != (0, 0):
            assert found[0] in {done.first, now.first}
            assert found[1] == end
        else:
            assert end in {done.first, now.first}
        number = end
        log.append("t", 0, segment(1, number))  # and it goes on
        assert there(log)[1] == number + 1
