"""Nodes as Soufflé text, with no more parentheses than needed.

Parsing what is printed gives the same nodes, for all that a parse can give.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Final, assert_never

from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Attribute,
    Call,
    Cast,
    Conjunction,
    Constant,
    Constraint,
    Counter,
    Directive,
    Disjunction,
    FunctorDecl,
    HeadAggregate,
    InInterval,
    Kind,
    Literal,
    Negation,
    Nil,
    Pragma,
    Program,
    Record,
    RecordType,
    RelationDecl,
    Rule,
    Subsumption,
    Subtype,
    Term,
    Truth,
    TypeDecl,
    UnionType,
    UserCall,
    Variable,
    Wildcard,
)
from whence.syntax.operators import INFIX, PREFIX, PREFIX_STRENGTH
from whence.syntax.table import load
from whence.syntax.term_builder import ESCAPES

WIDTH: Final = 100
_PREFIX_SIGN: Final = {functor: sign for sign, functor in PREFIX.items()}
_CLOSED: Final = 1 + max(INFIX.values())
_BARE: Final = re.compile(r"[0-9]+|true|false")
_ESCAPED: Final = {ord(char): f"\\{letter}" for letter, char in ESCAPES.items() if char != "'"}


def print_program(program: Program) -> str:
    """Return the program, one statement a line, declarations before rules."""
    if program.dialect == "ndlog":
        from whence.syntax.ndlog_printer import print_ndlog

        return print_ndlog(program)
    sections: tuple[Iterable[str], ...] = (
        map(print_pragma, program.pragmas),
        map(print_type, program.types),
        map(print_functor, program.functors),
        map(print_relation, program.relations),
        map(print_directive, program.directives),
        map(print_rule, program.rules),
        map(print_subsumption, program.subsumptions),
    )
    return "\n\n".join(filter(None, ("\n".join(section) for section in sections)))


# ── declarations


def print_type(decl: TypeDecl) -> str:
    match decl:
        case Subtype():
            return f".type {decl.name} {'=' if decl.alias else '<:'} {decl.base}"
        case UnionType():
            return f".type {decl.name} = {' | '.join(decl.members)}"
        case RecordType():
            return f".type {decl.name} = [{', '.join(map(print_attribute, decl.fields))}]"
        case _:
            assert_never(decl)


def print_attribute(attribute: Attribute) -> str:
    return f"{attribute.name}: {attribute.type}" if attribute.name else attribute.type


def print_relation(decl: RelationDecl) -> str:
    columns = [print_attribute(a) for a in decl.attributes]
    if decl.provenance is not None:
        columns.append(f"@prov:{_word(decl.provenance)}" if decl.provenance else "@prov")
    return " ".join([f".decl {decl.name}({', '.join(columns)})", *decl.qualifiers])


def _word(name: str) -> str:
    """Return a name as it is, or quoted where it is no word or has a meaning of its own."""
    bare = name.isidentifier() and name.isascii() and name not in load("souffle").words
    return name if bare else quote(name)


def print_functor(decl: FunctorDecl) -> str:
    parameters = ", ".join(map(print_attribute, decl.parameters))
    stateful = " stateful" if decl.stateful else ""
    return f".functor {decl.name}({parameters}): {decl.returns}{stateful}"


def print_directive(directive: Directive) -> str:
    pairs = ", ".join(f"{key}={_value(key, value)}" for key, value in directive.parameters)
    return f".{directive.action} {directive.relation}" + (f"({pairs})" if pairs else "")


def _value(key: str, value: str) -> str:
    bare = _BARE.fullmatch(value) or (key == "IO" and value.isidentifier() and value.isascii())
    return value if bare else quote(value)


def print_pragma(pragma: Pragma) -> str:
    value = f" {quote(pragma.value)}" if pragma.value else ""
    return f".pragma {quote(pragma.key)}{value}"


# ── clauses


def print_rule(rule: Rule) -> str:
    if not rule.body:
        last = () if rule.annotation is None else (rule.annotation,)
        facts = (replace(head, args=(*head.args, *last)) for head in rule.heads)
        return "\n".join(f"{print_literal(fact)}." for fact in facts)
    heads = ", ".join(map(print_literal, rule.heads))
    return _clause(heads, rule.body) + _plan(rule.orders)


def print_subsumption(clause: Subsumption) -> str:
    head = f"{print_literal(clause.dominated)} <= {print_literal(clause.dominating)}"
    return _clause(head, clause.body or (Truth(True),)) + _plan(clause.orders)


def _clause(head: str, body: tuple[Literal, ...]) -> str:
    line = f"{head} :- {print_body(body)}."
    if len(line) <= WIDTH or len(body) == 1:
        return line
    return f"{head} :-\n    " + ",\n    ".join(_item(b) for b in body) + "."


def _plan(orders: tuple[tuple[int, tuple[int, ...]], ...]) -> str:
    if not orders:
        return ""
    each = (f"{version}:({', '.join(map(str, order))})" for version, order in orders)
    return "\n.plan " + ", ".join(each)


# ── literals


def print_body(body: tuple[Literal, ...]) -> str:
    """Return the literals as a rule body or an aggregate's body holds them."""
    if not body:
        return "true"
    if len(body) == 1 and isinstance(body[0], Disjunction):
        return print_literal(body[0])
    return ", ".join([_item(literal) for literal in body])


