"""After a crash at any point every committed batch is there, at most the one on its way besides."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from store.disk import Disk, Killed, Recording, Unsynced, put
from store.life import looked_at, pack, read, reopened
from whence.diagnostics import DataError
from whence.store import Store

SEEDS = [*range(4), *(pytest.param(n, marks=pytest.mark.slow) for n in range(4, 30))]


@dataclass(frozen=True)
class Attempt:
    """A batch and the notes between which it was on its way; `done` when its append returned."""

    body: bytes
    start: int
    end: int
    done: bool


def attempt(store: Store, files: Recording, history: list[bytes], body: bytes) -> str:
    """Append, and return how that ended; who may be killed makes a checkpoint, too."""
    try:
        store.append(body)
        if files.life:
            store.checkpoint(pack([*history, body]))
    except DataError:
        return "failed"
    except Killed:
        return "killed"
    return "committed"


def live(folder: Path, random: Random, steps: int) -> tuple[Recording, list[Attempt]]:
    """Do things at random to a new store in this folder."""
    files = Recording(folder)
    attempts: list[Attempt] = []
    store = Store.open(folder, files=files)
    history: list[bytes] = []
    for _ in range(steps):
        what = random.random()
        if what < 0.12:
            store.close()
            store = Store.open(folder, files=files)
            assert read(store.recovered) == history
        elif what < 0.27:
            store.checkpoint(pack(history))
        else:
            body = random.randbytes(random.choice((0, 1, 7, 100, 600, 1500)))
            start = len(files.notes)
            if what > 0.85:
                files.life = random.randint(0, 12)
            if what < 0.4:
                files.room = random.randint(0, len(body) + 60)
            elif what < 0.47:
                files.fail_sync = errno.ENOSPC
            outcome = attempt(store, files, history, body)
            if outcome == "killed":
                files.life = None
                del store
                store = Store.open(folder, files=files)
                found = read(store.recovered)
                assert found in (history, [*history, body])
                outcome = "committed" if found != history else "failed"
            done = outcome == "committed"
            attempts.append(Attempt(body, start, len(files.notes), done))
            if done:
                history.append(body)
            files.room = files.fail_sync = files.life = None
    if random.random() < 0.5:
        store.close()
    del store
    return files, attempts


def allowed(attempts: list[Attempt], point: int) -> list[list[bytes]]:
    """Return the histories that a crash after this many notes may leave."""
    sure = [a.body for a in attempts if a.done and a.end <= point]
    going = [a.body for a in attempts if a.start < point < a.end]
    return [sure, *([*sure, body] for body in going)]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_committed_batch_is_there_and_no_other(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    files, attempts = live(tmp_path / "first", random, steps=25)
    disk = Disk.before(files)
    states = 0
    for point in range(len(files.notes) + 1):
        if point:
            disk.do(files.notes[point - 1])
        histories = allowed(attempts, point)
        for left in (disk.kept(), *(disk.torn(random) for _ in range(4))):
            put(tmp_path / "crashed", left)
            found = reopened(tmp_path / "crashed", Unsynced())
            assert found in histories, f"after {point} notes"
            assert looked_at(tmp_path / "crashed") == found
            states += 1
    assert states > 300


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_while_recovering_from_a_crash_loses_nothing(seed: int, tmp_path: Path) -> None:
    random = Random(1000 + seed)
    files, attempts = live(tmp_path / "first", random, steps=12)
    for _ in range(8):
        point = random.randint(0, len(files.notes))
        disk = Disk.before(files)
        for note in files.notes[:point]:
            disk.do(note)
        histories = allowed(attempts, point)
        put(tmp_path / "second", disk.torn(random))
        again = Recording(tmp_path / "second")
        with Store.open(tmp_path / "second", files=again) as store:
            before = read(store.recovered)
            opened = len(again.notes)
            store.append(b"after")
            appended = len(again.notes)
        assert before in histories
        disk = Disk.before(again)
        for done in range(len(again.notes) + 1):
            if done:
                disk.do(again.notes[done - 1])
            put(tmp_path / "third", disk.torn(random))
            found = reopened(tmp_path / "third", Unsynced())
            if done >= appended:
                assert found == [*before, b"after"]
            elif done >= opened:
                assert found in (before, [*before, b"after"])
            else:
                assert found in histories


def test_the_simulated_disk_can_lose_what_is_not_synced(tmp_path: Path) -> None:
    """The judge is able to say no: without syncs, committed batches do get lost."""
    random = Random(0)
    files, attempts = live(tmp_path / "first", random, steps=25)
    disk = Disk.before(files)
    lost = 0
    for point, note in enumerate(files.notes, 1):
        if type(note).__name__ != "Sync":
            disk.do(note)
        put(tmp_path / "crashed", disk.torn(random))
        try:
            found = reopened(tmp_path / "crashed", Unsynced())
        except DataError:
            lost += 1
        else:
            lost += found not in allowed(attempts, point)
    assert lost > 20
