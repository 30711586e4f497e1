"""The seam for durability: what is recorded gives the same database back, or nothing happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.database import Database
from whence.journal import Record

PROGRAM = """
.decl link(x: number, y: number)
.decl path(x: number, y: number)
.decl on()
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""


class Memory:
    """A journal that keeps everything in lists, and fails when it is told to."""

    def __init__(self, state: Record | None = None, entries: Iterable[Record] = ()) -> None:
        self.state = state
        self.entries = list(entries)
        self.failing = False
        self.every = 0

    def recovered(self) -> tuple[Record | None, Iterable[Record]]:
        return self.state, list(self.entries)

    def record(self, entry: Record) -> None:
        if self.failing:
            raise OSError("the disk is full")
        self.entries.append(entry)

    def settle(self, state: Callable[[], Record]) -> None:
        if self.every and len(self.entries) >= self.every:
            self.state, self.entries = state(), []


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def everything(db: Database) -> dict[str, list[tuple[object, ...]]]:
    return {relation: list(db[relation].rows()) for relation in db}


def reopened(journal: Memory, clock: Clock | None = None) -> Database:
    again = Memory(journal.state, journal.entries)
    return Database(journal=again, clock=clock or Clock())


def test_a_database_comes_back_from_its_entries() -> None:
    journal = Memory()
    db = Database(journal=journal)
    db.load(PROGRAM + "link(1, 2). link(2, 3).")
    db.insert("link", [(3, 4)])
    assert [entry.header["kind"] for entry in journal.entries] == ["load", "commit"]
    assert everything(reopened(journal)) == everything(db)
    with db.transaction(note={"at": 17}) as t:
        t.delete("link", [(2, 3)])
        t.replace("link", [(1, 5)], key="x")
        t.insert("on", [()])
    again = reopened(journal)
    assert again.note == {"at": 17}
    assert everything(again) == everything(db)
    db.delete("on", [()])
    db.load("link(2, 3). path(y, x) :- path(x, y).")
    assert everything(reopened(journal)) == everything(db)


def test_a_database_comes_back_from_its_state() -> None:
    db = Database()
    db.load(PROGRAM + "link(1, 2). link(1 + 1, 3). on().")
    db.delete("link", [(2, 3)])
    db.delete("on", [()])
    again = Database()
    again._restore(db._state())
    assert everything(again) == everything(db)
    assert str(again.program) == str(db.program)
    again.insert("link", [(2, 4)])
    assert again["path"].rows() == [(1, 2), (1, 4), (2, 4)]


def test_the_state_is_taken_without_deriving_anything() -> None:
    journal = Memory()
    journal.every = 1
    db = Database(journal=journal)
    db.load(PROGRAM + "link(1, 2).")
    db.insert("link", [(2, 3)])
    assert db._committed.derived.view is None
    state = db._state()
    replayed = Database()
    replayed._restore(state)
    replayed._replay(
        Record({"kind": "commit", "clock": 0.0, "event": None}, {"-link": state.tables["=link"]})
    )
    third = Database()
    third._restore(replayed._state())
    assert third["link"].rows() == [(1, 2)]
    assert third._committed.derived.view is not None


def test_a_transaction_that_is_not_recorded_did_not_happen() -> None:
    journal = Memory()
    db = Database(journal=journal)
    told: list[object] = []
    db.load(PROGRAM)
    db.insert("link", [(1, 2), (2, 3)])
    db.insert("path", [(1, 2), (7, 8)])
    db.subscribe("path", told.append)
    before = everything(db)
    journal.failing = True
    with pytest.raises(OSError, match="full"), db.transaction() as t:
        t.insert("link", [(1, 2), (3, 4)])
        t.delete("link", [(2, 3), (9, 9)])
        t.insert("path", [(1, 2), (5, 6)])
        t.delete("path", [(7, 8), (1, 3)])
        t.insert("on", [()])
    with pytest.raises(OSError, match="full"):
        db.load(".decl more(x: number)")
    with pytest.raises(OSError, match="full"):
        db.window("link", ttl=1)
    assert everything(db) == before
    assert told == []
    journal.failing = False
    db.delete("path", [(1, 2)])
    db.delete("link", [(1, 2)])
    assert db["path"].rows() == [(2, 3), (7, 8)]  # the base facts are as before, too
    assert everything(reopened(journal)) == everything(db)


