"""Windows: the facts that are there are those an obvious definition keeps."""

from __future__ import annotations

import time as clocks
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.database import Database
from whence.diagnostics import DataError, UsageError
from whence.view.base import Change
from whence.view.times import NotATime, as_seconds
from whence.view.windows import UNDATED, Contents, Row, Said, Window

# ── the definition ──


@dataclass
class Definition:
    """A list of (row, time, arrival), filtered after each commit.

    Facts from before have no time until an insertion brings the first one.
    """

    window: Window
    there: list[tuple[Row, float, int]] = field(default_factory=list)
    now: float = -1.0
    arrivals: int = 0

    def commit(self, updates: list[tuple[str, Row, float]]) -> set[Row]:
        for sign, row, at in updates:
            if sign == "-":
                self.there = [entry for entry in self.there if entry[0] != row]
            elif sign == "+":
                self.arrivals += 1
                self.there.append((row, at, self.arrivals))
                self.now = max(self.now, at)
            else:
                self.now = max(self.now, at)
        if any(sign == "+" for sign, _, _ in updates):
            self.there = [(r, self.now if at == UNDATED else at, n) for r, at, n in self.there]
        return self.cut()

    def cut(self) -> set[Row]:
        if self.window.width is not None:
            width, now = self.window.width, self.now
            self.there = [e for e in self.there if e[1] == UNDATED or e[1] + width > now]
        if self.window.last is not None:
            latest = {
                row: max(e[1:] for e in self.there if e[0] == row) for row, _, _ in self.there
            }
            groups: dict[Row, list[Row]] = {}
            for row in sorted(latest, key=lambda row: latest[row], reverse=True):
                groups.setdefault(tuple(row[c] for c in self.window.by), []).append(row)
            kept = {row for rows in groups.values() for row in rows[: self.window.last]}
            self.there = [e for e in self.there if e[0] in kept]
        return {row for row, _, _ in self.there}


WINDOWS = [
    Window(width=3),
    Window(last=2),
    Window(last=1, by=(0,)),
    Window(last=2, by=(1,)),
    Window(width=4, last=3),
    Window(width=5, last=1, by=(0,)),
]
updates = st.tuples(
    st.sampled_from(["+", "+", "+", "-", "advance"]),
    st.tuples(st.integers(0, 2), st.integers(0, 1)),
    st.integers(0, 12).map(float),
)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(
    before=st.lists(updates.map(lambda update: update[1]), max_size=4, unique=True),
    batches=st.lists(st.lists(updates, max_size=4), max_size=10),
)
def test_a_window_holds_what_its_definition_keeps(
    window: Window, before: list[Row], batches: list[list[tuple[str, Row, float]]]
) -> None:
    definition = Definition(window)
    db = Database(clock=lambda: 0.0)
    db.load(".decl r(x: number, y: number)\n.decl s(x: number)\ns(x) :- r(x, _).")
    db.insert("r", before)
    db._committed.set_window("r", window)
    for row in db._committed.derived.make_view().base("r").to_pylist():
        definition.arrivals += 1
        definition.there.append(((row["x"], row["y"]), UNDATED, definition.arrivals))
    held = definition.cut()
    assert set(db["r"]) == held
    seen: list[Change] = []
    db.subscribe("r", seen.append)
    for batch in batches:
        with db.transaction() as t:
            for sign, row, at in batch:
                if sign == "+":
                    t.insert("r", [row], time=at)
                elif sign == "-":
                    t.delete("r", [row])
                else:  # any relation's updates move event time
                    t.insert("s", [(9,)], time=at)
        wanted = definition.commit(batch)
        assert set(db["r"]) == wanted
        assert {x for (x,) in db["s"]} - {9} == {row[0] for row in wanted}
        if seen:
            (change,) = seen
            came = set(zip(*(c.to_pylist() for c in change.inserted.columns), strict=True))
            went = set(zip(*(c.to_pylist() for c in change.deleted.columns), strict=True))
            assert (came, went) == (wanted - held, held - wanted)
        assert bool(seen) == (wanted != held)
        held = wanted
        seen.clear()


