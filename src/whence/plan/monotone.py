"""How a term follows one of its variables: whether a better value makes a better value."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rewrite.terms import names
from whence.syntax.nodes import Call, Constant, Constraint, Kind, Literal, Term, Variable

ORDERED = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)


@dataclass(frozen=True, slots=True)
class Flow:
    """A term does not decrease when the variable increases.

    It is `strict` when it increases, so that equal results come from equal values only. It holds
    if each of the `factors`, which are variables, is above zero.
    """

    strict: bool
    factors: tuple[str, ...] = ()


def flow(term: Term, name: str) -> Flow | None:
    """Return how the term follows the variable, None where that is not known.

    Numbers are taken not to wrap round, and floats to be added and multiplied exactly.
    """
    strict = True
    factors: list[str] = []
    while not isinstance(term, Variable):
        if not isinstance(term, Call) or term.kind not in ORDERED:
            return None
        inside = [arg for arg in term.args if name in names(arg)]
        if len(inside) != 1:
            return None
        others = [arg for arg in term.args if arg is not inside[0]]
        match term.functor:
            case "+":
                pass
            case "-" if term.kind is not Kind.UNSIGNED and inside[0] is term.args[0]:
                pass
            case "*":
                for other in others:
                    match other:
                        case Constant(value=int() | float() as value) if value > 0:
                            pass
                        case Variable(name=factor):
                            factors.append(factor)
                        case _:
                            return None
            case "min" | "max" | "@bounded":
                strict = False
            case _:
                return None
        term = inside[0]
    return Flow(strict, tuple(factors)) if term.name == name else None


def passes_better(literal: Literal, name: str, *, greatest: bool) -> bool:
    """Say whether the literal is a test that a better value of the variable passes too."""
    if not isinstance(literal, Constraint) or literal.kind not in ORDERED:
        return False
    left, right, op = literal.left, literal.right, literal.op
    if name in names(right):
        left, right = right, left
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    if op not in ((">", ">=") if greatest else ("<", "<=")) or name in names(right):
        return False
    found = flow(left, name)
    return found is not None and not found.factors
