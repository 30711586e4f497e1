"""What is said to be missing is missing, what is said to hold holds, and nothing fails less."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.checker import State, check_why_not, fewest_missing, names
from explain.states import EVERYTHING, base_of, database_of, state_of
from property.agreement import long, quick
from property.cases import Case, cases
from property.programs import MODULUS, SYMBOLS, Features
from whence import Database
from whence.diagnostics import UsageError
from whence.explain.model import Fact, Value
from whence.syntax.nodes import Constant, Variable

few = settings(quick, max_examples=25)
SMALL = Features(symbols=False, records=False, subsumption=False, rules=2)
VALUES: dict[str, list[Value]] = {
    "number": list(range(MODULUS + 1)),
    "unsigned": list(range(MODULUS + 1)),
    "symbol": [*SYMBOLS, "zz"],
    "float": [0.0, 0.5, 1.5, 2.0],
    "Pair": [None, (0, 1), (2, 3), (9, 9)],
}
NETWORK = """
.decl edge(x: number, y: number)
.decl down(x: number)
.decl path(x: number, y: number)
.decl degree(x: number, n: number)
path(x, y) :- edge(x, y), !down(y).
path(x, z) :- path(x, y), edge(y, z), !down(z).
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
edge(1, 2).  edge(2, 3).  edge(3, 4).  edge(5, 6).  down(4).
"""


@pytest.fixture
def network() -> Database:
    db = Database()
    db.load(NETWORK)
    return db


def absent_facts(state: State, data: st.DataObject) -> list[Fact]:
    """Facts that do not hold, of relations with rules."""
    derived = sorted({h.relation for r in state.program.rules if r.body for h in r.heads})
    found = []
    for name in derived:
        types = [a.type for a in state.program.relation(name).attributes]
        for _ in range(2):
            row = tuple(data.draw(st.sampled_from(VALUES[t])) for t in types)
            if row not in state.relations[name]:
                found.append(Fact(name, row))
    return found


def check(case: Case, data: st.DataObject, depth: int) -> None:
    state = state_of(case.program, base_of(case))
    db = database_of(case)
    for fact in absent_facts(state, data):
        check_why_not(db.why_not(fact, depth=depth), state)


@few
@given(cases(EVERYTHING), st.data(), st.integers(0, 2))
def test_the_reasons_of_an_absence_are_true(case: Case, data: st.DataObject, depth: int) -> None:
    check(case, data, depth)


@pytest.mark.slow
@long
@given(cases(EVERYTHING), st.data(), st.integers(0, 2))
def test_the_reasons_of_an_absence_are_true_at_length(
    case: Case, data: st.DataObject, depth: int
) -> None:
    check(case, data, depth)


@few
@given(cases(SMALL), st.data())
def test_no_instance_lacks_fewer_literals(case: Case, data: st.DataObject) -> None:
    state = state_of(case.program, base_of(case))
    db = database_of(case)
    for fact in absent_facts(state, data):
        answer = db.why_not(fact)
        for number, rule in enumerate(state.program.rules, 1):
            told = [len(f.missing) for f in answer.failed if f.number == number]
            plain = all(isinstance(a, Variable | Constant) for h in rule.heads for a in h.args)
            if (
                told
                and plain
                and len({n for o in (*rule.heads, *rule.body) for n in names(o)}) <= 4
            ):
                assert min(told) <= fewest_missing(state, number, fact, range(MODULUS + 1))


# ── single absences ──


def test_the_nearest_instance_lacks_one_premise(network: Database) -> None:
    answer = network.why_not("path(1, 4)")
    (second,) = [failed for failed in answer.failed if failed.number == 2]
    assert second.holds == ("path(1, 3)", "edge(3, 4)")
    assert [(m.kind, m.text) for m in second.missing] == [("negation", "!down(4)")]


def test_every_rule_of_the_relation_is_told(network: Database) -> None:
    answer = network.why_not("path(1, 6)")
    assert {failed.number for failed in answer.failed} == {1, 2}
    assert answer.failed[0].missing[0].text == "edge(1, 6)"


def test_instances_that_lack_different_literals_come_first(network: Database) -> None:
    second = [f for f in network.why_not("path(1, 6)").failed if f.number == 2]
    assert [f.missing[0].relation for f in second][:2] == ["path", "edge"]


def test_what_nothing_binds_is_a_pattern(network: Database) -> None:
    (second,) = [f for f in network.why_not("path(7, 9)").failed if f.number == 2]
    assert [(m.text, m.pattern) for m in second.missing] == [
        ("path(7, y)", (7, None)),
        ("edge(y, 9)", (None, 9)),
    ]


def test_an_aggregate_that_comes_to_something_else_tells_what(network: Database) -> None:
    (failed,) = network.why_not("degree(1, 2)").failed
    assert failed.missing[0].text == "2 = count : { edge(1, _) }, which is 1"


def test_a_minimum_of_nothing_has_no_value() -> None:
    db = Database()
    db.load(".decl a(x: number)  .decl b(n: number)  b(n) :- n = min x : { a(x) }.")
    (failed,) = db.why_not("b(1)").failed
    assert failed.missing[0].text == "1 = min x : { a(x) }, which has no value"


def test_a_literal_that_needs_what_is_missing_waits() -> None:
    db = Database()
    db.load(".decl a(x: number, y: number)  .decl b(x: number)  b(x) :- a(x, y), y > 3.")
    (failed,) = db.why_not("b(1)").failed
    assert [m.text for m in failed.missing] == ["a(1, y)"]
    assert failed.open == ("y > 3",)


def test_what_is_missing_is_gone_into_as_far_as_asked(network: Database) -> None:
    shallow = network.why_not("path(1, 6)")
    assert all(m.why is None for failed in shallow.failed for m in failed.missing)
    deep = network.why_not("path(1, 6)", depth=1)
    lacked = [m for failed in deep.failed for m in failed.missing if m.relation == "path"]
    assert lacked[0].why is not None
    assert lacked[0].why.fact == Fact("path", (1, 5))


def test_an_absence_that_rests_on_itself_is_told_once() -> None:
    db = Database()
    db.load(".decl a(x: number)  .decl b(x: number)  a(x) :- b(x).  b(x) :- a(x).")
    (failed,) = db.why_not("a(1)", depth=9).failed
    (inner,) = failed.missing[0].why.failed  # type: ignore[union-attr]
    assert inner.missing[0].why is None


def test_a_relation_without_rules_holds_what_it_was_given(network: Database) -> None:
    answer = network.why_not("edge(7, 7)")
    assert answer.failed == ()
    assert answer.reasons == ("`edge` has no rules, and the fact was not given",)


def test_a_head_that_cannot_be_the_fact_is_told() -> None:
    db = Database()
    db.load(".decl a(x: number)  .decl b(x: number, y: number)  b(x, 1) :- a(x).  a(1).")
    assert db.why_not("b(1, 2)").reasons == ("rule 1 derives other facts: b(x, 1)",)


def test_a_better_tuple_that_took_the_place_is_named() -> None:
    db = Database()
    db.load(
        ".decl a(x: number)  .decl b(x: number)  b(x) :- a(x).  b(x) <= b(y) :- y < x.a(1).  a(2)."
    )
    assert db.why_not("b(2)").reasons == ("rule 1 derives it, but `b(1)` takes its place",)


def test_a_fact_that_was_given_and_dropped_is_not_said_to_be_missing() -> None:
    for rules in ("", "d(x, c) :- d(x, c), c > 9."):
        db = Database()
        db.load(f".decl d(x: number, c: number) d(x, a) <= d(x, b) :- b <= a. {rules}")
        db.insert("d", [(1, 5), (1, 3)])
        reasons = db.why_not("d(1, 5)").reasons
        assert "whether or not it was given, `d(1, 3)` takes its place" in reasons
        assert not any("was not given" in reason for reason in reasons)
        assert any("was not given" in reason for reason in db.why_not("d(2, 5)").reasons)


def test_a_computed_argument_of_the_head_fails_last() -> None:
    db = Database()
    db.load(".decl a(x: number)  .decl b(x: number)  b(x + 1) :- a(x).  a(7).")
    (failed,) = db.why_not("b(2)").failed
    assert (failed.holds, failed.missing[0].text) == (("a(7)",), "2 = 7 + 1")


def test_alternatives_of_a_rule_are_one_rule() -> None:
    db = Database()
    db.load(
        ".decl a(x: number)  .decl b(x: number)  .decl c(x: number)  .decl d(x: number)"
        "d(x) :- a(x), b(x), (c(x) ; x > 9).  b(1)."
    )
    answer = db.why_not("d(1)", nearest=9)
    assert {f.number for f in answer.failed} == {1}
    assert {len(f.missing) for f in answer.failed} == {2}


def test_a_search_that_is_cut_short_says_so() -> None:
    db = Database()
    db.load(
        ".decl a(x: number)  .decl b(x: number, y: number, z: number)  .decl c(x: number)"
        "c(x) :- a(x), a(y), a(z), a(u), b(y, z, u), b(u, z, y)."
    )
    db.insert("a", [(i,) for i in range(60)])
    db.insert("b", [(i, i, i + 1) for i in range(60)])
    answer = db.why_not("c(1)", limit=500)
    assert "the search of rule 1 was cut short" in answer.reasons


def test_a_fact_that_holds_is_not_absent(network: Database) -> None:
    with pytest.raises(UsageError) as caught:
        network.why_not("path(1, 3)")
    assert caught.value.diagnostics[0].code == "W0952"
    assert "why" in caught.value.diagnostics[0].hint
