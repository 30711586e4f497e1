"""Nodes as NDlog text; parsing what is printed gives the same nodes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

from whence.syntax.ndlog_builder import FULL_NETWORK, SHIFTS
from whence.syntax.nodes import (
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    HeadAggregate,
    InInterval,
    Literal,
    Materialize,
    Negation,
    Pragma,
    Program,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
)
from whence.syntax.operators import INFIX, PREFIX_STRENGTH
from whence.syntax.table import load

WIDTH: Final = 100
_SIGNS: Final = {functor: sign for sign, functor in SHIFTS.items()}
_BARE: Final = re.compile(r"(?!f_)[a-z][a-zA-Z0-9_]*")
_AGGREGATES: Final = frozenset({"min", "max", "sum", "count", "avg"})
_CLOSED: Final = 1 + max(INFIX.values())


def print_ndlog(program: Program) -> str:
    """Return the program, one statement a line, tables before rules."""
    sections: tuple[Iterable[str], ...] = (
        map(_pragma, program.pragmas),
        map(_table, program.tables),
        (print_ndlog_rule(rule) for rule in program.rules if rule.body),
        (print_ndlog_rule(rule) for rule in program.rules if not rule.body),
        (f"watch({watch.relation})." for watch in program.watches),
        (f"Query {print_ndlog_literal(query.atom)}." for query in program.queries),
    )
    return "\n\n".join(filter(None, ("\n".join(section) for section in sections)))


def _pragma(pragma: Pragma) -> str:
    known = (pragma.key, pragma.value) == FULL_NETWORK
    return "fullyConnected." if known else f"// {pragma.key} {pragma.value}".rstrip()


def _table(table: Materialize) -> str:
    lifetime = "infinity" if table.lifetime is None else print_value(table.lifetime)
    lifetime = lifetime.removesuffix(".0")
    size = "infinity" if table.size is None else str(table.size)
    keys = ", ".join(map(str, table.keys))
    return f"materialize({table.relation}, {lifetime}, {size}, keys({keys}))."


def print_ndlog_rule(rule: Rule) -> str:
    """Return a rule or fact, with its label."""
    first = f"{rule.name} " if rule.name else ""
    head = f"{first}{'delete ' if rule.delete else ''}{print_ndlog_literal(rule.head)}"
    if not rule.body:
        return f"{head}."
    items = [_item(literal) for literal in rule.body]
    line = f"{head} :- {', '.join(items)}."
    if len(line) <= WIDTH or len(items) == 1:
        return line
    return f"{head} :-\n    " + ",\n    ".join(items) + "."


# ── literals


def _item(literal: Literal) -> str:
    """Return a literal as it stands among others."""
    text = print_ndlog_literal(literal)
    return f"({text})" if isinstance(literal, Conjunction | Disjunction) else text


def print_ndlog_literal(literal: Literal) -> str:
    match literal:
        case Atom():
            return _atom(literal)
        case Negation(Atom() as inner):
            return f"!{_atom(inner)}"
        case Negation(Negation() as inner):
            return f"!{print_ndlog_literal(inner)}"
        case Negation(inner):
            return f"!({print_ndlog_literal(inner)})"
        case Constraint(op, left, right):
            return f"{print_ndlog_term(left)} {op} {print_ndlog_term(right)}"
        case Truth(value):
            return f"true = {'true' if value else 'false'}"
        case Conjunction(items):
            return ", ".join(map(_item, items))
        case Disjunction(items):
            return " || ".join(map(_item, items))
        case InInterval(item, low, high, closed_low, closed_high):
            ends = f"{print_ndlog_term(low)}, {print_ndlog_term(high)}"
            opening, closing = "[" if closed_low else "(", "]" if closed_high else ")"
            return f"{print_ndlog_term(item)} in {opening}{ends}{closing}"


def _atom(atom: Atom) -> str:
    args = [_argument(arg, i == atom.location) for i, arg in enumerate(atom.args)]
    return f"{'#' if atom.link else ''}{atom.relation}({', '.join(args)})"


def _argument(term: Term, located: bool) -> str:
    at = "@" if located else ""
    if isinstance(term, HeadAggregate):
        inner = "*" if term.target is None else print_ndlog_term(term.target)
        return f"{term.function}<{at}{inner}>"
    return f"{at}{print_ndlog_term(term)}"


# ── terms


def print_ndlog_term(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case Constant(value):
            return print_value(value)
        case Record(items):
            return f"[{', '.join(map(print_ndlog_term, items))}]"
        case Call("neg", (operand,)):
            return f"-{_operand(operand, PREFIX_STRENGTH)}"
        case Call(functor, (left, right)) if functor in INFIX:
            return _infix(functor, left, right)
        case Call(functor, args):
            return f"{functor}({', '.join(map(print_ndlog_term, args))})"
        case HeadAggregate():
            return _argument(term, False)
        case _:
            raise AssertionError(f"{term!r} is no term of NDlog")


def _infix(functor: str, left: Term, right: Term) -> str:
    strength = INFIX[functor]
    # What begins with a minus needs no parentheses on the right: nothing can take its operand.
    after = (
        print_ndlog_term(right)
        if _strength(right) == PREFIX_STRENGTH
        else _operand(right, strength + 1)
    )
    return f"{_operand(left, strength)} {_SIGNS.get(functor, functor)} {after}"


def _operand(term: Term, least: int) -> str:
    text = print_ndlog_term(term)
    return text if _strength(term) >= least else f"({text})"


def _strength(term: Term) -> int:
    match term:
        case Call("neg", _):
            return PREFIX_STRENGTH
        case Call(functor, (_, _)) if functor in INFIX:
            return INFIX[functor]
        case Constant(int() | float() as value) if value < 0:
            return PREFIX_STRENGTH
        case _:
            return _CLOSED


def print_value(value: object) -> str:
    """Return a value of a row as a term that stands for it; a tuple is a list.

    >>> print_value(("a", 1, True, "B c", float("inf")))
    '[a, 1, true, "B c", infinity]'
    """
    from whence.syntax.printer import print_float, quote

    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isinf(value):
            return "infinity" if value > 0 else "-infinity"
        case float():
            return print_float(value)
        case str():
            bare = (
                _BARE.fullmatch(value)
                and value not in _AGGREGATES
                and value not in load("ndlog").words
            )
            return value if bare else quote(value)
        case tuple() | list():
            return f"[{', '.join(map(print_value, value))}]"
        case _:
            raise AssertionError(f"{value!r} is no value of NDlog")
