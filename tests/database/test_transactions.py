"""Transactions: batches of base facts, whole or not at all, and who is told of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.database import Database
from whence.diagnostics import DataError, UsageError
from whence.view.base import Change

PROGRAM = """
.decl link(x: number, y: number)
.decl path(x: number, y: number)
.decl cost(x: symbol, y: symbol, c: number)
.decl on()
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""


@pytest.fixture
def db() -> Database:
    made = Database()
    made.load(PROGRAM)
    return made


def rows(table: object) -> list[tuple[object, ...]]:
    return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True))  # type: ignore[attr-defined]


def test_a_transaction_is_one_batch_and_says_what_it_changed(db: Database) -> None:
    db.insert("link", [(1, 2), (2, 3)])
    with db.transaction() as t:
        t.delete("link", [(2, 3)])
        t.insert("link", [(2, 4)])
        assert db["path"].rows() == [(1, 2), (1, 3), (2, 3)]  # nobody sees it yet
    assert db["path"].rows() == [(1, 2), (1, 4), (2, 4)]
    assert rows(t.changes["path"].inserted) == [(1, 4), (2, 4)]
    assert rows(t.changes["path"].deleted) == [(1, 3), (2, 3)]
    assert set(t.changes) == {"link", "path"}


def test_what_is_said_last_of_a_fact_counts(db: Database) -> None:
    with db.transaction() as t:
        t.insert("link", [(1, 2)])
        t.delete("link", [(1, 2)])
        t.delete("link", [(3, 4)])
        t.insert("link", [(3, 4)])
    assert db["link"].rows() == [(3, 4)]


def test_a_block_that_raises_changes_nothing(db: Database) -> None:
    with pytest.raises(ZeroDivisionError), db.transaction() as t:
        t.insert("link", [(1, 2)])
        _ = 1 // 0
    assert db["link"].rows() == []
    with pytest.raises(UsageError, match="not committed"):
        _ = t.changes
    with pytest.raises(UsageError, match="has ended"):
        t.insert("link", [(1, 2)])


def test_facts_that_do_not_fit_are_refused_before_the_commit(db: Database) -> None:
    with pytest.raises(DataError, match="do not fit"), db.transaction() as t:
        t.insert("link", [(1, 2)])
        t.insert("link", [("a", 2)])
    assert db["link"].rows() == []


def test_updates_of_the_database_within_the_block_belong_to_it(db: Database) -> None:
    seen: list[Change] = []
    db.subscribe("link", seen.append)
    with db.transaction():
        db.insert("link", [(1, 2)])
        db.delete("link", [(1, 2)])
        db.insert("link", [(1, 3)])
    assert [rows(change.inserted) for change in seen] == [[(1, 3)]]


def test_a_transaction_within_a_transaction_is_refused(db: Database) -> None:
    with db.transaction(), pytest.raises(UsageError, match="W0810"), db.transaction():
        pass
    with db.transaction(), pytest.raises(UsageError, match="W0810"):
        db.load(".decl more(x: number)")
    with db.transaction():  # both are over
        db.insert("link", [(1, 2)])
    assert db["link"].rows() == [(1, 2)]


def test_a_transaction_that_is_not_entered_takes_nothing(db: Database) -> None:
    db.transaction()
    db.insert("link", [(1, 2)])
    assert db["link"].rows() == [(1, 2)]


def test_what_is_there_comes_again_and_what_is_not_goes_without_a_change(db: Database) -> None:
    db.insert("link", [(1, 2)])
    with db.transaction() as t:
        t.insert("link", [(1, 2)])
        t.delete("link", [(5, 6)])
    assert not t.changes
    assert db["link"].rows() == [(1, 2)]


def test_facts_with_an_equal_key_are_replaced(db: Database) -> None:
    db.insert("cost", [("a", "b", 1), ("a", "b", 2), ("b", "c", 3)])
    db.replace("cost", [("a", "b", 9), ("a", "b", 8), ("c", "d", 4)], key=(0, "y"))
    assert db["cost"].rows() == [("a", "b", 8), ("a", "b", 9), ("b", "c", 3), ("c", "d", 4)]


