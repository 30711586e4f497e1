"""Which variables have a value: an atom gives one to its arguments, an equation to its other side.

Equations are Horn clauses over "is bound", solved in linear time (Dowling and Gallier, 1984).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from whence.analysis.traverse import inside, level, level_names
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Literal,
    Record,
    Term,
    Variable,
    Wildcard,
)

LOCAL = "\0"
"""In a name, what stands before the number of the aggregate that the variable is local to."""

Implication: TypeAlias = tuple[list[str], set[str]]
"""Variables that are bound as soon as all the others are: conclusion, premises."""


def bound_names(
    body: Iterable[Literal],
    *,
    given: Iterable[str] = (),
    without: Aggregate | None = None,
    shared: bool = False,
) -> set[str]:
    """Return the variables that a flat body binds, `given` ones included.

    An aggregate's value is there, except that of `without`; with `shared`, only once the
    variables it shares with its surroundings are. Without `shared`, the names inside do not count.
    """
    bound = set(given)
    implications: list[Implication] = []
    for literal in body:
        kind = type(literal)
        if kind is Atom:
            for arg in literal.args:  # type: ignore[union-attr]
                if type(arg) is Variable:
                    bound.add(arg.name)
                elif type(arg) is Record:
                    bound.update(given_by(arg))
        elif kind is Constraint and literal.op == "=":  # type: ignore[union-attr]
            assert isinstance(literal, Constraint)
            for this, other in (
                (literal.left, literal.right),
                (literal.right, literal.left),
            ):
                gives = given_by(this)
                if gives:
                    needs = needed_by(other, without, shared)
                    if needs is not None:
                        implications.append((gives, needs))
    if implications:
        _propagate(bound, implications)
    return bound


def given_by(term: Term) -> list[str]:
    """Return the variables that get a value when the term does."""
    if type(term) is Variable:
        return [term.name]
    if type(term) is not Record:
        return []
    found: list[str] = []
    pending: list[Term] = [term]
    while pending:
        node = pending.pop()
        if type(node) is Variable:
            found.append(node.name)
        elif type(node) is Record:
            pending.extend(node.items)
    return found


def needed_by(term: Term, without: Aggregate | None, shared: bool) -> set[str] | None:
    """Return the variables a term needs to have a value; None where it never has one."""
    if type(term) is Constant:
        return set()
    needs: set[str] = set()
    for node in level(term):
        kind = type(node)
        if kind is Variable:
            needs.add(node.name)  # type: ignore[union-attr]
        elif kind is Wildcard or node is without:
            return None
        elif kind is Aggregate and shared:
            # Local names are apart by now, so what the outside does not use is no premise.
            needs.update(outer_names(node))  # type: ignore[arg-type]
    return needs


def outer_names(aggregate: Aggregate) -> set[str]:
    """Return the names inside that are not the aggregate's own, once scopes are told apart."""
    found: set[str] = set()
    pending = [aggregate]
    while pending:
        current = pending.pop()
        for node in level(*inside(current)):
            if type(node) is Aggregate:
                pending.append(node)
        found.update(name for name in level_names(*inside(current)) if LOCAL not in name)
    return found


def _propagate(bound: set[str], implications: list[Implication]) -> None:
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    ready: list[str] = []
    for index, (gives, needs) in enumerate(implications):
        open_needs = needs - bound
        missing.append(len(open_needs))
        for name in open_needs:
            waiting.setdefault(name, []).append(index)
        if not open_needs:
            ready.extend(gives)
    while ready:
        name = ready.pop()
        if name in bound:
            continue
        bound.add(name)
        for index in waiting.get(name, ()):
            missing[index] -= 1
            if missing[index] == 0:
                ready.extend(implications[index][0])
