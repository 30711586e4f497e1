"""Any changed byte, cut, or stray block is told, or changes nothing that counts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from store.disk import Unsynced, put
from store.life import looked_at, pack, reopened
from whence.diagnostics import DataError
from whence.store import Store

HISTORY = [b"first", b"", b"third" * 30, b"\0" * 20, b"fifth"]
QUICK = Unsynced()


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.store.reader._PATIENCE", 1)  # no writer is about


def made(folder: Path, *, closed: bool, snapshot: bool) -> dict[str, bytes]:
    """Return the files of a store that holds the history, closed or as a killed process leaves it."""
    store = Store.open(folder, files=Unsynced())
    for number, body in enumerate(HISTORY, 1):
        store.append(body)
        if snapshot and number == 2:
            store.checkpoint(pack(HISTORY[:2]))
    if closed:
        store.close()
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    store.close()
    return files


def survives(folder: Path, files: dict[str, bytes]) -> bool:
    """Return whether these files open, with all of the history; False when they are refused."""
    put(folder, files)
    try:
        seen = looked_at(folder)
    except DataError:
        seen = None
    try:
        found = reopened(folder, QUICK)
    except DataError:
        return False
    assert found == HISTORY
    assert seen in (None, HISTORY[: len(seen or ())])
    return True


def changes(content: bytes, values: tuple[int, ...], step: int) -> Iterator[tuple[int, bytes]]:
    for at in range(0, len(content), step):
        for value in values:
            yield at, content[:at] + bytes([content[at] ^ value]) + content[at + 1 :]


def flip_all(
    folder: Path, closed: bool, snapshot: bool, values: tuple[int, ...], sparse: int
) -> None:
    files = made(folder / "made", closed=closed, snapshot=snapshot)
    refused: dict[str, int] = {}
    for name, content in files.items():
        # Most of the mark is empty; it is gone through more quickly.
        step = sparse if name == "mark" else 1
        for at, changed in changes(content, values, step):
            told = not survives(folder / "db", {**files, name: changed})
            refused[name] = refused.get(name, 0) + told
            if not name.startswith(("mark", "lock")):
                assert told, f"byte {at} of {name}"
    assert refused["mark"] > 0


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_a_changed_byte_is_told(closed: bool, snapshot: bool, tmp_path: Path) -> None:
    flip_all(tmp_path, closed, snapshot, (0x01,), 5)


@pytest.mark.slow
@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_a_byte_changed_in_any_way_is_told(closed: bool, snapshot: bool, tmp_path: Path) -> None:
    flip_all(tmp_path, closed, snapshot, (0x02, 0x10, 0x80, 0x55, 0xFF), 1)


@pytest.mark.parametrize("closed", [False, True])
def test_a_file_that_is_cut_anywhere_is_told(closed: bool, tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=closed, snapshot=True)
    for name, content in files.items():
        if name != "lock":
            for size in range(0, len(content), 31 if name == "mark" else 1):
                assert not survives(tmp_path / "db", {**files, name: content[:size]}), (name, size)


@pytest.mark.parametrize("closed", [False, True])
def test_a_file_that_is_missing_is_told(closed: bool, tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=closed, snapshot=True)
    for name in files:
        if name != "lock":
            rest = {n: content for n, content in files.items() if n != name}
            assert not survives(tmp_path / "db", rest), name


def test_a_missing_segment_in_the_middle_is_named(tmp_path: Path) -> None:
    """Two segments are there when a process is killed between a checkpoint's steps."""
    files = made(tmp_path / "made", closed=True, snapshot=False)
    later = made(tmp_path / "later", closed=True, snapshot=True)
    log = later["log-000000000003.wal"]
    put(tmp_path / "db", {**files, "log-000000000009.wal": log})
    with pytest.raises(DataError, match=r"W0666.*log-000000000006.wal"):
        Store.open(tmp_path / "db", files=QUICK)


def test_what_follows_the_last_record_is_cut_off_when_it_may_be_torn(tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=True, snapshot=True)
    log = files["log-000000000003.wal"]
    random = Random(3)
    for size in (1, 39, 40, 41, 700):
        for tail in (bytes(size), random.randbytes(size), log[64 : 64 + size]):
            assert survives(tmp_path / "db", {**files, "log-000000000003.wal": log + tail})
            assert (tmp_path / "db" / "log-000000000003.wal").stat().st_size == len(log)


def test_a_block_of_another_place_or_file_is_no_record(tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=True, snapshot=False)
    older = made(tmp_path / "older", closed=True, snapshot=False)
    name = "log-000000000001.wal"
    log, other = files[name], older[name]
    assert len(log) == len(other)
    random = Random(5)
    for _ in range(300):
        size = random.choice((1, 8, 40, 64, 128))
        to, start = (random.randrange(0, len(log) - size) for _ in range(2))
        source = random.choice((log, other[:to] + other[to:]))
        block = source[start : start + size] if random.random() < 0.5 else other[to : to + size]
        changed = log[:to] + block + log[to + size :]
        if changed != log:
            assert not survives(tmp_path / "db", {**files, name: changed}), (to, size)
    for changed in (log + log[64:], log[:64] + log[104:], other):
        files_now = {**files, name: changed}
        if changed.startswith(log):  # what was appended again has another place: it is cut off
            assert survives(tmp_path / "db", files_now)
        else:
            assert not survives(tmp_path / "db", files_now)


