"""The contract of explanations: what can be asked about the facts of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from whence.explain.model import Cone, Fact, Proof, WhyNot
from whence.semiring.base import Semiring
from whence.syntax.nodes import Atom

Asked = str | Atom | Fact
"""A fact that is asked about: its text, such as `path(1, 2)`, or the thing itself."""

MAX_INSTANCES: Final = 200_000
"""Rule instances of a cone beyond which it is not searched any further, unless more are asked."""

MAX_TUPLES: Final = 20_000
"""Tuples that the search for failed instances of one rule looks at, unless more are asked."""

OVER: Final = 3
"""How many of the facts that an aggregate is over are proved, unless more are asked."""

NEAREST: Final = 3
"""How many failed instances are told of each rule, unless more are asked."""


class Explains(Protocol):
    """Answers about one state of the relations of a program."""

    def why(
        self,
        fact: Asked,
        *,
        minimal: bool = False,
        depth: int | None = None,
        semiring: Semiring[Any] | None = None,
        annotation: Callable[[Fact], Any] | None = None,
        over: int = OVER,
        limit: int = MAX_INSTANCES,
    ) -> Proof:
        """Return a proof of a fact that holds.

        It is of minimal height after a fresh evaluation, or when `minimal` asks for it; with a
        semiring that is a chain, of the best annotation, given those of base facts. Below `depth`
        steps proofs are cut.
        """
        ...

    def why_not(
        self, fact: Asked, *, depth: int = 0, nearest: int = NEAREST, limit: int = MAX_TUPLES
    ) -> WhyNot:
        """Return why a fact does not hold; `depth` says how far to go on with what is missing."""
        ...

    def derivations(self, fact: Asked, *, limit: int = MAX_INSTANCES) -> Cone:
        """Return every rule instance that can take part in a derivation of the fact."""
        ...
