"""How a value that a rule computes compares with one that it was computed from.

Lists are measured by the number of values in them at any depth, whole numbers by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from enum import Enum
from typing import Final

from whence.analysis.ndlog.state import positive_atoms
from whence.syntax.nodes import (
    Call,
    Constant,
    Constraint,
    HeadAggregate,
    Program,
    Record,
    Rule,
    Term,
    Variable,
    variables,
)


class Growth(Enum):
    """What became of a value on its way from a premise to the head."""

    SAME = "stays"
    LONGER = "gets longer"
    SHORTER = "gets shorter"
    GREATER = "gets greater"
    LESS = "gets less"


_LONGER: Final = frozenset({"f_concatPath", "f_append", "f_init", "f_list"})
_SHORTER: Final = frozenset({"f_tail", "f_removeLast"})
_SUMS: Final = frozenset({"+", "f_sum", "f_compute"})

Column = tuple[str, int]


def definitions(rule: Rule) -> dict[str, Term]:
    """Return what a rule computes: the terms that its variables are equated with."""
    found: dict[str, Term] = {}
    for literal in rule.body:
        if isinstance(literal, Constraint) and literal.op == "=":
            for side, other in (
                (literal.left, literal.right),
                (literal.right, literal.left),
            ):
                if isinstance(side, Variable) and side.name not in found:
                    found[side.name] = other
                    break
    return found


def growth(term: Term, name: str, defined: Mapping[str, Term]) -> Growth | None:
    """Return how a term compares with the variable that it is computed from; None if unknown."""
    return _growth(term, name, defined, frozenset())


def _growth(
    term: Term, name: str, defined: Mapping[str, Term], seen: frozenset[str]
) -> Growth | None:
    match term:
        case Variable(name=own) if own == name:
            return Growth.SAME
        case Variable(name=own) if own in defined and own not in seen:
            return _growth(defined[own], name, defined, seen | {own})
        case HeadAggregate(target=Variable() as target):
            return _growth(target, name, defined, seen)
        case Record(items=parts):
            return _longer(parts, name, defined, seen)
        case Call(functor=functor, args=parts) if functor in _LONGER:
            return _longer(parts, name, defined, seen)
        case Call(functor=functor, args=(part,)) if functor in _SHORTER:
            inner = _growth(part, name, defined, seen)
            return Growth.SHORTER if inner in (Growth.SAME, Growth.SHORTER) else None
        case Call(functor=functor, args=(left, right)) if functor in _SUMS:
            if isinstance(left, Constant):
                left, right = right, left
            return _moved(left, _whole(right), name, defined, seen)
        case Call(functor="-", args=(left, right)):
            return _moved(left, -_whole(right), name, defined, seen)
        case _:
            return None


def _longer(
    parts: tuple[Term, ...], name: str, defined: Mapping[str, Term], seen: frozenset[str]
) -> Growth | None:
    inner = {_growth(part, name, defined, seen) for part in parts}
    return Growth.LONGER if inner & {Growth.SAME, Growth.LONGER} else None


def _moved(
    term: Term, by: int, name: str, defined: Mapping[str, Term], seen: frozenset[str]
) -> Growth | None:
    way = Growth.GREATER if by > 0 else Growth.LESS
    inner = _growth(term, name, defined, seen)
    return way if by and inner in (Growth.SAME, way) else None


def _whole(term: Term) -> int:
    """Return a whole number, or 0 for what is none."""
    return term.value if isinstance(term, Constant) and type(term.value) is int else 0


def depends_on(term: Term, names: Set[str], defined: Mapping[str, Term]) -> bool:
    """Say whether a term is computed from one of the variables."""
    pending, seen = list(variables(term)), set[str]()
    while pending:
        name = pending.pop()
        if name in names:
            return True
        if name not in seen and name in defined:
            seen.add(name)
            pending.extend(variables(defined[name]))
    return False


def is_computed(term: Term, names: Set[str], defined: Mapping[str, Term]) -> bool:
    """Say whether a term is one of ever more values made from the variables, by a function."""
    pending, seen = [term], set[str]()
    while pending:
        current = pending.pop()
        match current:
            case Call(functor="%", args=(_, by)) if not depends_on(by, names, defined):
                pass  # there are only so many remainders
            case Call() | Record():
                if depends_on(current, names, defined):
                    return True
            case HeadAggregate(target=Variable() as target):
                pending.append(target)
            case Variable(name=name) if name in defined and name not in names | seen:
                seen.add(name)
                pending.append(defined[name])
            case _:
                pass
    return False


def whole_columns(program: Program) -> frozenset[Column]:
    """Return the columns of derived relations that hold whole numbers, whatever the facts."""
    rules = [rule for rule in program.rules if not rule.delete]
    found = {(r.head.relation, column) for r in rules for column in range(len(r.head.args))}
    while True:
        wrong = {
            (rule.head.relation, column)
            for rule in rules
            for column, arg in enumerate(rule.head.args)
            if (rule.head.relation, column) in found
            and not _is_whole(arg, rule, definitions(rule), found, frozenset())
        }
        if not wrong:
            return frozenset(found)
        found -= wrong


def _is_whole(
    term: Term,
    rule: Rule,
    defined: Mapping[str, Term],
    known: Set[Column],
    seen: frozenset[str],
) -> bool:
    match term:
        case Constant(value=value):
            return type(value) is int
        case Variable(name=name):
            if any(
                isinstance(arg, Variable) and arg.name == name and (atom.relation, column) in known
                for atom in positive_atoms(rule)
                for column, arg in enumerate(atom.args)
            ):
                return True
            return (
                name in defined
                and name not in seen
                and _is_whole(defined[name], rule, defined, known, seen | {name})
            )
        case HeadAggregate(function="count"):
            return True
        case HeadAggregate(function="min" | "max" | "sum", target=Variable() as target):
            return _is_whole(target, rule, defined, known, seen)
        case Call(functor="f_size"):
            return True
        case Call(functor="+" | "-" | "*" | "%" | "/" | "neg" | "f_sum" | "f_compute", args=args):
            return all(_is_whole(arg, rule, defined, known, seen) for arg in args)
        case _:
            return False
