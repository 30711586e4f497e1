"""The definition agrees with clingo on the language that both have."""

from __future__ import annotations

import pytest
from hypothesis import given

from property.agreement import answers, long, quick, resolved
from property.cases import Case, cases
from property.clingo_program import solve
from property.programs import Features
from whence.rewrite.normalise import normalise
from whence.rewrite.scope_aggregates import scope_aggregates

SHARED = Features(functors=False, subsumption=False, nested_aggregates=False)


def check_model(case: Case) -> None:
    program = resolved(case.program)
    found = solve(scope_aggregates(normalise(program)), case.facts)
    assert found == answers(program, case.facts)


@quick
@given(cases(SHARED))
def test_naive_evaluation_gives_the_stable_model(case: Case) -> None:
    check_model(case)


@pytest.mark.slow
@long
@given(cases(SHARED))
def test_naive_evaluation_gives_the_stable_model_of_many_programs(case: Case) -> None:
    check_model(case)
