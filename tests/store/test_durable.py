"""A database in a folder: what was committed is there, whoever opens it and whatever happened."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import zygote
from store.disk import Disk, Recording, Unsynced, put
from whence import durable
from whence.database import Database
from whence.diagnostics import DataError, UsageError, WhenceError
from whence.store import Store, check
from whence.store.files import Files

PROGRAM = """
.type List = [head: number, tail: List]
.decl link(x: number, y: number)
.decl path(x: number, y: number)
.decl value(f: float, s: symbol, u: unsigned, l: List)
.decl on()
link(8, 9).
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the device: other tests judge the syncs."""
    monkeypatch.setattr(Files, "sync", Unsynced.sync)
    monkeypatch.setattr(Files, "sync_folder", Unsynced.sync_folder)


def everything(db: Database) -> dict[str, list[tuple[object, ...]]]:
    return {relation: list(db[relation].rows()) for relation in db}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


pairs = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=3)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["insert", "delete", "replace", "mixed"]), pairs),
        st.tuples(st.sampled_from(["checkpoint", "reopen", "forget", "look", "tick"]), st.just([])),
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(steps, st.booleans(), st.sampled_from([0, 200, 1 << 20]))
def test_a_database_in_a_folder_is_the_one_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    plan: list[tuple[str, list[tuple[int, int]]]],
    window: bool,
    floor: int,
) -> None:
    folder, clock = tmp_path_factory.mktemp("durable") / "db", Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "FLOOR", floor)
        kept, plain = Database(folder, clock=clock), Database(clock=clock)
        for db in (kept, plain):
            db.load(PROGRAM)
            if window:
                db.window("link", ttl=10)
        for step, rows in plan:
            if step in ("reopen", "forget"):
                if step == "reopen":
                    kept.close()
                del kept, db
                kept = Database(folder, clock=clock)
            elif step == "checkpoint":
                kept.checkpoint()
            elif step == "tick":
                clock.now += 4
                for db in (kept, plain):
                    db.advance()
            elif step == "look":
                assert everything(kept) == everything(plain)
                with Database(folder, read_only=True) as reader:
                    assert everything(reader) == everything(plain)
            for db in (kept, plain):
                if step == "insert":
                    db.insert("link", rows)
                elif step == "delete":
                    db.delete("link", rows)
                elif step == "replace":
                    db.replace("link", rows, key="x")
                elif step == "mixed":
                    with db.transaction(note={"rows": len(rows)}) as t:
                        t.delete("link", rows[:1])
                        t.insert("link", rows)
                        t.insert("on", [()])
            assert kept.note == plain.note
        kept.close()
        with Database(folder, clock=clock) as again:
            assert everything(again) == everything(plain)
            assert again.note == plain.note
            assert str(again.program) == str(plain.program)


def test_values_of_every_type_come_back(tmp_path: Path) -> None:
    rows = [
        (1.5, 'tab\there "quoted" é \U0001f600', 2**64 - 1, "[1, [2, nil]]"),
        (float("inf"), "", 0, "nil"),
        (-0.0, "\n", 7, "[-9223372036854775808, nil]"),
    ]
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        db.insert("value", rows)
        db.insert("value", [(float("nan"), str(n), n, "nil") for n in range(100)])
        db.insert("on", [()])
        before = {name: repr(found) for name, found in everything(db).items()}
    for checkpoint in (True, False):
        with Database(tmp_path / "db") as db:
            assert {name: repr(found) for name, found in everything(db).items()} == before
            if checkpoint:
                db.checkpoint()


def test_a_program_grows_and_functors_are_registered_again(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(".decl word(w: symbol)\n.functor shout(w: symbol): symbol")
        db.load(".decl loud(w: symbol)\nloud(@shout(w)) :- word(w).")
        db.insert("word", [("hey",)])
    with Database(tmp_path / "db") as db:
        db.insert("word", [("you",)])
        db.functor("shout", str.upper)
        assert db["loud"].rows() == [("HEY",), ("YOU",)]


def test_the_log_does_not_outgrow_what_it_holds_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "FLOOR", 2000)
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        largest = 0
        for n in range(300):
            db.insert("link", [(n % 7, 1)])
            largest = max(largest, sum(p.stat().st_size for p in (tmp_path / "db").iterdir()))
    assert check(tmp_path / "db").snapshot_commit > 200
    assert largest < 10_000
    with Database(tmp_path / "db") as db:
        assert len(db["link"]) == 8


class Full(Files):
    """A device that is full while `full` is set."""

    full = False

    def write(self, handle: int, parts: tuple[bytes, ...], offset: int) -> None:  # type: ignore[override]
        if Full.full and offset > 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(handle, parts, offset)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    monkeypatch.setattr("whence.store.store.Files", Full)
    yield lambda now: setattr(Full, "full", now)
    Full.full = False


def test_what_a_full_disk_does_not_take_did_not_happen(
    tmp_path: Path, full: Callable[[bool], None]
) -> None:
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        db.insert("link", [(1, 2)])
        told: list[object] = []
        db.subscribe("path", told.append)
        before = everything(db)
        full(True)
        for change in (
            lambda: db.insert("link", [(2, 3)]),
            lambda: db.delete("link", [(1, 2)]),
            lambda: db.load(".decl other(x: number)"),
            lambda: db.window("link", last=1),
        ):
            with pytest.raises(DataError, match=r"W0668.*no space left"):
                change()
            assert everything(db) == before
        assert told == []
        full(False)
        db.insert("link", [(2, 3)])
        assert len(told) == 1
        after = everything(db)
    with Database(tmp_path / "db") as db:
        assert everything(db) == after


def test_a_snapshot_that_finds_no_room_does_not_fail_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "FLOOR", 0)

    def no_room(self: Store, body: bytes) -> None:
        raise DataError()

    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with monkeypatch.context() as patch:
            patch.setattr(Store, "checkpoint", no_room)
            for n in range(20):
                db.insert("link", [(n, n + 1)])
    with Database(tmp_path / "db") as db:
        assert len(db["link"]) == 20


def test_an_interrupt_after_the_commit_lets_it_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Store.append

    def late(self: Store, body: bytes) -> int:
        append(self, body)
        raise KeyboardInterrupt

    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with monkeypatch.context() as patch:
            patch.setattr(Store, "append", late)
            with pytest.raises(KeyboardInterrupt):
                db.insert("link", [(1, 2)])
        assert db["link"].rows() == [(1, 2), (8, 9)]
        db.delete("link", [(8, 9)])
    with Database(tmp_path / "db") as db:
        assert db["link"].rows() == [(1, 2)]


def test_a_note_that_is_no_json_is_refused_before_anything_happens(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with pytest.raises(UsageError, match="W0673"), db.transaction(note=object()) as t:
            t.insert("link", [(1, 2)])
        assert db["link"].rows() == [(8, 9)]
        assert db.note is None
        db.insert("link", [(3, 4)])
    with Database(tmp_path / "db") as db:
        assert db["link"].rows() == [(3, 4), (8, 9)]


@pytest.mark.parametrize("floor", [0, 700])
def test_a_power_failure_leaves_a_database_at_a_commit(
    floor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "FLOOR", floor)
    recording = Recording(tmp_path / "db")
    moments: list[tuple[int, dict[str, list[tuple[object, ...]]]]] = []
    random = Random(9)
    with monkeypatch.context() as patch:
        patch.setattr("whence.store.store.Files", lambda: recording)
        db = Database(tmp_path / "db")
        moments.append((len(recording.notes), everything(db)))
        db.load(PROGRAM)
        moments.append((len(recording.notes), everything(db)))
        for _ in range(12):
            with db.transaction() as t:
                t.insert("link", [(random.randint(1, 5), random.randint(1, 5))])
                t.delete("link", [(random.randint(1, 5), random.randint(1, 5))])
            moments.append((len(recording.notes), everything(db)))
        db.close()
    disk = Disk.before(recording)
    for point, note in enumerate(recording.notes, 1):
        disk.do(note)
        put(tmp_path / "crashed", disk.torn(random))
        done = sum(end <= point for end, _ in moments)
        with Database(tmp_path / "crashed") as db:
            found = everything(db)
        assert found in [state for _, state in moments[max(0, done - 1) : done + 1]], point


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Database(tmp_path / "db"), pytest.raises(UsageError, match="W0662"):
        Database(tmp_path / "db")
    Database(tmp_path / "db").close()


def test_a_closed_database_is_read_and_not_written(tmp_path: Path) -> None:
    db = Database(tmp_path / "db")
    db.load(PROGRAM)
    db.close()
    with pytest.raises(UsageError, match="W0670"):
        db.insert("link", [(1, 2)])
    assert db["link"].rows() == [(8, 9)]


def test_a_folder_that_cannot_be_understood_is_let_go_of(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store.append(b"something else")
    for _ in range(2):
        with pytest.raises(DataError, match="W0674"):
            Database(tmp_path / "db")
        with pytest.raises(DataError, match="W0674"):
            Database(tmp_path / "db", read_only=True)


def test_a_database_that_is_only_read_refuses_to_change(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with Database(tmp_path / "db", read_only=True) as reader:
            before = everything(reader)
            for change in (
                lambda: reader.insert("link", [(1, 2)]),
                lambda: reader.delete("link", [(8, 9)]),
                lambda: reader.replace("link", [(8, 1)], key="x"),
                lambda: reader.transaction(),
                lambda: reader.load(".decl other(x: number)"),
                lambda: reader.window("link", ttl=1),
                lambda: reader.advance(),
                lambda: reader.checkpoint(),
            ):
                with pytest.raises(UsageError, match="W0675"):
                    change()
            assert everything(reader) == before
    assert db.refresh() == 0


@pytest.mark.parametrize("floor", [0, 300, 1 << 20])
def test_a_reader_is_told_exactly_what_changed(
    floor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "FLOOR", floor)
    random = Random(4)
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with Database(tmp_path / "db", read_only=True) as reader:
            seen = set(reader["path"].rows())

            def follow(change: object) -> None:
                for row in change.deleted.to_pylist():  # type: ignore[attr-defined]
                    seen.remove(tuple(row.values()))
                for row in change.inserted.to_pylist():  # type: ignore[attr-defined]
                    assert tuple(row.values()) not in seen
                    seen.add(tuple(row.values()))

            reader.subscribe("path", follow)
            commits = 0
            for _ in range(40):
                for _ in range(random.randint(0, 4)):
                    row = (random.randint(1, 6), random.randint(1, 6))
                    random.choice((db.insert, db.delete))("link", [row])
                    commits += 1
                commits -= reader.refresh()
                assert everything(reader) == everything(db)
                assert seen == set(db["path"].rows())
            assert commits == 0


def test_a_reader_is_told_also_after_the_program_grew(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with Database(tmp_path / "db", read_only=True) as reader:
            told: list[str] = []
            reader.subscribe("path", lambda change: told.append(repr(change)))
            db.load(".decl other(x: number)")
            db.insert("link", [(1, 2)])
            db.insert("link", [(2, 3)])
            assert reader.refresh() == 3
            assert told == ["<Change path +1 -0>", "<Change path +2 -0>"]
            assert "other" in reader


def test_a_reader_that_fails_on_its_way_begins_again(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        with Database(tmp_path / "db", read_only=True) as reader:
            failing = [True]

            def fail(change: object) -> None:
                if failing[0]:
                    raise ValueError

            reader.subscribe("path", fail)
            for n in range(5):
                db.insert("link", [(n, n + 1)])
            with pytest.raises(ExceptionGroup):
                reader.refresh()
            failing[0] = False
            reader.refresh()
            assert everything(reader) == everything(db)


def test_what_expires_is_for_the_writer_to_say(tmp_path: Path) -> None:
    clock = Clock()
    with Database(tmp_path / "db", clock=clock) as db:
        db.load(PROGRAM)
        db.window("link", ttl=10)
        db.insert("link", [(1, 2)])
        reader = Database(tmp_path / "db", read_only=True, clock=clock)
        clock.now += 100
        assert (1, 2) in reader["link"]
        reader.refresh()
        assert (1, 2) in reader["link"]
        db.advance()
        reader.refresh()
        assert (1, 2) not in reader["link"]
        reader.close()


def test_that_a_window_goes_by_the_clock_is_stored_before_anything_expires(tmp_path: Path) -> None:
    clock = Clock()
    with Database(tmp_path / "db", clock=clock) as db:
        db.load(PROGRAM)
        db.window("link", ttl=10)
        db.delete("link", [(1, 4)])
        for _ in range(3):
            clock.now += 4
            db.advance()
        assert db["link"].rows() == []
    with Database(tmp_path / "db", clock=clock) as db:
        assert db["link"].rows() == []


def test_threads_see_a_commit_before_or_after_it(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(zygote.PROGRAM)
        zygote.step(db, 1)
        stop = threading.Event()
        faults: list[BaseException] = []
        looks = [0]

        def look() -> None:
            try:
                while not stop.is_set():
                    rows = db["path"].rows()
                    starts = sorted({x for x, _ in rows})
                    ends = {y for _, y in rows}
                    assert rows == sorted((x, y) for x in starts for y in ends if x < y)
                    assert len(starts) <= zygote.LENGTH
                    looks[0] += 1
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        commit = 1
        while commit < 150 or (looks[0] < 20 and not faults):
            commit += 1
            zygote.step(db, commit)
        stop.set()
        for thread in threads:
            thread.join()
        assert not faults
        assert zygote.judge(db) == commit


def test_another_process_reads_what_was_committed(tmp_path: Path) -> None:
    code = """
