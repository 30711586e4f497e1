"""Databases of annotated facts: rows with one more value, through everything a database does."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence import Database
from whence.diagnostics import DataError, UsageError
from whence.semiring.tropical import Tropical

ROADS = """
.decl road(x: symbol, y: symbol, @prov:tropical)
.input road
.decl way(x: symbol, y: symbol, @prov)
.decl start(x: symbol)
way(x, y) :- road(x, y).
way(x, z) :- way(x, y), road(y, z).
start(x) :- way(x, _).
"""
UNNAMED = ROADS.replace(":tropical", "")
BARE = UNNAMED.replace(", @prov", "")
ROWS = [("a", "b", 1), ("b", "c", 2.5), ("a", "c", 4)]
WAYS = [("a", "b", 1.0), ("a", "c", 3.5), ("b", "c", 2.5)]


@pytest.fixture
def db() -> Database:
    found = Database()
    found.load(ROADS)
    found.insert("road", ROWS)
    return found


def codes(error: pytest.ExceptionInfo[DataError] | pytest.ExceptionInfo[UsageError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]


def test_rows_go_in_and_come_out_with_annotations(db):
    assert db["way"].rows() == WAYS
    assert db["start"].rows() == [("a",), ("b",)]
    assert db.semiring is not None
    assert db.semiring.name == "tropical"
    assert db["way"].to_arrow().column_names == ["x", "y", "@prov"]
    assert db["way"].to_pandas().columns.tolist() == ["x", "y", "@prov"]


def test_a_query_shows_annotations(db):
    assert db.query('way("a", x)').rows() == WAYS[:2]
    assert db.query("start(x)").rows() == [("a",), ("b",)]


def test_rows_may_come_without_annotation():
    db = Database()
    db.load(ROADS)
    db.insert("road", [("a", "b"), ("b", "c", 2)])
    db.insert("road", {"x": ["c"], "y": ["d"]})
    assert db["road"].rows() == [("a", "b", 0.0), ("b", "c", 2.0), ("c", "d", 0.0)]


def test_rows_without_annotation_are_named_in_a_semiring_that_tells_facts_apart():
    db = Database(semiring="why")
    db.load(UNNAMED)
    db.insert("road", [("a", "b"), ("b", "c", "p7")])
    assert db.query('way("a", "c")').rows() == [("a", "c", '{p7,road("a", "b")}')]


def test_defaults_are_values_or_functions():
    for default in (7, lambda row: 7):
        db = Database(annotations={"road": default})
        db.load(ROADS)
        db.insert("road", [("a", "b"), ("b", "c", 1)])
        assert db["way"].rows() == [("a", "b", 7.0), ("a", "c", 8.0), ("b", "c", 1.0)]


def test_a_function_annotates_what_is_not_declared():
    db = Database(semiring="tropical", annotations={"road": lambda row: ord(row[1]) - ord(row[0])})
    db.load(BARE)
    db.insert("road", [("a", "b"), ("b", "d"), ("a", "d")])
    assert db["way"].rows() == [("a", "b", 1.0), ("a", "d", 3.0), ("b", "d", 2.0)]
    db.delete("road", [("a", "d")])
    assert db["way"].rows() == [("a", "b", 1.0), ("a", "d", 3.0), ("b", "d", 2.0)]
    db.delete("road", [("a", "b")])
    assert db["way"].rows() == [("b", "d", 2.0)]
    assert db["road"].rows() == [("b", "d", 2.0)]


def test_an_instance_may_stand_for_a_name():
    db = Database(semiring=Tropical())
    db.load(UNNAMED)
    db.insert("road", ROWS)
    assert db["way"].rows() == WAYS


def test_plain_databases_take_no_annotations():
    db = Database(semiring="plain")
    db.load(ROADS + ' road("x", "y", 5).')
    db.insert("road", [("a", "b")])
    assert db["way"].rows() == [("a", "b"), ("x", "y")]
    with pytest.raises(DataError):
        db.insert("road", ROWS)


def test_a_change_of_weight_is_a_replacement(db):
    told = []
    db.subscribe("way", lambda change: told.append(change))
    db.subscribe("start", lambda change: told.append(change))
    db.replace("road", [("b", "c", 1)], key=("x", "y"))
    (change,) = told
    came = {tuple(row.values()) for row in change.inserted.to_pylist()}
    assert came == {("a", "c", 2.0), ("b", "c", 1.0)}
    assert db["way"].rows() == [("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 1.0)]


def test_a_change_of_weight_is_a_delete_and_an_insert(db):
    with db.transaction() as t:
        t.delete("road", [("b", "c", 2.5)])
        t.insert("road", [("b", "c", 9)])
    assert t.changes["way"].insertions == 2
    assert db["way"].rows() == [("a", "b", 1.0), ("a", "c", 4.0), ("b", "c", 9.0)]


def test_of_two_annotations_the_better_counts_while_it_is_there(db):
    db.insert("road", [("a", "b", 0.5)])
    assert db["way"].rows()[0] == ("a", "b", 0.5)
    db.delete("road", [("a", "b", 0.5)])
    assert db["way"].rows() == WAYS
    db.delete("road", [("a", "b", 1)])
    assert db["way"].rows() == [("a", "c", 4.0), ("b", "c", 2.5)]


def test_a_fact_that_goes_is_given_with_its_annotation(db):
    with pytest.raises(DataError) as caught:
        db.delete("road", [("a", "b")])
    assert codes(caught) == ["W0654"]
    assert db["way"].rows() == WAYS


@pytest.mark.parametrize(("cell", "reason"), [(-1, "is negative"), (float("nan"), "NaN is no")])
def test_what_is_no_annotation_is_refused_with_the_reason(db, cell, reason):
    with pytest.raises(DataError) as caught:
        db.insert("road", [("c", "d", 1), ("c", "e", cell)])
    assert codes(caught) == ["W0942"]
    assert reason in str(caught.value)
    assert db["way"].rows() == WAYS


def test_an_infinite_cost_is_no_fact(db):
    db.insert("road", [("c", "d", float("inf"))])
    assert db["way"].rows() == WAYS


def test_windows_hold_annotated_facts(db):
    db.window("road", ttl=10)
    db.insert("road", [("a", "b", 0.5)], time=100)
    assert db["way"].rows()[0] == ("a", "b", 0.5)
    db.advance(105)
    db.insert("road", [("c", "d", 1)], time=108)
    db.advance(111)
    assert ("c", "d", 1.0) in db["way"].rows()
    assert ("a", "b", 0.5) not in db["way"].rows()


def test_what_would_change_is_annotated(db):
    changes = db.what_if(insert='road("a", "c", 0.25)')
    assert changes["way"].inserted.to_pylist() == [{"x": "a", "y": "c", "@prov": 0.25}]
    assert db["way"].rows() == WAYS


def test_facts_of_the_text_can_be_deleted():
    for semiring, one in (("tropical", 1.0), ("why", "{p1}")):
        db = Database(semiring=semiring)
        cell = "1" if semiring == "tropical" else '"p1"'
        db.load(UNNAMED + f'road("a", "b", {cell}).')
        assert db["way"].rows() == [("a", "b", one)]
        db.delete("road", [("a", "b", 1 if semiring == "tropical" else "p1")])
        assert db["way"].rows() == []


@pytest.mark.parametrize(
    ("semiring", "own"),
    [
        ("tropical", 0.0),
        ("counting", 1),
        ("probability", 1.0),
        ("top-2", "0"),
        ("why", '{k([1, "x"], "b")}'),
        ("how", 'k([1, "x"], "b")'),
        ("absorption", 'k([1, "x"], "b")'),
    ],
)
def test_a_fact_without_annotation_has_its_own_and_goes_with_it(semiring, own):
    text = """
    .type P = [n: number, s: symbol]
    .decl k(p: P, s: symbol, @prov)
    .decl r(s: symbol, @prov)
    r(s) :- k(_, s).
    """
    stated = Database(semiring=semiring)
    stated.load(text + 'k([1, "x"], "b").')
    inserted = Database(semiring=semiring)
    inserted.load(text)
    inserted.insert("k", [((1, "x"), "b")])
    for db in (stated, inserted):
        assert db["r"].rows() == [("b", own)]
        db.insert("k", [((2, "x"), "c")])
        db.delete("k", [((1, "x"), "b", own), ((7, "x"), "b", own)])
        assert [row[0] for row in db["r"].rows()] == ["c"]


def test_facts_are_read_from_files(tmp_path: Path):
    (tmp_path / "road.facts").write_text("a\tb\t1\nb\tc\n")
    db = Database(annotations={"road": 3})
    db.load(ROADS, facts=tmp_path)
    assert db["way"].rows() == [("a", "b", 1.0), ("a", "c", 4.0), ("b", "c", 3.0)]
    db.delete("road", [("b", "c", 3)])
    assert db["way"].rows() == [("a", "b", 1.0)]


# ── loading and folders ──


@pytest.mark.parametrize("semiring", ["tropical", "top-2"])
def test_a_folder_knows_its_semiring(tmp_path: Path, semiring: str):
    cells = (1, 2.5, 4) if semiring == "tropical" else ("1", "2.5", "4")
    with Database(tmp_path / "kept", semiring=semiring) as db:
        db.load(UNNAMED + 'road("z", "a").')
        db.insert("road", [(x, y, c) for (x, y, _), c in zip(ROWS, cells, strict=True)])
        db.delete("road", [("a", "c", cells[2])])
        expected = db["way"].rows()
    for again in (None, semiring):
        with Database(tmp_path / "kept", semiring=again) as db:
            assert db["way"].rows() == expected
            db.checkpoint()
    with Database(tmp_path / "kept", read_only=True) as db:
        assert db["way"].rows() == expected
    for other in ("viterbi", "plain"):
        with pytest.raises(UsageError) as caught:
            Database(tmp_path / "kept", semiring=other)
        assert codes(caught) == ["W0944"]
    with Database(tmp_path / "kept") as db:
        assert db["way"].rows() == expected


def test_a_plain_folder_is_not_read_in_a_semiring(tmp_path: Path):
    with Database(tmp_path / "kept") as db:
        db.load(UNNAMED)
        db.insert("road", [("a", "b")])
    with pytest.raises(UsageError) as caught:
        Database(tmp_path / "kept", semiring="tropical")
    assert codes(caught) == ["W0944"]
    with Database(tmp_path / "kept") as db:
        assert db["way"].rows() == [("a", "b")]


def test_a_folder_without_declared_annotations_is_read_in_any(tmp_path: Path):
    with Database(tmp_path / "kept") as db:
        db.load(BARE)
        db.insert("road", [("a", "b"), ("a", "c"), ("b", "c")])
        assert db["way"].rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    with Database(tmp_path / "kept", semiring="counting") as db:
        assert db["way"].rows() == [("a", "b", 1), ("a", "c", 2), ("b", "c", 1)]


def test_a_program_may_be_loaded_in_parts():
    db = Database()
    db.load(".decl other(x: number)  other(1).")
    assert db["other"].rows() == [(1,)]
    db.load(ROADS)
    db.insert("road", ROWS)
    assert db["way"].rows() == WAYS
    db.load('road("c", "d", 1).')
    assert ("a", "d", 4.5) in db["way"].rows()
    assert db["other"].rows() == [(1,)]


def test_loading_does_not_change_the_semiring_of_facts():
    db = Database()
    db.load(UNNAMED)
    db.insert("road", [("a", "b")])
    with pytest.raises(UsageError) as caught:
        db.load(".decl cost(x: number, @prov:tropical)")
    assert codes(caught) == ["W0944"]
    assert db["way"].rows() == [("a", "b")]


def test_a_failed_journal_undoes_an_annotated_commit():
    class Refusing:
        broken = False

        def recovered(self):
            return None, iter(())

        def record(self, entry):
            if self.broken:
                raise OSError("no space")

        def settle(self, state):
            pass

    journal = Refusing()
    db = Database(journal=journal)
    db.load(ROADS)
    db.insert("road", ROWS)
    db.delete("road", [("a", "c", 4)])
    journal.broken = True
    for rows in ([("a", "b", 0.5)], [("a", "b", 7)], [("q", "r", 1)]):
        with pytest.raises(OSError, match="no space"):
            db.insert("road", rows)
        with pytest.raises(OSError, match="no space"):
            db.replace("road", rows, key=("x", "y"))
    assert db["way"].rows() == WAYS
    journal.broken = False
    db.delete("road", [("a", "b", 1)])
    assert db["way"].rows() == [("b", "c", 2.5)]


@pytest.mark.parametrize(("semiring", "cell"), [("counting-inf", 2), ("access", 1)])
def test_numbers_are_annotations_where_their_text_is(semiring: str, cell: int) -> None:
    db = Database(semiring=semiring)
    db.load(".decl e(x: number, y: number, @prov)")
    db.insert("e", [(1, 2, cell)])
    other = Database(semiring=semiring)
    other.load(".decl e(x: number, y: number, @prov)")
    other.insert("e", [(1, 2, str(cell))])
    assert db["e"].rows() == other["e"].rows()
    assert len(db["e"]) == 1
