"""Where atoms are, and what relations are: tables or events, links, in which network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from whence.syntax.nodes import (
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    HeadAggregate,
    Literal,
    Materialize,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    variables,
    walk,
)

Place: TypeAlias = Term | None
"""The term that says where; None where nothing does, which is everywhere."""

IMPURE: Final = frozenset(("f_now", "f_rand", "f_coinFlip"))
"""Functions whose value depends on when and where they are called."""


def place(atom: Atom) -> Place:
    """Return where the tuples of an atom are; a location in an aggregate is its target."""
    if atom.location is None:
        return None
    term = atom.args[atom.location]
    return term.target if isinstance(term, HeadAggregate) else term


def located_in_aggregate(atom: Atom) -> bool:
    """Say whether the location is `min<@X>`: chosen where the body is, then shipped."""
    return atom.location is not None and isinstance(atom.args[atom.location], HeadAggregate)


def fully_connected(program: Program) -> bool:
    """Say whether every node may send to every other, so that no rule needs a link."""
    return any(p.key == "network" and p.value == "full" for p in program.pragmas)


def tables(program: Program) -> dict[str, Materialize]:
    """Return what is stored, by relation; all else are events."""
    return {table.relation: table for table in program.tables if table.lifetime != 0}


def body_atoms(body: Iterable[Literal]) -> list[Atom]:
    """Return all atoms of a body, also those that are negated or alternatives."""
    return [node for item in body for node in walk(item) if isinstance(node, Atom)]


def positive(body: Iterable[Literal]) -> list[Atom]:
    """Return the atoms that a body joins."""
    return [item for item in body if isinstance(item, Atom)]


def relation_names(program: Program) -> set[str]:
    """Return every relation that a program speaks of."""
    names = {table.relation for table in program.tables}
    for rule in program.rules:
        names.update(atom.relation for atom in (*rule.heads, *body_atoms(rule.body)))
    names.update(query.atom.relation for query in program.queries)
    return names


def fresh(program: Program, base: str) -> str:
    """Return a name like `base` that no relation of the program has."""
    taken = relation_names(program)
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}{number}"
    return name


def is_pure(literal: Literal) -> bool:
    """Say whether a literal means the same wherever and whenever it is looked at."""
    return not any(isinstance(node, Call) and node.functor in IMPURE for node in walk(literal))


def closure(known: set[str], constraints: Iterable[Literal]) -> set[str]:
    """Return the variables with a value once those known have one, by equations."""
    found = set(known)
    pending = [c for c in constraints if isinstance(c, Constraint) and c.op == "="]
    grew = True
    while grew:
        grew = False
        for item in pending:
            for one, other in ((item.left, item.right), (item.right, item.left)):
                new = isinstance(one, Variable) and one.name not in found
                if new and set(variables(other)) <= found:
                    found |= set(variables(one))
                    grew = True
    return found


def same_place(one: Place, other: Place) -> bool:
    """Say whether two terms name the same place for sure."""
    match one, other:
        case Variable(name=a), Variable(name=b):
            return a == b
        case Constant(value=a), Constant(value=b):
            return a == b
        case _:
            return one is None or other is None


def alternatives(rule: Rule) -> list[Rule]:
    """Return one rule for each way through the disjunctions that hold atoms."""
    bodies: list[tuple[Literal, ...]] = [()]
    for item in _flat(rule.body):
        if isinstance(item, Disjunction) and body_atoms((item,)):
            ways = [_flat((way,)) for way in item.items]
            bodies = [(*body, *way) for body in bodies for way in ways]
        else:
            bodies = [(*body, item) for body in bodies]
    if len(bodies) == 1 and bodies[0] == rule.body:
        return [rule]
    deeper = [replace(rule, body=body) for body in bodies]
    if any(_nested(one) for one in deeper):
        return [found for one in deeper for found in alternatives(one)]
    return deeper


def _nested(rule: Rule) -> bool:
    return any(isinstance(i, Disjunction) and body_atoms((i,)) for i in rule.body)


def _flat(body: Iterable[Literal]) -> tuple[Literal, ...]:
    out: list[Literal] = []
    for item in body:
        out.extend(_flat(item.items) if isinstance(item, Conjunction) else (item,))
    return tuple(out)


def negated_atom(literal: Literal) -> Atom | None:
    """Return the atom that a literal denies, if it is a negation."""
    if isinstance(literal, Negation) and isinstance(literal.literal, Atom):
        return literal.literal
    return None
