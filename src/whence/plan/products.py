"""Terms that multiply the numbers of a body in one way, such as `a + b + c` or `min(a, b)`."""

from __future__ import annotations

from whence.plan.nodes import Combine
from whence.syntax.nodes import Call, Constant, Kind, Term, Variable


def left_product(term: Term) -> tuple[Combine, Kind, list[str]] | None:
    """Return the way and the variables of a product that associates to the left."""
    kind = getattr(term, "kind", None)
    if not isinstance(term, Call) or kind not in (Kind.NUMBER, Kind.FLOAT):
        return None
    bounded = bounded_sum(term)
    if bounded is not None:
        way, operands = Combine.BOUNDED, bounded
        if kind is not Kind.FLOAT:
            return None
    elif term.functor in ("+", "*", "min", "max") and len(term.args) == 2:
        way, operands = Combine(term.functor), (term.args[0], term.args[1])
    else:
        return None
    first, last = operands
    if not isinstance(last, Variable):
        return None
    if isinstance(first, Variable):
        return way, kind, [first.name, last.name]
    inner = left_product(first)
    if inner is None or inner[:2] != (way, kind):
        return None
    return way, kind, [*inner[2], last.name]


def bounded_sum(term: Term) -> tuple[Term, Term] | None:
    """Return a and b of `max(0, a + b - 1)`."""
    match term:
        case Call(
            functor="max",
            args=(
                Constant(value=zero),
                Call(
                    functor="-",
                    args=(Call(functor="+", args=(a, b)), Constant(value=one)),
                ),
            ),
        ) if float(zero) == 0.0 and float(one) == 1.0:
            return a, b
        case _:
            return None
