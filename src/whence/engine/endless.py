"""What is said of facts that have infinitely many derivations, where a semiring cannot add them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from whence.analysis.convergence import instead_of
from whence.diagnostics import DataError, Diagnostic
from whence.semiring.base import Semiring
from whence.syntax.nodes import Rule

_SHOWN: Final = 12


def endless(facts: Sequence[str], rules: Sequence[Rule], semiring: Semiring[Any]) -> DataError:
    """Return the error that shows a cycle: each fact is derived from the next by its rule."""
    shown = [f"`{fact}`" for fact in (*facts, facts[0])]
    if len(shown) > _SHOWN:
        left_out = len(shown) - _SHOWN
        shown[_SHOWN - 1 : -1] = [f"… ({left_out} more) …"]
    others = {rule.span: fact for fact, rule in zip(facts, rules, strict=True) if rule.span}
    others.pop(rules[0].span, None)
    places = [
        f"`{fact}` is derived by the rule in line {span.line}" for span, fact in others.items()
    ]
    return DataError(
        Diagnostic(
            "W0931",
            f"`{facts[0]}` is derived from itself, so it has infinitely many derivations, "
            f"which `{semiring.name}` cannot add up",
            rules[0].span,
            "by this rule",
            notes=(f"the cycle is {' ← '.join(shown)}", *places[:_SHOWN]),
            hint=instead_of(semiring),
        )
    )