import sys, whence
db = whence.Database(sys.argv[1], read_only=True)
print(db["path"].rows())
try:
    whence.Database(sys.argv[1])
except whence.UsageError as error:
    print(error.diagnostics[0].code)
"""
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        db.insert("link", [(1, 2)])
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "db")], capture_output=True, text=True
        )
    assert done.stdout == "[(1, 2), (8, 9)]\nW0662\n", done.stderr


def kill_often(folder: Path, times: int, seed: int) -> None:
    random = Random(seed)
    commit = 0
    with zygote.start() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(times):
            process.stdin.write(f"{folder}\t{random.choice((0, 500, 10**6))}\n".encode())
            process.stdin.flush()
            pid = int(process.stdout.readline().split()[1])
            if random.random() < 0.7:  # else it may still be opening the folder
                commit = int(process.stdout.readline())
            time.sleep(random.random() ** 2 * 0.05)
            os.kill(pid, signal.SIGKILL)
            while (line := process.stdout.readline()) != b"dead\n":
                commit = int(line)
            try:
                with Database(folder, read_only=True) as reader:
                    assert zygote.judge(reader) in (commit, commit + 1)
            except WhenceError as fault:
                raise AssertionError(f"a reader: {fault}") from fault
            with Database(folder) as db:
                found = zygote.judge(db)
            assert found in (commit, commit + 1)
            commit = found
        process.stdin.close()
    assert commit > times // 4  # most were killed after their first commit


def test_a_few_kills_of_a_database_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "db", 5, 1)


@pytest.mark.slow
def test_two_hundred_kills_of_a_database_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "db", 200, 2)
