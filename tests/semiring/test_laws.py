"""Every semiring keeps the laws of semirings and those it claims; what breaks one is found out."""

from __future__ import annotations

import math
import os
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semiring.values import MADE, VALUES, values
from whence.semiring.base import Chain, Law, Semiring, Times
from whence.semiring.laws import (
    CLAIMS,
    SEMIRING,
    chain_violation,
    close,
    first_violation,
    violation,
)
from whence.semiring.registry import FAMILIES, SEMIRINGS

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "2000"))


def test_every_semiring_is_tried() -> None:
    assert set(SEMIRINGS) <= set(VALUES)
    for pattern, _ in FAMILIES.values():
        assert any(pattern.fullmatch(name) for name in VALUES)


def keeps_its_laws(name: str, drawn: Any) -> None:
    a, b, c = drawn
    found = violation(MADE[name], a, b, c) or chain_violation(MADE[name], a, b)
    assert found is None, str(found)


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_it_keeps_its_laws(name: str, data: st.DataObject) -> None:
    keeps_its_laws(name, data.draw(st.tuples(*[values(name)] * 3)))


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_it_keeps_its_laws_for_long(name: str, data: st.DataObject) -> None:
    keeps_its_laws(name, data.draw(st.tuples(*[values(name)] * 3)))


# For each law that a semiring does not claim, values for which it would not hold: no claim is
# too modest by mistake.
MODEST: list[tuple[str, Law, tuple[Any, ...]]] = [
    ("counting", Law.IDEMPOTENT, (1, 1)),
    ("counting", Law.STABLE, (1, 1)),
    ("counting-inf", Law.STABLE, (1, 1)),
    ("how", Law.IDEMPOTENT, (MADE["how"].variable("p"),) * 2),
    ("how", Law.STABLE, (MADE["how"].variable("p"),) * 2),
    ("top-2", Law.IDEMPOTENT, ((1,), (1,))),
    ("top-2", Law.ABSORPTIVE, ((1,), (1,))),
    ("top-2-distinct", Law.ABSORPTIVE, ((1,), (1,))),
    ("top-2-distinct", Law.SELECTIVE, ((1,), (2,))),
    ("visits", Law.ABSORPTIVE, (1, 1)),
    ("which", Law.ABSORPTIVE, (MADE["which"].variable("p"),) * 2),
    ("which", Law.SELECTIVE, (MADE["which"].variable("p"), MADE["which"].variable("q"))),
    ("why", Law.ABSORPTIVE, (MADE["why"].variable("p"),) * 2),
    ("minwhy", Law.SELECTIVE, (MADE["minwhy"].variable("p"), MADE["minwhy"].variable("q"))),
    (
        "absorption",
        Law.SELECTIVE,
        (MADE["absorption"].variable("p"), MADE["absorption"].variable("q")),
    ),
    ("probability", Law.SELECTIVE, (MADE["probability"].read(0.5), MADE["probability"].read(0.5))),
    ("3-feature", Law.SELECTIVE, ((1, 2, 0), (2, 1, 0))),
]


@pytest.mark.parametrize(("name", "law", "pair"), MODEST, ids=lambda x: str(x)[:24])
def test_what_is_not_claimed_does_not_hold(name: str, law: Law, pair: tuple[Any, Any]) -> None:
    semiring = MADE[name]
    assert law not in semiring.laws
    claimed, semiring.laws = semiring.laws, law
    try:
        assert violation(semiring, *pair, semiring.one) is not None
    finally:
        semiring.laws = claimed


class Broken(Semiring[int]):
    """Numbers with a plus and a times that a test chooses."""

    name = "broken"
    laws = Law.NONE
    column = "number"
    zero = 0
    one = 1

    def __init__(self, plus: Any, times: Any, laws: Law = Law.NONE) -> None:
        self._plus, self._times = plus, times
        self.laws = laws

    def plus(self, a: int, b: int) -> int:
        return int(self._plus(a, b))

    def times(self, a: int, b: int) -> int:
        return int(self._times(a, b))

    def read(self, cell: Any) -> int:
        return int(cell)

    def show(self, value: int) -> int:
        return value


