"""Every proof is one, by a checker that shares no code with the search; least heights are least."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.checker import State, check_cone, check_proof, instances, least_heights
from explain.states import EVERYTHING, PLAIN, base_of, changes, database_of, state_of
from property.agreement import long, quick
from property.cases import Case, cases
from whence import Database
from whence.diagnostics import DataError
from whence.explain.model import Derived, Fact, Given, Proof

few = settings(quick, max_examples=15)
SOME = 12
"""Facts of a state that are explained; all of them would take long."""


def height_of(proof: Proof) -> int:
    return proof.height if isinstance(proof, Derived) else 0


def some_facts(state: State, data: st.DataObject) -> list[Fact]:
    facts = list(state.facts())
    if len(facts) <= SOME:
        return facts
    return data.draw(st.lists(st.sampled_from(facts), min_size=SOME, max_size=SOME, unique=True))


def proof_of(db: Database, fact: Fact, *, minimal: bool) -> Proof | None:
    """A proof, None where it is said that nothing that is there derives the fact."""
    try:
        return db.why(fact, minimal=minimal)
    except DataError as error:
        if error.diagnostics[0].code != "W0954":
            raise
        return None


def check_all(db: Database, state: State, data: st.DataObject, *, fresh: bool) -> None:
    least = least_heights(state)
    for fact in some_facts(state, data):
        lowest = least.get(fact, inf)
        for minimal in (False, True):
            proof = proof_of(db, fact, minimal=minimal)
            if proof is None:
                assert lowest == inf, f"{fact} has a proof of height {lowest}"
                continue
            assert proof.fact == fact
            check_proof(proof, state)
            if fresh or minimal:
                assert height_of(proof) == lowest
            assert height_of(proof) >= lowest


def check_fresh(case: Case, data: st.DataObject) -> None:
    check_all(database_of(case), state_of(case.program, base_of(case)), data, fresh=True)


def check_after(case: Case, data: st.DataObject, strategy: str) -> None:
    db = database_of(case, strategy)
    base = base_of(case)
    for sign, name, row in data.draw(changes(case)):
        if sign == "-":
            db.delete(name, [row])
            base[name].discard(row)
        else:
            db.insert(name, [row])
            base[name].add(row)
    check_all(db, state_of(case.program, base), data, fresh=False)


@few
@given(cases(PLAIN), st.data())
def test_every_fact_has_a_proof_of_least_height(case: Case, data: st.DataObject) -> None:
    check_fresh(case, data)


@few
@given(cases(EVERYTHING), st.data())
def test_a_fact_has_a_proof_unless_subsumption_took_its_premises(
    case: Case, data: st.DataObject
) -> None:
    check_fresh(case, data)


@few
@given(cases(PLAIN), st.data(), st.sampled_from(["auto", "ranked", "dred", "recompute"]))
def test_facts_are_proved_after_changes(case: Case, data: st.DataObject, strategy: str) -> None:
    check_after(case, data, strategy)


@few
@given(cases(PLAIN), st.data())
def test_a_cone_has_every_instance_behind_a_fact(case: Case, data: st.DataObject) -> None:
    state = state_of(case.program, base_of(case))
    db = database_of(case)
    for fact in some_facts(state, data)[:4]:
        check_cone(db.derivations(fact), state, fact)


@pytest.mark.slow
@long
@given(cases(PLAIN), st.data())
def test_every_fact_has_a_proof_of_least_height_at_length(case: Case, data: st.DataObject) -> None:
    check_fresh(case, data)


@pytest.mark.slow
@long
@given(cases(EVERYTHING), st.data(), st.sampled_from(["auto", "ranked", "dred", "recompute"]))
def test_facts_are_proved_after_changes_at_length(
    case: Case, data: st.DataObject, strategy: str
) -> None:
    check_after(case, data, strategy)


def test_the_judge_finds_every_instance() -> None:
    db = Database()
    db.load(".decl a(x: number)  .decl b(x: number)  a(1). a(2).  b(x + y) :- a(x), a(y), x < y.")
    state = State(db.program, {"a": {(1,), (2,)}, "b": {(3,)}}, {"a": {(1,), (2,)}})
    assert [i[1:] for i in instances(state)] == [
        (Fact("b", (3,)), (Fact("a", (1,)), Fact("a", (2,))))
    ]


def test_the_judge_refuses_what_is_no_proof() -> None:
    db = Database()
    db.load(".decl a(x: number)  .decl b(x: number)  a(1). a(2).  b(x) :- a(x), x < 2.")
    state = State(db.program, {"a": {(1,), (2,)}, "b": {(1,)}}, {"a": {(1,), (2,)}})
    proof = db.why("b(1)")
    check_proof(proof, state)
    assert isinstance(proof, Derived)
    wrong = Derived(
        proof.fact,
        proof.rule,
        proof.number,
        (("x", 2),),
        (Given(Fact("a", (2,))), *proof.premises[1:]),
        1,
    )
    with pytest.raises(AssertionError):
        check_proof(wrong, state)
    with pytest.raises(AssertionError):
        check_proof(Given(Fact("b", (1,))), state)
