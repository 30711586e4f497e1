"""A rule as analyses of recursion read it: what equations define is put where it is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.rewrite.terms import names, substitute_rule
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Literal,
    Negation,
    Nil,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
    walk,
)

MAX_LITERALS = 64
"""Bodies longer than this keep their equations: they would be copied once for each."""

MAX_NODES = 256
"""A term larger than this stays behind its variable."""


@dataclass(frozen=True, slots=True)
class Body:
    """A rule whose defined variables are gone; an aggregate is `variable = aggregate`."""

    rule: Rule
    head: tuple[Term, ...]
    atoms: tuple[Atom, ...]
    negated: tuple[Atom, ...]
    aggregates: tuple[tuple[Term, Aggregate], ...]
    tests: tuple[Literal, ...]

    def elsewhere(self, atom: Atom) -> list[Literal]:
        """Return the literals of the body without this one."""
        atoms: list[Literal] = [a for a in self.atoms if a is not atom]
        folds: list[Literal] = [Constraint("=", t, a) for t, a in self.aggregates]
        return [*atoms, *self.negated, *folds, *self.tests]


def read_body(rule: Rule) -> Body:
    """Return the rule as a body; it must be flat, with one head."""
    if len(rule.body) <= MAX_LITERALS:
        rule = _without_definitions(rule)
    atoms: list[Atom] = []
    negated: list[Atom] = []
    aggregates: list[tuple[Term, Aggregate]] = []
    tests: list[Literal] = []
    for literal in rule.body:
        match literal:
            case Atom():
                atoms.append(literal)
            case Negation(literal=Atom() as atom):
                negated.append(atom)
            case Constraint(op="=", left=left, right=Aggregate() as right):
                aggregates.append((left, right))
            case Constraint(op="=", left=Aggregate() as left, right=right):
                aggregates.append((right, left))
            case Truth():
                pass
            case _:
                tests.append(literal)
    return Body(rule, rule.head.args, tuple(atoms), tuple(negated), tuple(aggregates), tuple(tests))


def _without_definitions(rule: Rule) -> Rule:
    while True:
        # What an aggregate shares with its rule stays a variable, or it would range over a term.
        bound = names(*(o for o in rule.body if isinstance(o, Atom) or _aggregates(o)))
        for at, literal in enumerate(rule.body):
            found = _definition(literal, bound)
            if found is not None:
                name, term = found
                rest = Rule(rule.heads, rule.body[:at] + rule.body[at + 1 :], span=rule.span)
                rule = substitute_rule(rest, {name: term})
                break
        else:
            return rule


def _aggregates(literal: Literal) -> bool:
    return isinstance(literal, Constraint) and (
        isinstance(literal.left, Aggregate) or isinstance(literal.right, Aggregate)
    )


def _definition(literal: Literal, bound: Iterable[str]) -> tuple[str, Term] | None:
    match literal:
        case Constraint(op="=", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                if (
                    isinstance(one, Variable)
                    and one.name not in bound
                    and not any(isinstance(n, Aggregate | Wildcard) for n in walk(other))
                    and one.name not in names(other)
                    and sum(1 for _ in walk(other)) <= MAX_NODES
                ):
                    return one.name, other
    return None


def columns_of(atom: Atom) -> dict[str, int]:
    """Return the first column of each variable of an atom."""
    found: dict[str, int] = {}
    for column, arg in enumerate(atom.args):
        if isinstance(arg, Variable):
            found.setdefault(arg.name, column)
    return found


def fixed_columns(atom: Atom) -> set[int]:
    """Return the columns that the atom itself tests: constants, and variables that repeat."""
    count: dict[str, int] = {}
    for arg in atom.args:
        if isinstance(arg, Variable):
            count[arg.name] = count.get(arg.name, 0) + 1
    return {
        column
        for column, arg in enumerate(atom.args)
        if isinstance(arg, Constant | Nil | Record)
        or (isinstance(arg, Variable) and count[arg.name] > 1)
    }


def used_columns(atom: Atom, used: Iterable[str]) -> set[int]:
    """Return the columns of the atom that hold one of these variables or are fixed by it."""
    wanted = set(used)
    return fixed_columns(atom) | {
        column
        for column, arg in enumerate(atom.args)
        if isinstance(arg, Variable) and arg.name in wanted
    }


def known_name(relation: str) -> str:
    """Return the name by which people know a relation that passes made of another.

    >>> [known_name(name) for name in ("@bf_path", "@magic_bf_path", "@all:path", "path")]
    ['path', 'path', 'path', 'path']
    """
    if not relation.startswith("@"):
        return relation
    if ":" in relation:
        return relation.partition(":")[2]
    return relation.removeprefix("@magic_").partition("_")[2] or relation
