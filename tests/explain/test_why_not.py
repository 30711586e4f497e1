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
from whence.explain.model import Fact, Value

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
            if told and len({n for o in (*rule.heads, *rule.body) for n in names(o)}) <= 4:
                assert min(told) <= fewest_missing(state, number, fact, range(MODULUS + 1))
