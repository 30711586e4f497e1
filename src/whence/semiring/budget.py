"""How large one annotation may grow, and the refusal beyond it."""

from __future__ import annotations

from whence.diagnostics import Diagnostic, LimitError

TERMS = 10_000
"""Terms of a polynomial, or witnesses of a fact, unless somebody asks for more."""


def too_many_terms(name: str, budget: int) -> LimitError:
    """Return the error for an annotation with more terms than it may have."""
    return LimitError(
        Diagnostic(
            "W0921",
            f"an annotation of semiring `{name}` has more than {budget:,} terms",
            notes=("the number of derivations may grow exponentially with the facts",),
            hint="ask for a few facts only, or use a semiring of small values, such as `top-3`, "
            "`counting` or `which`",
        )
    )
