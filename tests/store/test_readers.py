"""Readers in other processes see one commit after the other, whatever the writer does meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.disk import Unsynced
from store.life import looked_at, pack, read
from store.worker import judge, started
from whence.diagnostics import WhenceError
from whence.store import Reader, Store


@pytest.mark.parametrize("every", [1, 7, 10**6])
def test_a_reader_sees_prefixes_while_another_process_writes(every: int, tmp_path: Path) -> None:
    with started(tmp_path / "db", 5000, every, "quick") as child:
        assert child.stdout is not None
        said = child.stdout.readline()
        with Reader.open(tmp_path / "db") as reader:
            commit, states = judge(reader.recovered), 0
            while states < 40 and commit < 5000:
                before = commit
                commit = judge(reader.refresh(), commit)
                assert commit == reader.commit
                assert commit >= before
                states += commit > before
                said = (said + child.stdout.read1(1 << 16))[-100:]  # type: ignore[attr-defined]
            child.kill()
            said += child.stdout.read()
            commit = judge(reader.refresh(), commit)
            reported = int(said.split()[-1])
            assert commit in (reported, reported + 1)


def test_readers_that_open_while_another_process_writes_see_a_commit(tmp_path: Path) -> None:
    with started(tmp_path / "db", 250, 1, "quick") as child:
        assert child.stdout is not None
        child.stdout.readline()
        seen = 0
        while child.poll() is None:
            said = child.stdout.read1(1 << 16).split()  # type: ignore[attr-defined]
            with Reader.open(tmp_path / "db") as reader:
                found = judge(reader.recovered)
            assert found >= seen
            seen = max(found, *map(int, said[-1:]), 0)
    with Reader.open(tmp_path / "db") as reader:
        assert judge(reader.recovered) == 250


def test_a_reader_follows_through_checkpoints(tmp_path: Path) -> None:
    history: list[bytes] = []
    with Store.open(tmp_path / "db", files=Unsynced()) as store, Reader.open(store.path) as reader:
        seen = read(reader.recovered)
        for number in range(1, 60):
            history.append(f"batch {number}".encode())
            assert store.append(history[-1]) == number
            if number % 4 == 0:
                store.checkpoint(pack(history))
            if number % 3 == 0:
                seen = read(reader.refresh(), seen)
                assert seen == history
        assert looked_at(tmp_path / "db") == history


def test_a_reader_goes_on_in_the_log_that_a_checkpoint_removed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db", files=Unsynced()) as store:
        store.append(b"a")
        with Reader.open(tmp_path / "db") as reader:
            store.append(b"b")
            store.checkpoint(pack([b"a", b"b"]))
            store.append(b"c")
            found = reader.refresh()
            assert not found.afresh
            assert list(found.batches) == [(2, b"b"), (3, b"c")]
            assert list(reader.refresh().batches) == []


def test_a_reader_that_fell_behind_gets_the_newer_snapshot(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db", files=Unsynced()) as store, Reader.open(store.path) as reader:
        for commit in range(1, 4):
            store.append(b"x")
            store.checkpoint(pack([b"x"] * commit))
        found = reader.refresh()
        assert found.afresh
        assert read(found) == [b"x"] * 3
        assert reader.commit == 3


def test_a_reader_does_not_see_what_is_not_committed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store.append(b"one")
        log = next(store.path.glob("log-*"))
        whole = log.read_bytes()
        store.append(b"two")
        with Reader.open(tmp_path / "db") as reader:
            assert reader.commit == 2
            with log.open("ab") as stream:
                stream.write(whole[64:])  # as if a third were on its way
            assert list(reader.refresh().batches) == []


def test_a_reader_tells_when_its_database_went_back(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store.append(b"one")
        mark = (store.path / "mark").read_bytes()
        store.append(b"two")
    with Reader.open(tmp_path / "db") as reader:
        (tmp_path / "db" / "mark").write_bytes(mark)
        with pytest.raises(WhenceError, match=r"W0672.*at commit 1, after 2"):
            reader.refresh()


def test_a_reader_tells_when_its_database_was_replaced(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a") as store:
        store.append(b"one")
    with Store.open(tmp_path / "b") as store:
        store.append(b"two")
    with Reader.open(tmp_path / "a") as reader:
        (tmp_path / "a").rename(tmp_path / "c")
        (tmp_path / "b").rename(tmp_path / "a")
        with pytest.raises(WhenceError, match=r"W0672.*another database"):
            reader.refresh()


def test_a_closed_reader_reads_no_more(tmp_path: Path) -> None:
    Store.open(tmp_path / "db").close()
    reader = Reader.open(tmp_path / "db")
    reader.close()
    with pytest.raises(WhenceError, match="W0672"):
        reader.refresh()


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_there_must_be_a_database_to_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(WhenceError, match="W0671"):
        Reader.open(tmp_path / name)


def test_a_file_is_no_database_to_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(WhenceError, match=r"W0660.*it is a file"):
        Reader.open(tmp_path / "file")


def test_reading_changes_no_file(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "db")
    store.append(b"one")
    before = {p.name: p.read_bytes() for p in store.path.iterdir()}
    looked_at(tmp_path / "db")
    assert {p.name: p.read_bytes() for p in store.path.iterdir()} == before
    store.close()
