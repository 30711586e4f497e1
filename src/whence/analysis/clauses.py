"""Clauses: what a rule stands for once negation has moved inward and disjunctions are split.

Safety and types are properties of each clause, not of the rule: in `p(x) :- a(x) ; b(x)` the two
`x` may have different types. Equations between records fall apart into those of their items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias, TypeVar

from whence.analysis.traverse import has_aggregate, map_level
from whence.diagnostics import Diagnostic, ProgramError, Span
from whence.functor.comparison import NEGATED
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    InInterval,
    Literal,
    Negation,
    Program,
    Record,
    Rule,
    Subsumption,
    Term,
    Truth,
    Variable,
    Wildcard,
    variables,
)

MAX_ALTERNATIVES = 4096
"""Alternatives of one body; more would make planning the program take longer than running it."""

Flat: TypeAlias = tuple[Literal, ...]
NodeT = TypeVar("NodeT", bound=Term | Literal)


@dataclass(frozen=True, slots=True)
class Clause:
    """One head and a flat body of atoms, negated atoms, constraints and truths.

    A subsumption's clause has the dominated atom as its head, and both its atoms first in the body.
    """

    head: Atom
    body: Flat
    origin: Rule | Subsumption

    @property
    def is_fact(self) -> bool:
        """Whether the head must be constant; one with an aggregate is a rule without a body."""
        return not self.body and not has_aggregate(self.head)


def is_plain_fact(rule: Rule | Subsumption) -> bool:
    """Whether the rule is one fact of constants."""
    if rule.body or type(rule) is not Rule or len(rule.heads) != 1:
        return False
    return all(type(arg) is Constant for arg in rule.heads[0].args)


def every_origin(program: Program) -> Iterator[Rule | Subsumption]:
    """Yield the rules, facts among them, and the subsumptions."""
    yield from program.rules
    yield from program.subsumptions


def origins(program: Program) -> Iterator[Rule | Subsumption]:
    """Yield the rules and subsumptions, but no plain facts: there may be a million of them."""
    for rule in program.rules:
        if not is_plain_fact(rule):
            yield rule
    yield from program.subsumptions


def clauses_of(program: Program, *, facts: bool = False) -> Iterator[Clause]:
    """Yield the clauses of `origins`, leaving out rules with too many; plain `facts` if asked."""
    for origin in every_origin(program) if facts else origins(program):
        try:
            yield from expand(origin)
        except ProgramError:
            continue


def expand(origin: Rule | Subsumption) -> list[Clause]:
    """Return the clauses that a rule or subsumption stands for."""
    bodies = [_name_wildcards(body) for body in alternatives(origin.body, origin.span)]
    if isinstance(origin, Subsumption):
        pair = (origin.dominated, origin.dominating)
        return [Clause(origin.dominated, (*pair, *body), origin) for body in bodies]
    return [
        Clause(flatten_aggregates(head), body, origin) for head in origin.heads for body in bodies
    ]


def alternatives(body: Flat, span: Span) -> list[Flat]:
    """Return the flat bodies of which at least one must hold.

    >>> p, q, r = (Atom(name, ()) for name in "pqr")
    >>> bodies = alternatives((p, Disjunction((q, r))), p.span)
    >>> [[atom.relation for atom in body] for body in bodies]
    [['p', 'q'], ['p', 'r']]
    """
    if all(map(_is_flat, body)):
        return [body]
    return _all_of(body, False, span)


def _is_flat(literal: Literal) -> bool:
    while type(literal) is Negation:
        literal = literal.literal
        if type(literal) is not Atom:
            return False
    kind = type(literal)
    if kind is Constraint and _is_foldable(literal):  # type: ignore[arg-type]
        return False
    return kind is not Conjunction and kind is not Disjunction and not has_aggregate(literal)


def _is_foldable(constraint: Constraint) -> bool:
    left, right = constraint.left, constraint.right
    if constraint.op not in ("=", "!="):
        return False
    if isinstance(left, Record):
        if isinstance(right, Record):
            return len(left.items) == len(right.items)
        return isinstance(right, Wildcard) and constraint.op == "="
    return isinstance(right, Record) and isinstance(left, Wildcard) and constraint.op == "="


def _all_of(items: Flat, negated: bool, span: Span) -> list[Flat]:
    parts = [_alternatives(item, negated, span) for item in items]
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


def _any_of(items: Flat, negated: bool, span: Span) -> list[Flat]:
    return [flat for item in items for flat in _alternatives(item, negated, span)]


def _alternatives(literal: Literal, negated: bool, span: Span) -> list[Flat]:
    while isinstance(literal, Negation):
        literal, negated = literal.literal, not negated
    match literal:
        case Conjunction(items=items):
            return (_any_of if negated else _all_of)(items, negated, span)
        case Disjunction(items=items):
            return (_all_of if negated else _any_of)(items, negated, span)
        case Atom():
            literal = flatten_aggregates(literal)
            return [(Negation(literal, span=literal.span) if negated else literal,)]
        case Constraint():
            if negated:
                literal = replace(literal, op=NEGATED[literal.op])
            if _is_foldable(literal):
                return _fold(literal, span)
            return [(flatten_aggregates(literal),)]
        case Truth(value=value):
            return [(replace(literal, value=value != negated),)]
        case InInterval():
            raise AssertionError("an interval of NDlog is comparisons here")


def _fold(constraint: Constraint, span: Span) -> list[Flat]:
    """Compare records item by item; `_ = [a, b]` asks for nothing."""
    left, right = constraint.left, constraint.right
    if isinstance(left, Wildcard) or isinstance(right, Wildcard):
        return [(Truth(True, span=constraint.span),)]
    assert isinstance(left, Record)
    assert isinstance(right, Record)
    items = tuple(
        replace(constraint, left=a, right=b) for a, b in zip(left.items, right.items, strict=True)
    )
    if not items:
        return [(Truth(constraint.op == "=", span=constraint.span),)]
    return (_all_of if constraint.op == "=" else _any_of)(items, False, span)


def flatten_aggregates(node: NodeT) -> NodeT:
    """Return the node with the bodies of its aggregates flat, where one flat body will do."""
    return map_level(node, _flatten) if has_aggregate(node) else node


def _flatten(node: Term | Literal) -> Term | Literal:
    if not isinstance(node, Aggregate):
        return node
    if node.target is not None:
        node = replace(node, target=map_level(node.target, _flatten))
    bodies = alternatives(node.body, node.span)  # flattens the aggregates inside, once
    return replace(node, body=bodies[0]) if len(bodies) == 1 else node


def _name_wildcards(body: Flat) -> Flat:
    """Write `_ = count : { … }` with a variable that occurs nowhere else."""
    used: set[str] = set()
    out: list[Literal] = []
    for literal in body:
        match literal:
            case Constraint(op="=", left=Wildcard(span=span), right=Aggregate()):
                literal = replace(literal, left=_fresh(body, used, span))
            case Constraint(op="=", left=Aggregate(), right=Wildcard(span=span)):
                literal = replace(literal, right=_fresh(body, used, span))
            case _:
                pass
        out.append(literal)
    return tuple(out) if used else body


def _fresh(body: Flat, used: set[str], span: Span) -> Variable:
    if not used:
        used.update(variables(*body))
    number = 1
    while f"_{number}" in used:
        number += 1
    used.add(f"_{number}")
    return Variable(f"_{number}", span=span)