BROKEN = [
    ("a ⊕ b = b ⊕ a", lambda a, b: a if a else b, lambda a, b: a * b, Law.NONE),
    ("(a ⊕ b) ⊕ c", lambda a, b: abs(a - b), lambda a, b: a * b, Law.NONE),
    ("a ⊕ 0 = a", lambda a, b: a + b + 1, lambda a, b: a * b, Law.NONE),
    ("a ⊗ b = b ⊗ a", lambda a, b: a + b, lambda a, b: a * b if a < 3 else a, Law.NONE),
    (
        "(a ⊗ b) ⊗ c",
        lambda a, b: a + b,
        lambda a, b: a * b if 1 in (a, b) else (a + b) // 2,
        Law.NONE,
    ),
    ("a ⊗ 1 = a", lambda a, b: a + b, lambda a, b: 2 * a * b, Law.NONE),
    ("a ⊗ 0 = 0", max, max, Law.NONE),
    (
        "a ⊗ (b ⊕ c)",
        max,
        lambda a, b: a * b if 1 in (a, b) else (0 if 0 in (a, b) else 5 - a * b % 7),
        Law.NONE,
    ),
    ("a ⊕ a = a", lambda a, b: a + b, lambda a, b: a * b, Law.IDEMPOTENT),
    ("1 ⊕ a = 1", max, lambda a, b: a * b, Law.ABSORPTIVE),
    (
        "a ⊕ b is a or b",
        lambda a, b: a | b,
        lambda a, b: a & b if 1 not in (a, b) else a * b,
        Law.SELECTIVE,
    ),
    ("comes to an end", lambda a, b: a + b, lambda a, b: a * b, Law.STABLE),
]


@pytest.mark.parametrize(
    ("law", "plus", "times", "claims"), BROKEN, ids=[law for law, *_ in BROKEN]
)
def test_a_broken_law_is_found(law: str, plus: Any, times: Any, claims: Law) -> None:
    broken = Broken(plus, times, claims)
    equations = SEMIRING | {text: equation for _, text, equation in CLAIMS}
    (equation,) = [found for text, found in equations.items() if law in text]
    sides = [equation(broken, *triple) for triple in product(range(6), repeat=3)]
    assert any(left != right for left, right in sides)
    found = first_violation(broken, range(6))
    assert found is not None
    assert "fails for a = " in str(found)


def test_every_law_can_be_broken() -> None:
    laws = [*SEMIRING, *(text for _, text, _ in CLAIMS)]
    assert all(any(law in text for law, *_ in BROKEN) or text.startswith("sum") for text in laws)


def test_a_sum_that_is_no_sum_is_found() -> None:
    class Forgetful(Broken):
        def sum(self, values: Any) -> int:
            return max(values, default=0)

    found = first_violation(Forgetful(lambda a, b: a + b, lambda a, b: a * b), range(3))
    assert found is not None
    assert found.law.startswith("sum")


class Chained(Broken):
    """Numbers that claim to be a chain."""

    @property
    def chain(self) -> Chain:
        return Chain(Times.MULTIPLY, least=False, one=1.0, zero=0.0)


def test_a_chain_that_does_something_else_is_found() -> None:
    every = Law.IDEMPOTENT | Law.ABSORPTIVE | Law.SELECTIVE
    assert first_violation(Chained(max, min, every), (0, 1)) is None
    least = Chained(min, min, every)
    least.zero, least.one = 1, 0
    for wrong, law in (
        (Chained(max, min, Law.ABSORPTIVE), "a chain is selective"),
        (least, "0 and 1"),
        (Chained(min, min, every), "a ⊕ b"),
        (Chained(max, lambda a, b: a, every), "a ⊗ b"),
    ):
        found = chain_violation(wrong, 1, 0)
        assert found is not None
        assert law in found.law


@pytest.mark.parametrize("name", [n for n, s in MADE.items() if s.chain is not None])
def test_a_chain_has_its_best_and_its_worst_number(name: str) -> None:
    semiring, chain = MADE[name], MADE[name].chain
    assert chain is not None
    assert (chain.one < chain.zero) == chain.least
    assert semiring.plus(semiring.one, semiring.zero) == semiring.one == chain.one


def test_closeness_is_only_about_floats() -> None:
    assert close(0.1 + 0.2, 0.3)
    assert close((1, 0.1 + 0.2), (1, 0.3))
    assert not close(0.3, 0.3001)
    assert not close(1, 2)
    assert not close((1,), (1, 1))
    assert not close(0.5, "x")
    assert close(math.inf, math.inf)
    assert not close(math.inf, 1e300)