def test_replacement_sees_what_the_transaction_did_before(db: Database) -> None:
    db.insert("cost", [("a", "b", 1)])
    with db.transaction() as t:
        t.insert("cost", [("a", "b", 2)])
        t.replace("cost", [("a", "b", 3)], key=("x", "y"))
        t.replace("cost", [("a", "b", 4)], key=("x", "y"))
        t.insert("cost", [("a", "b", 5)])
        t.replace("cost", [("z", "b", 6)], key="y")
        t.insert("cost", [("a", "b", 1)])
    assert db["cost"].rows() == [("a", "b", 1), ("z", "b", 6)]
    assert rows(t.changes["cost"].inserted) == [("z", "b", 6)]


@pytest.mark.parametrize(
    ("key", "said"), [("z", "no column `z`"), (7, "no column `7`"), ((), "at least one")]
)
def test_a_key_names_columns(db: Database, key: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        db.replace("cost", [("a", "b", 1)], key=key)  # type: ignore[arg-type]


def test_facts_in_the_text_can_be_deleted_and_stay_away() -> None:
    db = Database()
    db.load(PROGRAM + "link(1, 2). link(1 + 1, 3). on().")
    db.delete("link", [(2, 3)])
    db.delete("on", [()])
    assert (db["link"].rows(), db["on"].rows()) == ([(1, 2)], [])
    db.load("path(y, x) :- path(x, y).  link(5, 6).")
    assert (db["link"].rows(), db["on"].rows()) == ([(1, 2), (5, 6)], [])
    assert (2, 1) in db["path"]


def test_base_facts_of_a_derived_relation_come_and_go(db: Database) -> None:
    db.insert("link", [(2, 3)])
    db.insert("path", [(1, 2), (2, 3)])
    assert db["path"].rows() == [(1, 2), (1, 3), (2, 3)]
    db.delete("path", [(1, 2), (2, 3)])
    assert db["path"].rows() == [(2, 3)]  # by its rule


def test_equal_floats_and_records_are_one_fact() -> None:
    db = Database()
    db.load(".type L = [h: number, t: L]\n.decl f(x: float)\n.decl r(l: L)")
    db.insert("f", [(0.0,), (float("nan"),), (1.5,)])
    db.insert("r", [("[1, nil]",), ("[2, [0x10, nil]]",)])
    with db.transaction() as t:
        t.insert("f", [(2.5,)])
        t.delete("f", [(-0.0,), (float("nan"),), (2.5,)])
        t.insert("r", [("[3, nil]",)])
        t.delete("r", [("[1,nil]",), ("[ 2,[16,nil]]",), ((3, None),)])
    assert (db["f"].rows(), db["r"].rows()) == ([(1.5,)], [])


# ── who is told ──


def test_subscribers_are_told_of_each_commit_in_order(db: Database) -> None:
    seen: list[tuple[str, int, int]] = []
    for relation in ("link", "path", "link"):
        db.subscribe(relation, lambda c: seen.append((c.relation, c.insertions, c.deletions)))
    db.insert("link", [(1, 2), (2, 3)])
    db.insert("cost", [("a", "b", 1)])
    db.delete("link", [(1, 2)])
    assert seen == [
        ("link", 2, 0), ("path", 3, 0), ("link", 2, 0),
        ("link", 0, 1), ("path", 0, 2), ("link", 0, 1),
    ]  # fmt: skip


def test_a_cancelled_subscription_hears_no_more(db: Database) -> None:
    seen: list[Change] = []
    told = db.subscribe("link", seen.append)
    told.cancel()
    told.cancel()
    db.insert("link", [(1, 2)])
    assert seen == []


def test_a_callback_that_fails_breaks_neither_the_commit_nor_the_others(db: Database) -> None:
    seen: list[Change] = []
    db.subscribe("link", lambda change: 1 // 0)
    db.subscribe("link", seen.append)
    with pytest.raises(ExceptionGroup, match="the commit stands") as raised, db.transaction() as t:
        t.insert("link", [(1, 2)])
    assert t.changes["path"].insertions == 1
    assert [type(e) for e in raised.value.exceptions] == [ZeroDivisionError]
    assert len(seen) == 1
    assert db["link"].rows() == [(1, 2)]


def test_a_callback_may_commit_and_its_changes_are_told_afterwards(db: Database) -> None:
    seen: list[tuple[str, list[tuple[object, ...]]]] = []

    def mirror(change: Change) -> None:
        seen.append(("mirror", rows(change.inserted)))
        if len(db["cost"]) < 1:
            db.insert("cost", [("a", "b", 1)])
            db.insert("link", [(8, 9)])

    db.subscribe("link", mirror)
    db.subscribe("cost", lambda change: seen.append(("cost", rows(change.inserted))))
    db.subscribe("link", lambda change: seen.append(("last", rows(change.inserted))))
    db.insert("link", [(1, 2)])
    assert seen == [
        ("mirror", [(1, 2)]),
        ("last", [(1, 2)]),
        ("cost", [("a", "b", 1)]),
        ("mirror", [(8, 9)]),
        ("last", [(8, 9)]),
    ]


def test_subscribing_to_no_relation_is_refused(db: Database) -> None:
    with pytest.raises(UsageError, match="did you mean `link`"):
        db.subscribe("lnk", print)


# ── threads and readers ──


def test_a_table_does_not_change_when_the_database_does(db: Database) -> None:
    db.insert("link", [(1, 2)])
    db.delete("link", [(9, 9)])  # there is a view from here on
    before, again = db["path"], db["link"]
    db.insert("link", [(2, 3)])
    assert before.rows() == [(1, 2)]
    db.load("path(y, x) :- path(x, y).")
    assert again.rows() == [(1, 2)]


def test_threads_share_a_database(db: Database) -> None:
    seen: list[int] = []
    db.subscribe("link", lambda change: seen.append(change.insertions))

    def write(first: int) -> None:
        for i in range(10):
            with db.transaction() as t:
                t.insert("link", [(first + i, 0), (first + i, 1)])

    def read() -> None:
        for _ in range(20):
            assert len(db["link"]) % 2 == 0

    threads = [threading.Thread(target=write, args=(100 * n,)) for n in range(1, 5)]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [2] * 40
    assert len(db["link"]) == 80


# ── against the definition ──

facts = st.tuples(st.integers(0, 2), st.integers(0, 2))
operations = st.lists(
    st.tuples(st.sampled_from("+-~"), st.lists(facts, min_size=1, max_size=3)), max_size=6
)


@given(st.lists(operations, max_size=5))
def test_transactions_are_their_operations_one_after_the_other(
    batches: list[list[tuple[str, list[tuple[int, int]]]]],
) -> None:
    db = Database()
    db.load(".decl link(x: number, y: number)")
    model: set[tuple[int, int]] = set()
    for batch in batches:
        before = set(model)
        with db.transaction() as t:
            for sign, given in batch:
                if sign == "+":
                    t.insert("link", given)
                    model |= set(given)
                elif sign == "-":
                    t.delete("link", given)
                    model -= set(given)
                else:
                    t.replace("link", given, key="x")
                    keys = {x for x, _ in given}
                    model = {row for row in model if row[0] not in keys} | set(given)
        assert set(db["link"]) == model
        came, went = told(t.changes.get("link"))
        assert (came, went) == (model - before, before - model)


def told(change: Change | None) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    def as_set(found: Iterable[tuple[object, ...]]) -> set[tuple[object, ...]]:
        return set(found)

    if change is None:
        return set(), set()
    return as_set(rows(change.inserted)), as_set(rows(change.deleted))


INLINE = """
.decl e(x: number, y: number)
.decl up(x: number, y: number) inline
up(x, y) :- e(x, y), x < y.
.decl p(x: number, y: number)
p(x, y) :- up(x, y). p(x, z) :- p(x, y), up(y, z).
"""


def test_an_inline_relation_is_read_like_others_and_given_no_facts() -> None:
    db = Database()
    db.load(INLINE)
    db.insert("e", [(1, 2), (3, 1)])
    assert db["up"].rows() == [(1, 2)]
    with db.transaction() as t:  # from here on there is a view
        t.insert("e", [(2, 3)])
    assert db["up"].rows() == [(1, 2), (2, 3)]
    assert db.query("up(2, x)").rows() == [(2, 3)]
    assert db["p"].rows() == [(1, 2), (1, 3), (2, 3)]
    assert "p" in db.stats.relations
    with pytest.raises(UsageError, match="W0817"):
        db.insert("up", [(5, 6)])
    with pytest.raises(UsageError, match="W0817"):
        db.window("up", ttl=3)
