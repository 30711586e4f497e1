"""Folders of older formats are brought up; those of newer ones are refused."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from zlib import crc32

import pytest

from store.disk import Disk, Recording, Unsynced, put
from store.life import looked_at, pack, read, reopened
from whence.diagnostics import DataError
from whence.store import Reader, Store
from whence.store.framing import FORMAT, preamble
from whence.store.migrate import MIGRATIONS

HISTORY = [b"first", b"", b"third" * 100, b"fourth"]


def format_0(history: list[bytes], snapshot: int | None, kept: int = 0) -> dict[str, bytes]:
    """Return the files of format 0: a snapshot as of a commit, a log from `kept` + 1 on."""
    log = b"WHENCE0\n"
    for number, body in enumerate(history, 1):
        if number > kept:
            log += struct.pack("<QII", number, len(body), crc32(body, number)) + body
    files = {"wal": log}
    if snapshot is not None:
        state = pack(history[:snapshot])
        files["snapshot"] = (
            b"WHENCE0\n" + struct.pack("<QI", snapshot, crc32(state, snapshot)) + state
        )
    return files


def test_every_older_format_has_a_migration() -> None:
    assert set(MIGRATIONS) == set(range(FORMAT))


@pytest.mark.parametrize(("snapshot", "kept"), [(None, 0), (0, 0), (2, 0), (2, 2), (2, 1), (4, 4)])
def test_format_0_is_brought_up_with_all_it_holds(
    snapshot: int | None, kept: int, tmp_path: Path
) -> None:
    put(tmp_path / "db", format_0(HISTORY, snapshot, kept))
    with Store.open(tmp_path / "db") as store:
        assert read(store.recovered) == HISTORY
        assert store.append(b"fifth") == 5
        assert not {"wal", "snapshot"} & {path.name for path in store.path.iterdir()}
    assert reopened(tmp_path / "db") == [*HISTORY, b"fifth"]


def test_a_torn_last_record_of_format_0_was_never_committed(tmp_path: Path) -> None:
    files = format_0(HISTORY, None)
    put(tmp_path / "db", {"wal": files["wal"][:-3]})
    assert reopened(tmp_path / "db") == HISTORY[:-1]


@pytest.mark.parametrize("name", ["wal", "snapshot"])
def test_damage_in_format_0_is_told_and_nothing_is_changed(name: str, tmp_path: Path) -> None:
    files = format_0(HISTORY, 2)
    files[name] = files[name][:25] + bytes([files[name][25] ^ 1]) + files[name][26:]
    put(tmp_path / "db", files)
    with pytest.raises(DataError, match=r"W066[45]"):
        Store.open(tmp_path / "db")
    for each, content in files.items():
        assert (tmp_path / "db" / each).read_bytes() == content


@pytest.mark.parametrize("name", ["wal", "snapshot"])
def test_a_file_of_format_0_that_is_none_is_told(name: str, tmp_path: Path) -> None:
    put(tmp_path / "db", {**format_0(HISTORY, 2), name: b"something else"})
    with pytest.raises(DataError, match=r"W066[45].*header is not that of a"):
        Store.open(tmp_path / "db")


def test_a_new_log_with_batches_and_no_mark_is_not_begun_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store.append(b"one")
    (tmp_path / "db" / "mark").unlink()
    with pytest.raises(DataError, match=r"W0666.*mark"):
        Store.open(tmp_path / "db")


def test_a_log_of_format_0_without_its_snapshot_is_told(tmp_path: Path) -> None:
    put(tmp_path / "db", {"wal": format_0(HISTORY, 2, 2)["wal"]})
    with pytest.raises(DataError, match="begins with batch 3"):
        Store.open(tmp_path / "db")


def test_a_migration_can_be_interrupted_anywhere(tmp_path: Path) -> None:
    put(tmp_path / "first", format_0(HISTORY, 2))
    files = Recording(tmp_path / "first")
    Store.open(tmp_path / "first", files=files).close()
    random = Random(7)
    disk = Disk.before(files)
    for point in range(len(files.notes) + 1):
        if point:
            disk.do(files.notes[point - 1])
        for left in (disk.kept(), *(disk.torn(random) for _ in range(10))):
            put(tmp_path / "crashed", left)
            assert reopened(tmp_path / "crashed", Unsynced()) == HISTORY
            assert looked_at(tmp_path / "crashed") == HISTORY


def test_readers_leave_migration_to_a_writer(tmp_path: Path) -> None:
    put(tmp_path / "db", format_0(HISTORY, 2))
    with pytest.raises(DataError, match=r"W0672.*old format 0"):
        Reader.open(tmp_path / "db")


@pytest.mark.parametrize("pattern", ["mark", "log-*", "snapshot-*"])
def test_a_newer_format_is_refused_and_not_called_damage(pattern: str, tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store.append(b"one")
        store.checkpoint(pack([b"one"]))
    (path,) = (tmp_path / "db").glob(pattern)
    path.write_bytes(preamble(FORMAT + 1) + path.read_bytes()[16:])
    for opened in (Store.open, Reader.open):
        with pytest.raises(DataError, match=rf"W0663.*format {FORMAT + 1}"):
            opened(tmp_path / "db")