# ── one by one ──

PROGRAM = """
.decl link(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def watched(clock: Clock | None = None) -> Database:
    db = Database(clock=clock or Clock())
    db.load(PROGRAM)
    return db


def test_expiry_is_a_delete_and_derived_facts_follow() -> None:
    db = watched()
    db.window("link", ttl=30)
    db.insert("link", [(1, 2)], time=0)
    db.insert("link", [(2, 3)], time=10)
    assert len(db["path"]) == 3
    changes = db.advance(30)
    assert (changes["link"].deletions, changes["path"].deletions) == (1, 2)
    assert db["path"].rows() == [(2, 3)]


def test_a_refresh_extends_life_and_changes_nothing_in_the_view() -> None:
    db = watched()
    db.window("link", ttl=30)
    db.insert("link", [(1, 2)], time=0)
    with db.transaction() as t:
        t.insert("link", [(1, 2)], time=20)
    assert not t.changes
    assert not db.advance(49)
    assert db.advance(50)["link"].deletions == 1


def test_expiry_and_update_are_one_batch() -> None:
    db = watched()
    db.window("link", within=10)
    seen: list[Change] = []
    db.insert("link", [(1, 2), (2, 3)], time=0)
    db.subscribe("path", seen.append)
    db.insert("link", [(1, 3)], time=10)
    (change,) = seen
    assert (change.insertions, change.deletions) == (0, 2)  # (1, 3) stays, by its own link


def test_an_update_that_is_expired_on_arrival_never_enters() -> None:
    db = watched()
    db.window("link", within=10)
    db.insert("link", [(1, 2)], time=100)
    with db.transaction() as t:
        t.insert("link", [(2, 3)], time=90)
        t.insert("link", [(3, 4)], time=91)
    assert db["link"].rows() == [(1, 2), (3, 4)]
    assert t.changes["link"].insertions == 1


def test_a_late_refresh_does_not_shorten_life() -> None:
    db = watched()
    db.window("link", ttl=10)
    db.insert("link", [(1, 2)], time=100)
    db.insert("link", [(1, 2)], time=95)
    assert not db.advance(109)
    assert db.advance(110)


def test_a_delete_forgets_the_timer() -> None:
    db = watched()
    db.window("link", ttl=10)
    db.insert("link", [(1, 2)], time=100)
    with db.transaction() as t:
        t.delete("link", [(1, 2)])
        t.insert("link", [(1, 2)], time=95)
    assert not t.changes
    assert db.advance(105)["link"].deletions == 1
    assert not db.advance(110)


def test_time_never_goes_back() -> None:
    db = watched()
    db.window("link", ttl=10)
    db.insert("link", [(1, 2)], time=100)
    assert not db.advance(50)
    db.insert("link", [(2, 3)], time=[60])
    assert db["link"].rows() == [(1, 2)]


def test_by_the_clock_facts_expire_when_somebody_advances() -> None:
    clock = Clock()
    db = watched(clock)
    db.window("link", ttl=30)
    db.insert("link", [(1, 2)])
    assert db.next_expiry == 130.0
    clock.now = 115
    db.insert("link", [(1, 2)])
    assert db.next_expiry == 145.0
    clock.now = 40  # a clock that is set back does no harm
    assert not db.advance()
    clock.now = 145
    assert db.advance()["link"].deletions == 1
    assert db.next_expiry is None


def test_clock_and_event_time_do_not_mix_in_one_relation() -> None:
    db = watched()
    db.window("link", ttl=30)
    db.window("path", ttl=30, time="clock")
    db.insert("link", [(1, 2)], time=5)
    with pytest.raises(DataError, match="has no time"):
        db.insert("link", [(2, 3)])
    with pytest.raises(DataError, match="goes by the clock"):
        db.insert("path", [(2, 3)], time=5)
    db.insert("path", [(2, 3)])  # another relation may go by the clock
    fresh = watched()
    fresh.window("link", ttl=30)
    with pytest.raises(DataError, match="W0681"), fresh.transaction() as t:
        t.insert("link", [(1, 2)], time=5)
        t.insert("link", [(2, 3)])
    assert fresh["link"].rows() == []


@pytest.mark.parametrize("by_event", [True, False])
def test_facts_from_before_the_window_live_from_the_first_time_that_is_known(
    by_event: bool,
) -> None:
    clock = Clock()
    db = watched(clock)
    db.insert("link", [(1, 2)])
    db.window("link", ttl=30)
    assert db["link"].rows() == [(1, 2)]
    assert db.next_expiry == 130
    if by_event:
        db.insert("link", [(2, 3)], time=5000)
        assert not db.advance(5029)
        assert db.advance(5030)["link"].deletions == 2
    else:
        clock.now = 129
        assert not db.advance()
        clock.now = 130
        assert db.advance()["link"].deletions == 1


def test_facts_of_a_program_loaded_later_live_from_then_on() -> None:
    clock = Clock()
    db = watched(clock)
    db.window("link", ttl=30, time="clock")
    db.insert("link", [(1, 2)])
    clock.now = 120
    db.load("link(5, 6).")
    assert len(db["link"]) == 2
    clock.now = 130
    assert db.advance()["link"].deletions == 1
    clock.now = 150
    assert db.advance()["link"].deletions == 1


def test_a_window_can_be_changed() -> None:
    db = watched()
    db.window("link", last=3)
    for n in range(5):
        db.insert("link", [(n, n)], time=n)
    assert db["link"].rows() == [(2, 2), (3, 3), (4, 4)]
    db.window("link", last=1)
    assert db["link"].rows() == [(4, 4)]
    db.window("link", within=10)
    assert db.advance(14)["link"].deletions == 1
    db.insert("link", [(0, 0)], time=14)
    with pytest.raises(UsageError, match="goes by event time"):
        db.window("link", ttl=10, time="clock")


def test_a_smaller_window_takes_from_every_key() -> None:
    db = watched()
    db.window("link", last=2, by="x")
    db.insert("link", [(x, y) for x in range(3) for y in range(3)])
    assert len(db["link"]) == 6
    db.window("link", last=1, by="x")
    assert db["link"].rows() == [(0, 2), (1, 2), (2, 2)]


def test_the_last_facts_are_kept_for_each_key() -> None:
    db = watched()
    db.window("link", last=1, by="x")
    db.insert("link", [(1, 1), (1, 2), (2, 1)])
    assert db["link"].rows() == [(1, 2), (2, 1)]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"ttl": 0},
        {"ttl": -1},
        {"within": float("nan")},
        {"last": 0},
        {"ttl": 1, "within": 2},
        {"ttl": 1, "by": "x"},
    ],
)
def test_a_window_that_makes_no_sense_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="W0811"):
        watched().window("link", **asked)  # type: ignore[arg-type]


def test_what_is_no_time_is_refused() -> None:
    db = watched()
    for wrong in ("noon", float("inf"), [1, 2], [], True):
        with pytest.raises(DataError, match="W0680"):
            db.insert("link", [(1, 2)], time=wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="W0680"):
        db.advance("soon")
    with pytest.raises(NotATime):
        as_seconds(10**400)
    assert db["link"].rows() == []


def test_a_commit_costs_its_updates_and_not_the_window() -> None:
    contents = Contents(Window(width=1e6, last=10**6, by=(0,), time="clock"), 0.0)
    contents.commit(Said({(n % 100, n): (float(n), n) for n in range(100_000)}), 0.0)
    started = clocks.process_time()
    for n in range(200):
        contents.commit(Said({(0, -n): (1e5, 100_000 + n)}), 1e5)
    assert clocks.process_time() - started < 0.2  # one look at all rows takes 10 ms


def test_refreshes_do_not_pile_up() -> None:
    contents = Contents(Window(width=10.0, last=5, by=(0,), time="clock"), 0.0)
    for n in range(5000):
        contents.commit(Said({(0, n % 3): (float(n), n)}), float(n))
    assert len(contents.stamps) == 3
    assert len(contents._ages) + sum(map(len, contents._groups.values())) < 300