def test_damage_before_a_record_is_told_even_without_a_mark_for_it(tmp_path: Path) -> None:
    """After a power failure the mark may be old; a record that follows proves a commit."""
    store = Store.open(tmp_path / "made", files=Unsynced())
    mark = (store.path / "mark").read_bytes()
    for body in HISTORY:
        store.append(body)
    store.close()
    files = {path.name: path.read_bytes() for path in store.path.iterdir()} | {"mark": mark}
    assert survives(tmp_path / "db", files)
    log = files["log-000000000001.wal"]
    last = len(log) - 40 - len(HISTORY[-1])
    for at in range(64, last):
        changed = log[:at] + bytes([log[at] ^ 4]) + log[at + 1 :]
        assert not survives(tmp_path / "db", {**files, "log-000000000001.wal": changed}), at


def test_a_log_cut_behind_a_whole_record_is_told(tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=False, snapshot=False)
    name = "log-000000000001.wal"
    whole = files[name][: -40 - len(HISTORY[-1])]
    put(tmp_path / "db", {**files, name: whole})
    with pytest.raises(DataError, match=rf"W0664.*byte {len(whole)}: the log ends there"):
        Store.open(tmp_path / "db", files=QUICK)
    with pytest.raises(DataError, match=r"W066[46]"):
        looked_at(tmp_path / "db")


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("log-000000000003.wal", "log-000000000002.wal"),
        ("snapshot-000000000002.snap", "snapshot-000000000003.snap"),
        ("log-000000000003.wal", "snapshot-000000000002.snap"),
        ("snapshot-000000000002.snap", "log-000000000003.wal"),
    ],
)
def test_a_file_under_the_name_of_another_is_told(name: str, new: str, tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=True, snapshot=True)
    content = files.pop(name)
    assert not survives(tmp_path / "db", {**files, new: content})


def test_a_mark_without_a_whole_slot_is_told(tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=True, snapshot=True)
    put(tmp_path / "db", {**files, "mark": files["mark"][:64] + bytes(len(files["mark"]) - 64)})
    for opened in (reopened, looked_at):
        with pytest.raises(DataError, match=r"W0667.*no mark fits"):
            opened(tmp_path / "db")


def test_a_log_that_ends_before_its_snapshot_is_told(tmp_path: Path) -> None:
    """The old segment, cut, with the newer snapshot: as if batches had been taken back."""
    store = Store.open(tmp_path / "made", files=Unsynced())
    for body in HISTORY[:3]:
        store.append(body)
    old = {path.name: path.read_bytes() for path in store.path.iterdir()}
    store.checkpoint(pack(HISTORY[:3]))
    new = {path.name: path.read_bytes() for path in store.path.iterdir()}
    store.close()
    log = old["log-000000000001.wal"]
    del new["log-000000000004.wal"]
    put(tmp_path / "db", {**new, "log-000000000001.wal": log})
    assert reopened(tmp_path / "db", QUICK) == HISTORY[:3]
    put(tmp_path / "db", {**new, "mark": old["mark"], "log-000000000001.wal": log[:64]})
    for opened in (reopened, looked_at):
        with pytest.raises(DataError, match=r"W066[46]"):
            opened(tmp_path / "db")


def test_batches_that_are_damaged_after_opening_are_told_when_they_are_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db", files=QUICK) as store:
        store.append(b"one")
    with Store.open(tmp_path / "db", files=QUICK) as store:
        log = next(store.path.glob("log-*"))
        log.write_bytes(log.read_bytes()[:-1] + b"?")
        with pytest.raises(DataError, match="W0664"):
            list(store.recovered.batches)
        log.unlink()
        with pytest.raises(DataError, match="W0661"):
            list(store.recovered.batches)


def test_the_message_names_file_and_place(tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=True, snapshot=True)
    log = files["log-000000000003.wal"]
    put(tmp_path / "db", {**files, "log-000000000003.wal": log[:-1] + b"?"})
    with pytest.raises(DataError) as caught:
        Store.open(tmp_path / "db", files=QUICK)
    said = str(caught.value)
    assert "log-000000000003.wal` is damaged at byte " in said
    assert "batch 5 should stand there; 5 are committed" in said
    assert "hint: " in said


def test_a_file_of_another_database_is_told(tmp_path: Path) -> None:
    files = made(tmp_path / "made", closed=True, snapshot=True)
    other = made(tmp_path / "other", closed=True, snapshot=True)
    for name in files:
        if name != "lock":
            assert not survives(tmp_path / "db", {**files, name: other[name]}), name
    shutil.rmtree(tmp_path / "db")
