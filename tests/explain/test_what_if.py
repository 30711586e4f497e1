"""What a change would do is exactly what it does, and asking leaves everything as it is."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path

import pytest

from explain.what_if_machine import Supposing, everything, told
from interrupts import interrupted
from view.machine import play
from whence import Database, Limits
from whence.diagnostics import DataError, UsageError, WhenceError
from whence.view.base import STRATEGIES, Batch, Change, Changes
from whence.view.live import LiveView

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "300"))

PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl alone(x: number)
.decl reach(x: number, n: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
alone(x) :- edge(x, _), !path(x, x).
reach(x, n) :- edge(x, _), n = count : { path(x, _) }.
edge(1, 2).  edge(2, 3).  edge(3, 1).  edge(9, 9).
"""
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@pytest.fixture
def db() -> Database:
    db = Database()
    db.load(PROGRAM)
    return db


def test_what_would_change_is_what_changes_in_any_program() -> None:
    play(6, 4, Supposing)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_would_change_is_what_changes_in_many_programs() -> None:
    play(EXAMPLES // 2, 6, Supposing)


def test_every_relation_that_would_change_is_told(db: Database) -> None:
    changes = db.what_if(delete="edge(3, 1)", insert=["edge(9, 1)", "edge(1, 2)."])
    assert told(changes) == {
        "edge": ({(9, 1)}, {(3, 1)}),
        "path": (
            {(9, 1), (9, 2), (9, 3)},
            {(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)},
        ),
        "alone": ({(1,), (2,)}, set()),
        "reach": ({(1, 2), (2, 1), (9, 4)}, {(1, 3), (2, 3), (3, 3), (9, 1)}),
    }
    assert db.commits == 0
    assert len(db["path"]) == 10


def test_rows_may_be_given_as_anything_that_insert_takes(db: Database) -> None:
    texts = db.what_if(delete=["edge(1, 2)", "edge(9, 9)"], insert="edge(4, 4)")
    rows = db.what_if(delete={"edge": [(1, 2), (9, 9)]}, insert={"edge": {"x": [4], "y": [4]}})
    assert told(texts) == told(rows)


def test_a_fact_that_goes_and_comes_is_there(db: Database) -> None:
    assert not db.what_if(delete="edge(1, 2)", insert="edge(1, 2)")
    assert told(db.what_if(delete="edge(5, 5)", insert="edge(5, 5)"))["edge"] == ({(5, 5)}, set())


def test_nothing_changes_where_nothing_is_there(db: Database) -> None:
    assert not db.what_if()
    assert not db.what_if(delete="edge(7, 7)", insert="edge(1, 2)")
    assert not db.what_if(delete="path(1, 3)")  # it follows, and was not given


def test_what_is_derived_may_be_given_too(db: Database) -> None:
    assert told(db.what_if(insert="path(7, 1)")) == {"path": ({(7, 1), (7, 2), (7, 3)}, set())}
    assert not db.what_if(insert="path(1, 2)")
    assert (7, 1) not in db["path"]
    db.insert("path", [(7, 1)])
    assert (7, 3) in db["path"]


def test_changes_can_still_be_read_after_later_commits(db: Database) -> None:
    changes = db.what_if(delete="edge(1, 2)")
    expected = told(db.what_if(delete="edge(1, 2)"))
    db.delete("edge", [(1, 2), (2, 3)])
    db.insert("edge", [(1, 2)])
    assert told(changes) == expected


@every_strategy
def test_nobody_is_told(strategy: str) -> None:
    db = Database(maintain=strategy)
    db.load(PROGRAM)
    heard: list[Change] = []
    for name in db:
        db.subscribe(name, heard.append)
    with db.transaction(note={"line": 3}) as t:
        t.insert("edge", [(3, 4)])
    heard.clear()
    before = everything(db)
    table = db["path"]
    expected = set(db["path"].rows())
    assert db.what_if(delete=["edge(3, 4)", "edge(1, 2)"], insert="edge(4, 9)")
    assert everything(db) == before
    assert not heard
    assert set(table.rows()) == expected


def test_it_may_be_asked_within_a_transaction_and_a_callback(db: Database) -> None:
    found: list[Changes] = []
    db.subscribe("edge", lambda _: found.append(db.what_if(delete="edge(9, 9)")))
    with db.transaction() as t:
        t.insert("edge", [(9, 8)])
        inside = db.what_if(delete="edge(9, 9)")
    assert told(inside)["reach"] == (set(), {(9, 1)})
    assert told(found[0])["reach"] == ({(9, 1)}, {(9, 2)})
    assert db.commits == 1


# ── windows and folders ──


def test_windows_are_as_they_were() -> None:
    db = Database()
    db.load(".decl e(x: number)\n.decl n(x: number)\nn(c) :- c = count : { e(_) }.")
    db.window("e", within=10, time="event")
    db.insert("e", [(1,), (2,)], time=[0, 5])
    before = everything(db)
    expected = ({(3,)}, {(1,)})
    assert told(db.what_if(insert="e(3) @ 12"))["e"] == expected
    assert told(db.what_if(insert={"e": [(3,)]}, time=12.0))["e"] == expected
    assert everything(db) == before
    with pytest.raises(DataError, match="W0681"):
        db.what_if(insert="e(3)")
    assert everything(db) == before
    with db.transaction() as t:
        t.insert("e", [(3,)], time=12)
    assert told(t.changes)["e"] == expected


def test_the_last_facts_are_counted_as_if_they_came() -> None:
    now = [0.0]
    db = Database(clock=lambda: now[0])
    db.load(".decl e(k: symbol, x: number)")
    db.window("e", last=2, by="k")
    for n in range(3):
        now[0] += 1
        db.insert("e", [("a", n)])
    assert told(db.what_if(insert='e("a", 9)'))["e"] == ({("a", 9)}, {("a", 1)})
    assert told(db.what_if(delete='e("a", 2)', insert='e("a", 1)')) == {"e": (set(), {("a", 2)})}
    assert db["e"].rows() == [("a", 1), ("a", 2)]


def folder_bytes(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()}


def test_nothing_is_written_to_a_folder(tmp_path: Path) -> None:
    with Database(tmp_path / "net") as db:
        db.load(PROGRAM)
        db.insert("edge", [(3, 4)])
        before = folder_bytes(tmp_path / "net")
        expected = told(db.what_if(delete="edge(1, 2)", insert="edge(5, 6)"))
        assert folder_bytes(tmp_path / "net") == before
        with Database(tmp_path / "net", read_only=True) as reader:
            assert told(reader.what_if(delete="edge(1, 2)", insert="edge(5, 6)")) == expected
            assert folder_bytes(tmp_path / "net") == before
        with db.transaction() as t:
            t.delete("edge", [(1, 2)])
            t.insert("edge", [(5, 6)])
        assert told(t.changes) == expected
    with Database(tmp_path / "net") as again:
        assert (5, 6) in again["path"]
        assert again.commits == 2


# ── what goes wrong ──


@every_strategy
def test_a_change_over_the_limit_is_refused_and_nothing_stays_of_it(strategy: str) -> None:
    db = Database(maintain=strategy, limits=Limits(max_tuples=200))
    db.load(PROGRAM)
    before = everything(db)
    ring = [(n, (n + 1) % 40) for n in range(40)]
    for _ in range(2):
        with pytest.raises(WhenceError, match="W07"):
            db.what_if(insert={"edge": ring}, delete="edge(9, 9)")
        assert everything(db) == before
    assert told(db.what_if(delete="edge(9, 9)"))["path"] == (set(), {(9, 9)})


def test_when_the_way_back_fails_the_view_is_made_again(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = told(db.what_if(delete="edge(1, 2)", insert="edge(4, 4)"))
    db.insert("edge", [(6, 6)])
    rows = {name: sorted(db[name].rows()) for name in db}
    apply, calls = LiveView.apply, itertools.count()

    def failing(self: LiveView, batch: Batch) -> Changes:
        if next(calls) == 1:
            raise MemoryError
        return apply(self, batch)

    table = db["path"]
    monkeypatch.setattr(LiveView, "apply", failing)
    assert told(db.what_if(delete="edge(1, 2)", insert="edge(4, 4)")) == expected
    assert {name: sorted(db[name].rows()) for name in db} == rows
    assert sorted(table.rows()) == rows["path"]
    db.delete("edge", [(6, 6)])
    assert told(db.what_if(delete="edge(1, 2)", insert="edge(4, 4)")) == expected


def test_an_interrupt_at_any_line_is_mended_at_the_next_look() -> None:
    def make() -> Database:
        db = Database(maintain="ranked", clock=lambda: 0.0)
        db.load(PROGRAM)
        db.insert("edge", [(3, 4)])
        db.delete("edge", [(9, 9)])
        return db

    modules = [f"whence.{name}" for name in ("derived", "committed", "explained", "view.live")]
    expected = told(make().what_if(delete="edge(1, 2)", insert="edge(4, 5)"))
    rows = everything(make())
    for line in itertools.count(1, 5):
        db = make()
        assert db.commits == 2
        changes = None
        with interrupted(line, *modules) as lines:
            changes = db.what_if(delete="edge(1, 2)", insert="edge(4, 5)")
        look = line % 4
        if look == 0:
            assert everything(db) == rows, f"line {line}"
        elif look == 1:
            with db.transaction() as t:
                t.delete("edge", [(1, 2)])
                t.insert("edge", [(4, 5)])
            assert told(t.changes) == expected, f"line {line}"
        elif look == 2:
            assert sorted(db.query("path(1, x)").rows()) == [(1, n) for n in (1, 2, 3, 4)]
        else:
            db.functor("unused", lambda x: x)
            assert len(db["path"]) == 12, f"line {line}"
        if changes is not None:
            assert told(changes) == expected
        if not lines.came:
            break
    assert line > 60


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("edge(1)", "W0684"),
        ("edge(1, x)", "W0685"),
        ('edge(1, "a")', "W0685"),
        ("egde(1, 2)", "W0683"),
        ("edge(1, 2", "W0682"),
        ("", "W0682"),
        ("// nothing", "W0682"),
        ("commit", "W0682"),
        ("edge(1, 99999999999999999999)", "W0682"),
    ],
)
def test_what_is_no_fact_is_refused_with_its_place(db: Database, text: str, code: str) -> None:
    with pytest.raises(UsageError, match=code):
        db.what_if(insert=text)


