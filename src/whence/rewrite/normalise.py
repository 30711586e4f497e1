"""One head and a flat body per rule.

Negation moves inward by De Morgan's laws, disjunctions become several rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from math import prod
from typing import TypeAlias, TypeVar

from whence.diagnostics import Diagnostic, ProgramError, Span, raise_errors
from whence.rewrite.terms import Names, as_rule, as_subsumption, negate, rule_names, transform
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Conjunction,
    Disjunction,
    Literal,
    Negation,
    Program,
    Rule,
    Subsumption,
    Term,
    Variable,
    Wildcard,
    walk,
)

MAX_ALTERNATIVES = 4096
"""Alternatives of one body; more would make planning the program take longer than running it."""

Flat: TypeAlias = tuple[Literal, ...]
NodeT = TypeVar("NodeT", bound=Term | Literal)


def normalise(program: Program) -> Program:
    """Give every rule one head and a flat body of atoms, negated atoms, constraints and truths.

    >>> from whence.syntax.souffle import parse
    >>> print(normalise(parse("a(x), b(x) :- c(x), !(d(x), x < 3).")))
    a(x) :- c(x), !d(x).
    a(x) :- c(x), x >= 3.
    b(x) :- c(x), !d(x).
    b(x) :- c(x), x >= 3.
    """
    errors: list[Diagnostic] = []
    rules: list[Rule] = []
    for rule in program.rules:
        try:
            rules.extend(normalise_rule(rule))
        except ProgramError as error:
            errors.extend(error.diagnostics)
    subsumptions: list[Subsumption] = []
    for subsumption in program.subsumptions:
        try:
            subsumptions.extend(map(as_subsumption, normalise_rule(as_rule(subsumption))))
        except ProgramError as error:
            errors.extend(error.diagnostics)
    raise_errors(errors)
    return replace(program, rules=tuple(rules), subsumptions=tuple(subsumptions))


def normalise_rule(rule: Rule) -> list[Rule]:
    """Return the rules with one head and a flat body that a rule stands for."""
    if len(rule.heads) == 1 and all(map(_is_flat, (*rule.heads, *rule.body))):
        return [rule]
    if any(isinstance(node, Aggregate) for o in (*rule.heads, *rule.body) for node in walk(o)):
        rule = _name_wildcards(rule)
    heads = tuple(flatten_aggregates(head) for head in rule.heads)
    bodies = alternatives(rule.body, rule.span)
    # A `.plan` speaks of one body; of several it would be a guess which.
    orders = rule.orders if len(bodies) == 1 else ()
    return [
        Rule((head,), body, orders, rule.annotation, span=rule.span)
        for head in heads
        for body in bodies
    ]


def _is_flat(literal: Literal) -> bool:
    match literal:
        case Conjunction() | Disjunction():
            return False
        case Negation(literal=inner) if not isinstance(inner, Atom):
            return False
        case _:
            return not any(isinstance(node, Aggregate) for node in walk(literal))


def alternatives(body: Iterable[Literal], span: Span) -> list[Flat]:
    """Return the flat bodies of which at least one must hold.

    >>> p, q, r = (Atom(name, ()) for name in "pqr")
    >>> found = alternatives((p, Disjunction((q, r))), p.span)
    >>> [[atom.relation for atom in flat] for flat in found]
    [['p', 'q'], ['p', 'r']]
    """
    return _alternatives(Conjunction(tuple(body)), False, span)


def _alternatives(literal: Literal, negated: bool, span: Span) -> list[Flat]:
    while isinstance(literal, Negation):
        literal, negated = literal.literal, not negated
    if not isinstance(literal, Conjunction | Disjunction):
        flat = flatten_aggregates(literal)
        return [(negate(flat) if negated else flat,)]
    parts = []
    for item in literal.items:
        parts.append(_alternatives(item, negated, span))
    if isinstance(literal, Disjunction) is not negated:
        return [flat for part in parts for flat in part]
    count = prod(map(len, parts))
    if count > MAX_ALTERNATIVES:
        raise ProgramError(
            Diagnostic(
                "W0501",
                f"the disjunctions of this rule expand to {count} alternatives",
                span,
                f"more than {MAX_ALTERNATIVES}",
                hint="give some of the disjunctions a relation of their own",
            )
        )
    return [tuple(literal for part in choice for literal in part) for choice in product(*parts)]


def _name_wildcards(rule: Rule) -> Rule:
    """Name the wildcards that aggregates range over, before alternatives repeat them."""
    supply = Names(rule_names(rule))

    def name(node: Term | Literal) -> Term | Literal:
        return Variable(supply.fresh(), span=node.span) if isinstance(node, Wildcard) else node

    def in_body(node: Term | Literal) -> Term | Literal:
        return transform(node, name, Aggregate) if isinstance(node, Atom) else node

    def in_aggregate(node: Term | Literal) -> Term | Literal:
        if not isinstance(node, Aggregate):
            return node
        # Under negation, a wildcard says that there is no value at all.
        return replace(node, body=tuple(transform(o, in_body, Negation) for o in node.body))

    return replace(
        rule,
        heads=tuple(transform(head, in_aggregate) for head in rule.heads),
        body=tuple(transform(literal, in_aggregate) for literal in rule.body),
    )


def flatten_aggregates(node: NodeT) -> NodeT:
    """Return the node with the bodies of its aggregates flat, or a disjunction of flat bodies."""
    if any(isinstance(inner, Aggregate) for inner in walk(node)):
        return transform(node, _flatten_body, Aggregate)
    return node


def _flatten_body(node: Term | Literal) -> Term | Literal:
    if not isinstance(node, Aggregate):
        return node
    target = None if node.target is None else transform(node.target, _flatten_body, Aggregate)
    # The alternatives of the body are flat through and through: aggregates inside are done once.
    return replace(node, target=target, body=one_of(alternatives(node.body, node.span)))


def one_of(bodies: Iterable[Flat]) -> Flat:
    """Return the body of an aggregate that ranges over several flat bodies."""
    every = tuple(bodies)
    if len(every) == 1:
        return every[0]
    return (Disjunction(tuple(map(Conjunction, every))),)


def aggregate_bodies(aggregate: Aggregate) -> list[Flat]:
    """Return the flat bodies of a normalised aggregate."""
    match aggregate.body:
        case (Disjunction(items=items),):
            return [item.items for item in items if isinstance(item, Conjunction)]
        case body:
            return [body]
