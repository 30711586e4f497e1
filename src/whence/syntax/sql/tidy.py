"""Rules as a person would write them: equal columns share a variable, unused ones are `_`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from whence.syntax.nodes import (
    Atom,
    Constraint,
    Literal,
    Rule,
    Term,
    Variable,
    Wildcard,
    rebuild,
    walk,
)


def fresh_in(taken: set[str], like: str) -> str:
    """Return a name that is not taken, and take it."""
    name, number = like, 1
    while name in taken:
        number += 1
        name = f"{like}_{number}"
    taken.add(name)
    return name


def substituted(node: Term, into: Mapping[str, Term]) -> Term:
    """Return a term with variables replaced."""
    if isinstance(node, Variable):
        return into.get(node.name, node)
    return rebuild(node, lambda inner: _substitute(inner, into))


def _substitute(node: Term | Literal, into: Mapping[str, Term]) -> Term | Literal:
    if isinstance(node, Variable):
        return into.get(node.name, node)
    return rebuild(node, lambda inner: _substitute(inner, into))


def substituted_in(literals: Sequence[Literal], into: Mapping[str, Term]) -> list[Literal]:
    """Return literals with variables replaced."""
    return [rebuild(node, lambda inner: _substitute(inner, into)) for node in literals]


def equated(
    literals: Sequence[Literal], local: frozenset[str]
) -> tuple[list[Literal], dict[str, Term]]:
    """Return the literals without equalities between variables, and what stands for what.

    Only variables of this scope are equated: one of an outer scope ties the two together.
    """
    into: dict[str, Variable] = {}

    def root(variable: Variable) -> Variable:
        while variable.name in into:
            variable = into[variable.name]
        return variable

    left: list[Literal] = []
    for literal in literals:
        match literal:
            case Constraint(op="=", left=Variable() as a, right=Variable() as b):
                if a.name not in local or b.name not in local:
                    left.append(literal)
                    continue
                first, second = root(a), root(b)
                if first.name != second.name:
                    into[second.name] = first
            case _:
                left.append(literal)
    flat: dict[str, Term] = {name: root(variable) for name, variable in into.items()}
    return substituted_in(left, flat), flat


def tidied(rule: Rule) -> Rule:
    """Return a rule whose variables that occur once in an atom of its body are `_`."""
    seen: Counter[str] = Counter()
    for part in (*rule.heads, *rule.body):
        seen.update(node.name for node in walk(part) if isinstance(node, Variable))

    def lonely(node: Term | Literal) -> Term | Literal:
        if isinstance(node, Atom):
            args = tuple(
                Wildcard() if isinstance(arg, Variable) and seen[arg.name] == 1 else arg
                for arg in node.args
            )
            return replace(node, args=args)
        return rebuild(node, lonely)

    return replace(rule, body=tuple(lonely(part) for part in rule.body))  # type: ignore[misc]
