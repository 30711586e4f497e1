"""Whose variable is it? The names inside an aggregate, told apart from those of its rule.

A name inside an aggregate is the rule's when the rule binds it and the target does not use it.
A name that the rule uses and only the aggregate binds is a witness of it. Others are local, and
get a name of their own here, so that everything later may go by name alone.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from whence.analysis.bound import LOCAL, bound_names
from whence.analysis.clauses import Clause
from whence.analysis.traverse import has_aggregate, inside, level_names, map_inside, map_level
from whence.syntax.nodes import Aggregate, Literal, Term, Variable, variables


def display(name: str) -> str:
    """Return a name as the program writes it."""
    return name.partition(LOCAL)[0]


@dataclass(frozen=True, slots=True)
class Scoped:
    """A clause whose aggregates share a name with it only when they share the variable."""

    clause: Clause
    witnesses: dict[str, Aggregate] = field(default_factory=dict)
    """By name, the aggregate that alone binds a variable that the clause uses."""


def scope(clause: Clause) -> Scoped:
    """Return the clause with the local variables of its aggregates named apart."""
    if not has_aggregate(clause.head) and not any(map(has_aggregate, clause.body)):
        return Scoped(clause)
    unbound = level_names(clause.head, *clause.body).keys() - bound_names(clause.body)
    renaming = _Renaming(unbound)

    def visit(node: Term | Literal) -> Term | Literal:
        if not isinstance(node, Aggregate):
            return node
        return renaming.apart(node, bound_names(clause.body, without=node))

    head = map_level(clause.head, visit)
    body = tuple(map_level(literal, visit) for literal in clause.body)
    return Scoped(replace(clause, head=head, body=body), renaming.witnesses)


def _witnesses(aggregate: Aggregate, unbound: Set[str]) -> set[str]:
    candidates = level_names(*inside(aggregate)).keys() & unbound
    return candidates & bound_names(aggregate.body) if candidates else set()


class _Renaming:
    """A supply of names that no program can write; `unbound` are those that the rule lacks."""

    def __init__(self, unbound: Set[str]) -> None:
        self.unbound = unbound
        self.witnesses: dict[str, Aggregate] = {}
        self.count = 0

    def apart(self, aggregate: Aggregate, bound: Set[str]) -> Aggregate:
        """Rename what is local to the aggregate, given what its surroundings bind."""
        witnesses = _witnesses(aggregate, self.unbound - bound)
        kept = (bound - _target_names(aggregate)) | witnesses
        self.count += 1
        by = {
            name: f"{display(name)}{LOCAL}{self.count}"
            for name in level_names(*inside(aggregate))
            if name not in kept
        }

        def visit(node: Term | Literal) -> Term | Literal:
            if isinstance(node, Aggregate):
                around = bound_names(aggregate.body, given=kept, without=node)
                hidden = _target_names(node)
                passed = {old: new for old, new in by.items() if old not in hidden}
                seen = {by.get(name, name) for name in around}
                return self.apart(_rename(node, passed), seen)
            return replace(node, name=by[node.name]) if _is_in(node, by) else node

        renamed = map_inside(aggregate, visit)
        for name in witnesses:
            self.witnesses.setdefault(name, renamed)
        return renamed


def _target_names(aggregate: Aggregate) -> Set[str]:
    return frozenset() if aggregate.target is None else variables(aggregate.target).keys()


def _rename(aggregate: Aggregate, by: dict[str, str]) -> Aggregate:
    def visit(node: Term | Literal) -> Term | Literal:
        if isinstance(node, Aggregate):
            return _rename(node, by)
        return replace(node, name=by[node.name]) if _is_in(node, by) else node

    return map_inside(aggregate, visit)


def _is_in(node: Term | Literal, by: dict[str, str]) -> TypeGuard[Variable]:
    return type(node) is Variable and node.name in by
