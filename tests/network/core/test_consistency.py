"""Pipelined and buffered evaluation are exact at rest, whatever comes and goes on the way."""

from __future__ import annotations

from hypothesis import given

from network.core.randomized import Case, cases, consistent
from whence.network.simulation import Settings


@given(cases(recursive=False))
def test_pipelined_evaluation_counts_each_derivation_once(case: Case) -> None:
    consistent(case, Settings(scheme="counting"))


@given(cases(recursive=False))
def test_buffered_evaluation_comes_to_the_same(case: Case) -> None:
    consistent(case, Settings(scheme="counting", buffered=0.01))


@given(cases(recursive=True))
def test_recursion_is_exact_with_the_scheme_it_needs(case: Case) -> None:
    consistent(case, Settings(scheme="auto"))