def _item(literal: Literal) -> str:
    """Return a literal as it stands among others or behind `!`."""
    text = print_literal(literal)
    grouped = isinstance(literal, Conjunction | Disjunction) and len(literal.items) > 1
    return f"({text})" if grouped else text


def print_literal(literal: Literal) -> str:
    match literal:
        case Atom(relation, args):
            return f"{relation}({_list(args)})"
        case Negation(Constraint() as inner):
            return f"!({print_literal(inner)})"
        case Negation(inner):
            return f"!{_item(inner)}"
        case Constraint("match" | "contains" as op, left, right):
            return f"{op}({print_term(left)}, {print_term(right)})"
        case Constraint("not_match" | "not_contains" as op, left, right):
            return f"!{op[4:]}({print_term(left)}, {print_term(right)})"
        case Constraint(op, left, right):
            return f"{print_term(left)} {op} {print_term(right)}"
        case Truth(value):
            return "true" if value else "false"
        case Conjunction(items):
            return print_body(items) if len(items) != 1 else print_literal(items[0])
        case Disjunction(items):
            return "; ".join([_choice(item) for item in items]) or "false"
        case InInterval(item, low, high, closed_low, closed_high):
            ends = f"{print_term(low)}, {print_term(high)}"
            opening, closing = "[" if closed_low else "(", "]" if closed_high else ")"
            return f"{print_term(item)} in {opening}{ends}{closing}"
        case _:
            assert_never(literal)


def _choice(literal: Literal) -> str:
    return print_literal(literal) if isinstance(literal, Conjunction) else _item(literal)


# ── terms


def print_term(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case Constant():
            return print_constant(term)
        case Nil():
            return "nil"
        case Counter():
            return "$"
        case Record(items):
            return f"[{_list(items)}]"
        case Call(functor, (left, right)) if functor in INFIX:
            return _infix(functor, left, right)
        case Call(functor, (operand,)) if functor in _PREFIX_SIGN:
            sign = _PREFIX_SIGN[functor]
            space = " " if sign.isalpha() else ""
            return f"{sign}{space}{_operand(operand, PREFIX_STRENGTH)}"
        case Call(functor, args):
            return f"{functor}({_list(args)})"
        case UserCall(name, args):
            return f"@{name}({_list(args)})"
        case Cast(inner, type_):
            return f"as({print_term(inner)}, {type_})"
        case Aggregate(function, target, body):
            over = "" if target is None else f" {print_term(target)}"
            return f"{function}{over} : {{ {print_body(body)} }}"
        case HeadAggregate(function, target):
            return f"{function}<{'*' if target is None else print_term(target)}>"
        case _:
            assert_never(term)


def _list(terms: tuple[Term, ...]) -> str:
    return ", ".join([print_term(term) for term in terms])


def _infix(functor: str, left: Term, right: Term) -> str:
    strength = INFIX[functor]
    leans_right = functor == "^"
    # What begins with a prefix operator needs no parentheses on the right: nothing before it
    # can take its operand away.
    after = (
        print_term(right)
        if _strength(right) == PREFIX_STRENGTH
        else _operand(right, strength + (not leans_right))
    )
    return f"{_operand(left, strength + leans_right)} {functor} {after}"


def _operand(term: Term, least: int) -> str:
    text = print_term(term)
    return text if _strength(term) >= least else f"({text})"


def _strength(term: Term) -> int:
    match term:
        case Call(functor, (_, _)) if functor in INFIX:
            return INFIX[functor]
        case Call(functor, (_,)) if functor in _PREFIX_SIGN:
            return PREFIX_STRENGTH
        case Constant(int() | float() as value) if value < 0:
            return PREFIX_STRENGTH
        case _:
            return _CLOSED


def print_constant(constant: Constant) -> str:
    value = constant.value
    if isinstance(value, str):
        return quote(value)
    if constant.kind is Kind.FLOAT or isinstance(value, float):
        return print_float(float(value))
    return f"{value}u" if constant.kind is Kind.UNSIGNED else str(value)


def print_float(value: float) -> str:
    """Return the shortest digits that read back as the same float, without exponent if short."""
    if not math.isfinite(value):
        return str(value)
    digits = repr(value + 0.0)  # there is one zero
    if "e" in digits and 1e-7 <= abs(value) < 1e22:
        digits = format(Decimal(digits), "f")
    return digits if "." in digits or "e" in digits else f"{digits}.0"


def quote(text: str) -> str:
    """Return the string literal that stands for `text`."""
    return f'"{text.translate(_ESCAPED)}"'
