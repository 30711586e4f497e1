"""A flat program as answer set program, for the part of the language that both have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import clingo

from whence.rewrite.normalise import aggregate_bodies
from whence.rewrite.terms import level_names
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Constant,
    Constraint,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
)

Value = object
_INFIX = {"+": "+", "-": "-", "*": "*", "%": "\\"}


class Untranslatable(Exception):
    """Something that clingo has no word for."""


def solve(program: Program, facts: Mapping[str, Iterable[tuple[Value, ...]]]) -> dict[str, set]:
    """Return the relations in the one stable model of a normalised, scoped program."""
    control = clingo.Control(["--warn=none"])
    lines = [_rule(rule) for rule in program.rules]
    for name, rows in facts.items():
        lines += [f"r_{name}({', '.join(map(_value, row))})." for row in rows]
    control.add("base", [], "\n".join(lines))
    control.ground([("base", [])])
    found: dict[str, set] = {decl.name: set() for decl in program.relations}
    with control.solve(yield_=True) as models:
        (model,) = [list(m.symbols(atoms=True)) for m in models]
    for symbol in model:
        found[symbol.name.removeprefix("r_")].add(tuple(map(_read, symbol.arguments)))
    return found


def _read(symbol: clingo.Symbol) -> Value:
    match symbol.type:
        case clingo.SymbolType.Number:
            return symbol.number
        case clingo.SymbolType.String:
            return symbol.string
        case _ if symbol.name == "nil":
            return None
        case _:
            return tuple(map(_read, symbol.arguments))


def _value(value: Value) -> str:
    match value:
        case None:
            return "nil"
        case str():
            return f'"{value}"'
        case tuple():
            return f"rec({', '.join(map(_value, value))})"
        case _:
            return str(value)


def _rule(rule: Rule) -> str:
    if not rule.body:
        return f"{_atom(rule.head)}."
    return f"{_atom(rule.head)} :- {', '.join(map(_literal, rule.body))}."


def _atom(atom: Atom) -> str:
    return f"r_{atom.relation}({', '.join(map(_term, atom.args))})"


def _literal(literal: Literal) -> str:
    match literal:
        case Atom():
            return _atom(literal)
        case Negation(literal=Atom() as atom):
            return f"not {_atom(atom)}"
        case Truth(value=value):
            return "#true" if value else "#false"
        case Constraint(op="=", left=Variable() as left, right=Aggregate() as right):
            return _aggregate(_term(left), right)
        case Constraint(op=op, left=left, right=right) if op in ("=", "!=", "<", "<=", ">", ">="):
            return f"{_term(left)} {op} {_term(right)}"
        case _:
            raise Untranslatable(literal)


def _aggregate(result: str, aggregate: Aggregate) -> str:
    bodies = aggregate_bodies(aggregate)
    if len({frozenset(level_names(*body)) for body in bodies}) > 1:
        raise Untranslatable(aggregate)
    key = [f"V_{name}" for name in sorted(level_names(*bodies[0]))]
    if aggregate.target is not None:
        key.insert(0, _term(aggregate.target))
    elements = [f"{', '.join([*key, '0'])} : {', '.join(map(_literal, body))}" for body in bodies]
    choices = "; ".join(elements)
    guard = {"min": f", {result} != #sup", "max": f", {result} != #inf"}
    return f"{result} = #{aggregate.function} {{ {choices} }}{guard.get(aggregate.function, '')}"


def _term(term: Term) -> str:
    match term:
        case Variable(name=name):
            return f"V_{name}"
        case Wildcard():
            return "_"
        case Constant(value=value):
            return _value(value)
        case Nil():
            return "nil"
        case Record(items=items):
            return f"rec({', '.join(map(_term, items))})"
        case Call(functor=functor, args=(left, right)) if functor in _INFIX:
            return f"({_term(left)} {_INFIX[functor]} {_term(right)})"
        case _:
            raise Untranslatable(term)
