"""How a computed value follows one that it is computed from: whether it only grows with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from whence.syntax.nodes import Call, Constraint, Literal, Term, Variable, variables

_GROWS: Final = frozenset(("+", "*", "f_sum", "f_max", "f_min", "f_compute", "max", "min"))
"""Functions that give more for more of either argument, of values that are not negative."""

NEVER_BETTER: Final[Mapping[str, frozenset[str]]] = {
    "min": frozenset(("+", "f_sum", "f_max", "f_compute", "max")),
    "max": frozenset(("*", "f_min", "min")),
}
"""Functions that give nothing better than their arguments, for an aggregate.

Sums of costs that are not negative, products of probabilities.
"""


def definitions(body: Iterable[Literal]) -> dict[str, Term]:
    """Return the terms that variables are set equal to."""
    found: dict[str, Term] = {}
    for item in body:
        if isinstance(item, Constraint) and item.op == "=":
            for one, other in ((item.left, item.right), (item.right, item.left)):
                if isinstance(one, Variable) and not _inside(one, other):
                    found.setdefault(one.name, other)
                    break
    return found


def _inside(variable: Variable, term: Term) -> bool:
    return variable.name in variables(term)


def expanded(term: Term, given: Mapping[str, Term], known: Iterable[str]) -> Term:
    """Return a term with variables replaced by what they are equal to, down to those known."""
    if isinstance(term, Variable) and term.name in given and term.name not in set(known):
        return expanded(given[term.name], {k: v for k, v in given.items() if k != term.name}, known)
    return term


def steps(
    term: Term, of: str, given: Mapping[str, Term], known: Iterable[str]
) -> frozenset[str] | None:
    """Return the functions between a term and the variable `of`, if it grows with it; else None.

    The other arguments must not depend on `of`.

    >>> c = Call("+", (Variable("C1"), Variable("C2")))
    >>> sorted(steps(c, "C2", {}, ()))
    ['+']
    """
    term = expanded(term, given, known)
    match term:
        case Variable(name=name):
            return frozenset() if name == of else None
        case Call(functor=functor, args=(one, other)) if functor in _GROWS:
            for side, rest in ((one, other), (other, one)):
                found = steps(side, of, given, known)
                if found is not None and not depends(rest, of, given, known):
                    return found | {functor}
    return None


def depends(term: Term, of: str, given: Mapping[str, Term], known: Iterable[str]) -> bool:
    """Say whether a term is computed from a variable."""
    names = set(variables(term))
    if of in names:
        return True
    left = {k: v for k, v in given.items() if k not in names}
    stop = set(known)
    return any(
        depends(given[name], of, left, stop) for name in names if name in given and name not in stop
    )
