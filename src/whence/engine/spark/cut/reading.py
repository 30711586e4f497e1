"""What rules read, atom by atom, and which value each column holds: what placing looks at.

Variables that an equation makes equal are one, and wildcards have names, so that two columns hold
the same value where their terms are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from whence.rewrite.terms import as_rule, as_subsumption, transform
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Literal,
    Negation,
    Nil,
    Rule,
    Subsumption,
    Term,
    Variable,
    Wildcard,
    walk,
)

Anchor: TypeAlias = Variable | Constant | Nil
"""A term with one value in each instance of a rule: the instance is where that value is owned."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An atom of a body, also inside of aggregates."""

    relation: str
    terms: tuple[Term, ...]
    positive: bool
    """Whether an instance takes one tuple; else it must know all that match, or that none does."""

    def columns(self, anchor: Anchor) -> tuple[int, ...]:
        """Return the columns that hold the anchor's value."""
        return tuple(c for c, term in enumerate(self.terms) if term == anchor)


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule, or a subsumption as a rule, with what it reads in the order of the text."""

    rule: Rule
    head: tuple[Term, ...]
    readings: tuple[Reading, ...]

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """Return what stands in the columns of positive atoms, variables first."""
        found: dict[Anchor, None] = {}
        for reading in self.readings:
            if reading.positive:
                found.update((t, None) for t in reading.terms if isinstance(t, Anchor))
        return tuple(sorted(found, key=lambda t: not isinstance(t, Variable)))


def read_rule(rule: Rule) -> Statement:
    """Return what a flat rule with one head reads."""
    same = _equal_terms(rule.body)
    readings: list[Reading] = []
    for literal in rule.body:
        positive = isinstance(literal, Atom)
        for atom in _atoms(literal):
            place = len(readings)
            terms = tuple(
                Variable(f"@any{place}:{column}")
                if isinstance(term, Wildcard)
                else _shown(term, same)
                for column, term in enumerate(atom.args)
            )
            readings.append(Reading(atom.relation, terms, positive))
    head = tuple(_shown(term, same) for term in rule.head.args)
    return Statement(rule, head, tuple(readings))


def _shown(term: Term, same: Mapping[Variable, Term]) -> Term:
    return same.get(term, term) if isinstance(term, Variable) else term


def read_subsumption(subsumption: Subsumption) -> Statement:
    """Return what a subsumption reads: first the dominated atom, then the dominating one."""
    return read_rule(as_rule(subsumption))


def _atoms(literal: Literal) -> Iterator[Atom]:
    return (node for node in walk(literal) if isinstance(node, Atom))


def _equal_terms(body: Sequence[Literal]) -> dict[Variable, Term]:
    """Return the one of equal variables and constants that stands for each."""
    found: dict[Variable, Term] = {}

    def root(term: Term) -> Term:
        while isinstance(term, Variable) and term in found:
            term = found[term]
        return term

    for literal in body:
        match literal:
            case Constraint(op="=", left=Variable() as a, right=Variable() | Constant() as b):
                pass
            case Constraint(op="=", left=Constant() as b, right=Variable() as a):
                pass
            case _:
                continue
        left, right = root(a), root(b)
        if isinstance(left, Constant):
            left, right = right, left
        if left != right and isinstance(left, Variable):
            found[left] = right
    return {term: root(term) for term in found}


def relocate(rule: Rule, head: str, copies: Sequence[str], guard: Atom | None = None) -> Rule:
    """Return the rule for this head, its atoms reading these copies, one after the other."""
    supply = iter(copies)

    def change(node: Term | Literal) -> Term | Literal:
        return replace(node, relation=next(supply)) if isinstance(node, Atom) else node

    body = tuple(transform(literal, change) for literal in rule.body)
    heads = (replace(rule.head, relation=head),)
    if guard is None:
        return replace(rule, heads=heads, body=body)
    return replace(rule, heads=heads, body=(guard, *body), orders=())


def relocate_subsumption(rule: Rule, copies: Sequence[str]) -> Subsumption:
    """Return the subsumption that the rule stands for, among tuples of these copies."""
    return as_subsumption(relocate(rule, rule.head.relation, copies))


def has_plain_body(subsumption: Subsumption) -> bool:
    """Say whether the two tuples alone decide: the body reads no relation."""
    return not any(
        isinstance(node, Atom | Negation | Aggregate)
        for literal in subsumption.body
        for node in walk(literal)
    )
