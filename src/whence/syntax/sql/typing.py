"""The types of terms, from those of the columns they are made of; None while they are unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whence.syntax.nodes import Aggregate, Call, Constant, Kind, Term, UserCall, Variable

_RESULTS: Final = {
    "cat": "symbol",
    "substr": "symbol",
    "to_string": "symbol",
    "strlen": "number",
    "to_number": "number",
    "to_float": "float",
    "to_unsigned": "unsigned",
}
NUMERIC: Final = ("number", "unsigned", "float")

Types = Mapping[str, str | None]


def is_open(term: Term) -> bool:
    """Say whether a term is a whole number that fits any numeric type."""
    if isinstance(term, Call) and term.functor == "neg":
        return is_open(term.args[0])
    return isinstance(term, Constant) and isinstance(term.value, int) and term.kind is None


def infer(term: Term, types: Types, functors: Mapping[str, str]) -> str | None:
    """Return the type of a term; a whole number is a number where nothing else decides."""
    match term:
        case Variable(name=name):
            return types.get(name)
        case Constant(value=value, kind=kind):
            if isinstance(value, str):
                return "symbol"
            return "float" if kind is Kind.FLOAT or isinstance(value, float) else "number"
        case UserCall(name=name):
            return functors.get(name)
        case Aggregate(function=function, target=target):
            if function == "count" or target is None:
                return "number"
            return "float" if function == "mean" else infer(target, types, functors)
        case Call(functor=functor, args=args):
            if functor in _RESULTS:
                return _RESULTS[functor]
            decided = [infer(arg, types, functors) for arg in args if not is_open(arg)]
            found = [kind for kind in decided if kind is not None]
            if found:
                return found[0]
            return None if decided else "number"
        case _:
            return None
