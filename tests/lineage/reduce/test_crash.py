"""A reduction whose process dies at any change of a file, or whose device is full, goes on right."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lineage.reduce.test_killed import written
from store.disk import Disk, Killed, Recording, SyncFolder, Unsynced
from whence.lineage.log import open_log
from whence.lineage.reduce import durable
from whence.lineage.reduce.resumed import LogReduction
from whence.lineage.reduced import REDUCED, Pair, pairs_of


class Noted(Recording):
    """Notes changes of a state, whose files are in two folders and have different names."""

    def sync_folder(self, path: Path) -> None:
        self.live_on()
        self.notes.append(SyncFolder())


def found(folder: Path, state: Path) -> set[Pair]:
    steps = LogReduction(open_log(folder / "log"), "job").in_steps(state, step=150)
    return pairs_of(pa.Table.from_batches(steps, REDUCED))


def put(state: Path, files: dict[str, bytes]) -> None:
    (state / "steps").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        folder = state if name.startswith("committed") else state / "steps"
        (folder / name).write_bytes(content)


def test_a_kill_at_any_change_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = pairs_of(written(tmp_path, 25))
    for life in range(0, 1000, 3):
        state = tmp_path / f"state-{life}"
        files = Noted(state)
        files.life = life
        monkeypatch.setattr(durable, "_FILES", files)
        try:
            assert found(tmp_path, state) == expected
            break  # it lived to the end
        except Killed:
            monkeypatch.setattr(durable, "_FILES", Unsynced())
            assert found(tmp_path, state) == expected, life
    assert life > 20


def test_a_power_failure_at_any_change_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, random = pairs_of(written(tmp_path, 25)), Random(3)
    files = Noted(tmp_path / "whole")
    monkeypatch.setattr(durable, "_FILES", files)
    assert found(tmp_path, tmp_path / "whole") == expected
    monkeypatch.setattr(durable, "_FILES", Unsynced())
    disk = Disk.before(files)
    for number, note in enumerate(files.notes):
        disk.do(note)
        if number % 3:
            continue
        state = tmp_path / f"state-{number}"
        put(state, disk.torn(random))
        assert found(tmp_path, state) == expected, number


def test_a_full_device_is_told_and_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = pairs_of(written(tmp_path, 25))
    for room in (0, 100, 3_000):
        state = tmp_path / f"state-{room}"
        files = Noted(state)
        files.room = room
        monkeypatch.setattr(durable, "_FILES", files)
        with pytest.raises(OSError, match="No space"):
            found(tmp_path, state)
        monkeypatch.setattr(durable, "_FILES", Unsynced())
        assert found(tmp_path, state) == expected
