"""Which evaluator the laws of a semiring allow, and why: what `whence plan` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whence.semiring.base import Law, Semiring
from whence.semiring.product import Product
from whence.semiring.topk import TopK


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How annotations are computed, in a word, and the reason."""

    name: str
    reason: str


def evaluator_of(semiring: Semiring[Any]) -> Evaluator:
    """Return how facts are annotated in the semiring.

    >>> from whence.semiring.registry import make
    >>> [evaluator_of(make(name)).name for name in ("tropical", "why", "top-2", "counting")]
    ['best per fact', 'round by round', 'k settlements', 'exact']
    """
    laws = semiring.laws
    if semiring.chain is not None:
        return Evaluator(
            "best per fact",
            "absorptive and totally ordered numbers: a column that keeps the best, best first "
            "where the recursion is a search",
        )
    if isinstance(semiring, Product):
        return Evaluator(
            "per dimension",
            "a product: each dimension by its own laws, over all instances of rules",
        )
    if isinstance(semiring, TopK):
        return Evaluator(
            "k settlements",
            "the k best: a fact is settled up to k times, best first, over all instances of rules",
        )
    if laws & Law.ABSORPTIVE and laws & Law.SELECTIVE:
        return Evaluator(
            "best first", "absorptive and totally ordered, over all instances of rules"
        )
    if laws & (Law.STABLE | Law.ABSORPTIVE):
        return Evaluator(
            "round by round", "stable: rounds over all instances of rules come to an end"
        )
    if semiring.infinite is not None:
        return Evaluator(
            "exact, or infinite",
            "not stable: each fact once all it rests on is known; what a cycle feeds is infinite",
        )
    return Evaluator(
        "exact",
        "not stable: each fact once all it rests on is known; a cycle of facts is refused",
    )