def test_what_is_no_fact_is_not_told_how_updates_are_written(db: Database) -> None:
    with pytest.raises(UsageError) as error:
        db.what_if(insert="edge(1, 2), edge(2, 3)")
    assert "commit" not in str(error.value)


def test_a_mistake_is_pointed_at(db: Database) -> None:
    with pytest.raises(UsageError) as error:
        db.what_if(delete='edge(1, "a")')
    assert '1 | edge(1, "a")\n   |         ^^^ `y` is a number' in str(error.value)


def test_inline_relations_hold_no_facts_to_suppose() -> None:
    db = Database()
    db.load(".decl a(x: number) inline\n.decl b(x: number)\na(x) :- b(x).\n")
    with pytest.raises(UsageError, match="W0817"):
        db.what_if(insert="a(1)")


def test_annotated_facts_go_and_come_with_their_annotations_or_without() -> None:
    db = Database(semiring="tropical")
    db.load(
        ".decl edge(x: number, y: number, @prov)\n.decl path(x: number, y: number, @prov)\n"
        "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n"
    )
    db.insert("edge", [(1, 2, 5), (2, 3, 1), (1, 3, 9)])
    before = everything(db)
    longer = ({(1, 3, 9.0)}, {(1, 2, 5.0), (1, 3, 6.0)})
    assert told(db.what_if(delete="edge(1, 2, 5)"))["path"] == longer
    assert told(db.what_if(delete="edge(1, 2)"))["path"] == longer
    assert not db.what_if(delete="edge(1, 2, 4)")
    assert told(db.what_if(insert="edge(1, 3, 2)"))["path"] == ({(1, 3, 2.0)}, {(1, 3, 6.0)})
    assert told(db.what_if(insert="edge(1, 3)"))["path"] == ({(1, 3, 0.0)}, {(1, 3, 6.0)})
    assert db.is_given("edge(1, 2)")
    assert not db.is_given("edge(1, 2, 4)")
    assert everything(db) == before


def test_readers_in_other_threads_never_see_what_is_supposed() -> None:
    db = Database()
    db.load(PROGRAM)
    expected = {name: sorted(db[name].rows()) for name in db}
    wrong: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            wrong.extend(name for name in db if sorted(db[name].rows()) != expected[name])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for n in range(30):
            db.what_if(delete=["edge(1, 2)", "edge(9, 9)"], insert=f"edge({n}, 9)")
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not wrong
