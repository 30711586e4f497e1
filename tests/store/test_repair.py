"""Repair saves what is whole into a new folder, and says what is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.life import pack, reopened
from whence.diagnostics import UsageError, WhenceError
from whence.store import Report, Store, check, repair

HISTORY = [b"first", b"second", b"third", b"fourth"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "db") as store:
        for number, body in enumerate(HISTORY, 1):
            store.append(body)
            if number == 2:
                store.checkpoint(pack(HISTORY[:2]))
    return tmp_path / "db"


def spoil(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


def test_a_whole_store_is_copied_with_its_numbers(folder: Path, tmp_path: Path) -> None:
    assert check(folder) == Report(4, 2, 2)
    assert repair(folder, tmp_path / "new") == Report(4, 2, 2, lost=0)
    assert reopened(tmp_path / "new") == HISTORY


def test_batches_before_the_damage_are_saved(folder: Path, tmp_path: Path) -> None:
    before = {p.name: p.read_bytes() for p in folder.glob("snap*")}
    spoil(folder / "log-000000000003.wal", -1)
    with pytest.raises(WhenceError, match="W0664"):
        check(folder)
    assert repair(folder, tmp_path / "new") == Report(3, 2, 1, lost=1)
    assert reopened(tmp_path / "new") == HISTORY[:3]
    assert {p.name: p.read_bytes() for p in folder.glob("snap*")} == before
    with Store.open(tmp_path / "new") as store:
        assert store.append(b"again") == 4


def test_a_lost_mark_is_made_again(folder: Path, tmp_path: Path) -> None:
    (folder / "mark").unlink()
    with pytest.raises(WhenceError, match=r"W0666.*mark"):
        check(folder)
    assert repair(folder, tmp_path / "new") == Report(4, 2, 2)
    assert reopened(tmp_path / "new") == HISTORY


def test_a_damaged_mark_is_made_again(folder: Path, tmp_path: Path) -> None:
    spoil(folder / "mark", 20)
    with pytest.raises(WhenceError, match="W0667"):
        check(folder)
    assert repair(folder, tmp_path / "new").commit == 4


def test_a_damaged_snapshot_without_an_older_one_leaves_nothing(
    folder: Path, tmp_path: Path
) -> None:
    spoil(folder / "snapshot-000000000002.snap", -1)
    assert repair(folder, tmp_path / "new") == Report(0, 0, 0, lost=4)


def test_a_segment_whose_header_is_damaged_is_given_up(folder: Path, tmp_path: Path) -> None:
    spoil(folder / "log-000000000003.wal", 30)
    assert repair(folder, tmp_path / "new") == Report(2, 2, 0, lost=2)
    assert reopened(tmp_path / "new") == HISTORY[:2]


def test_repair_overwrites_nothing(folder: Path, tmp_path: Path) -> None:
    for target in (folder, folder / "lock"):
        with pytest.raises(UsageError, match="W0660"):
            repair(folder, target)
    with pytest.raises(WhenceError, match="W0671"):
        repair(tmp_path / "absent", tmp_path / "new")
    (tmp_path / "empty").mkdir()
    with pytest.raises(WhenceError, match="W0671"):
        repair(tmp_path / "empty", tmp_path / "new")


def test_a_store_in_use_is_not_repaired(folder: Path, tmp_path: Path) -> None:
    with Store.open(folder), pytest.raises(UsageError, match="W0662"):
        repair(folder, tmp_path / "new")


def test_a_newer_format_is_not_repaired(folder: Path, tmp_path: Path) -> None:
    from whence.store.framing import preamble

    for path in folder.glob("*-*"):
        path.write_bytes(preamble(9) + path.read_bytes()[16:])
    with pytest.raises(WhenceError, match="W0663"):
        repair(folder, tmp_path / "new")