def test_opening_again_records_nothing_and_a_reader_leaves_windows_to_the_writer(
    tmp_path: Path,
) -> None:
    with Database(tmp_path / "db") as db:
        db.load(PROGRAM)
        db.insert("link", [(1, 2), (2, 3), (3, 4)])
        db.window("link", last=2)
        with Database(tmp_path / "db", read_only=True) as reader:
            assert len(reader["link"]) == 3
            assert reader.commits == db.commits == 1
            assert len(db["link"]) == 2
            reader.refresh()
            assert len(reader["link"]) == 2
            assert reader.commits == db.commits == 2
    for _ in range(2):
        with Database(tmp_path / "db") as db:
            assert db["link"].rows() == [(2, 3), (3, 4)]
            assert db.commits == 2


def test_an_insert_that_is_not_recorded_is_not_there() -> None:
    journal = Memory()
    db = Database(journal=journal)
    db.load(PROGRAM)
    journal.failing = True
    with pytest.raises(OSError, match="full"):
        db.insert("link", [(1, 2)])
    assert db["link"].rows() == []


def test_an_undo_that_fails_begins_again_from_the_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Memory()
    db = Database(journal=journal)
    db.load(PROGRAM)
    db.insert("link", [(1, 2)])
    db.delete("link", [(8, 8)])
    before = everything(db)
    view = db._committed.derived.view
    assert view is not None
    apply, calls = view.apply, [0]

    def failing(batch: object) -> object:
        calls[0] += 1
        if calls[0] == 2:
            raise RuntimeError("no time left")
        return apply(batch)  # type: ignore[arg-type]

    monkeypatch.setattr(type(view), "apply", lambda _, batch: failing(batch))
    journal.failing = True
    with pytest.raises(OSError, match="full"), db.transaction() as t:
        t.insert("link", [(2, 3)])
        t.delete("link", [(1, 2)])
    monkeypatch.undo()
    assert everything(db) == before


facts = st.tuples(st.integers(0, 2), st.integers(0, 2))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("+"), facts, st.integers(0, 20)),
        st.tuples(st.just("-"), facts, st.just(0)),
        st.tuples(st.just("advance"), facts, st.integers(0, 40)),
        st.tuples(st.just("tick"), facts, st.integers(1, 10)),
        st.tuples(st.just("fail"), facts, st.integers(0, 40)),
        st.tuples(st.just("reopen"), facts, st.just(0)),
    ),
    max_size=14,
)


@pytest.mark.parametrize("time", ["event", "clock"])
@given(plan=steps, every=st.integers(0, 4), last=st.sampled_from([None, 2]))
def test_windows_come_back_with_their_timers(
    time: str, plan: list[tuple[str, tuple[int, int], int]], every: int, last: int | None
) -> None:
    clock, journal = Clock(), Memory()
    journal.every = every
    kept = Database(journal=journal, clock=clock)
    plain = Database(clock=clock)
    for db in (kept, plain):
        db.load(PROGRAM + "link(0, 1). link(1, 1). link(2, 1).")
        db.window("link", ttl=10, last=last, time=time)  # type: ignore[arg-type]
    for step, fact, at in plan:
        if step == "tick":
            clock.now += at
        elif step == "reopen":
            kept = reopened(journal, clock)
            journal = kept._committed._journal  # type: ignore[assignment]
            journal.every = every
        elif step == "fail":
            journal.failing = True
            try:
                kept.insert("link", [fact], time=at if time == "event" else None)
            except OSError:
                pass
            finally:
                journal.failing = False
        for db in (kept, plain):
            if step == "+":
                db.insert("link", [fact], time=at if time == "event" else None)
            elif step == "-":
                db.delete("link", [fact])
            elif step == "advance":
                db.advance(at if time == "event" else None)
        if step in ("+", "-", "advance"):
            assert everything(kept) == everything(plain)


def test_a_commit_that_fails_on_the_way_leaves_windows_and_view_as_they_were() -> None:
    clock = Clock()
    db = Database(journal=Memory(), clock=clock)
    db.load(PROGRAM)
    db.window("link", ttl=30, time="clock")
    db.insert("link", [(1, 2)])
    held = db["path"]
    (pinned,) = db._committed._pinned
    pinned._load = lambda: 1 // 0  # type: ignore[assignment, return-value]
    clock.now += 40
    with pytest.raises(ZeroDivisionError):
        db.insert("link", [(2, 3)])
    del held, pinned
    assert db.next_expiry == 1030
    assert db["path"].rows() == [(1, 2)]
    assert db.advance()["path"].deletions == 1
