"""Every scheme is exact at rest: random programs, networks and bursts, with messages delayed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from network.core.randomized import Case, cases, consistent
from whence.network.model import Scheme
from whence.network.provenance.absorption import Absorption
from whence.network.provenance.minship import MinShip
from whence.network.simulation import Settings

WAYS = [
    ("absorption", "plain"),
    ("absorption", "eager"),
    ("absorption", "lazy"),
    ("relative", "plain"),
    ("relative", "eager"),
    ("relative", "lazy"),
    ("dred", "plain"),
]


@pytest.mark.parametrize(("scheme", "ship"), WAYS)
@settings(max_examples=25)
@given(case=cases(recursive=True))
def test_a_scheme_comes_to_the_central_answer(case: Case, scheme: str, ship: str) -> None:
    consistent(case, Settings(scheme=scheme, ship=ship))


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "ship"), WAYS)
@given(case=cases(recursive=True))
def test_a_scheme_comes_to_the_central_answer_in_iterations_too(
    case: Case, scheme: str, ship: str
) -> None:
    consistent(case, Settings(scheme=scheme, ship=ship, buffered=0.01))


def _diagrams() -> Scheme:
    return Absorption(limit=1)


@settings(max_examples=25)
@given(cases(recursive=True))
def test_diagrams_come_to_the_same_as_products(case: Case) -> None:
    consistent(case, Settings(scheme=_diagrams))


@settings(max_examples=25)
@given(cases(recursive=True))
def test_derivations_may_wait_for_a_number_or_a_time(case: Case) -> None:
    consistent(case, Settings(scheme="absorption", ship=lambda: MinShip(batch=5, every=0.05)))
