"""The definition agrees with clingo on the language that both have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import answers, long, quick, resolved
from property.clingo_program import solve
from property.programs import Features, facts, programs
from whence.rewrite.normalise import normalise
from whence.rewrite.scope_aggregates import scope_aggregates

SHARED = Features(functors=False, subsumption=False, nested_aggregates=False)


def check_models(data: st.DataObject) -> None:
    program = resolved(data.draw(programs(SHARED)))
    given = data.draw(facts(program))
    found = solve(scope_aggregates(normalise(program)), given)
    assert found == answers(program, given), str(program)


@quick
@given(st.data())
def test_naive_evaluation_gives_the_stable_model(data: st.DataObject) -> None:
    check_models(data)


@pytest.mark.slow
def test_naive_evaluation_gives_the_stable_model_of_many_programs() -> None:
    long(given(st.data())(check_models))()
