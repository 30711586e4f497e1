"""Which relations a relation is computed from, how, and where the program says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from whence.diagnostics import Span
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Literal,
    Negation,
    Program,
    Term,
    children,
)


class Way(Enum):
    """How a rule reads a relation."""

    POSITIVE = "positive"
    NEGATION = "negation"
    AGGREGATION = "aggregation"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule of `head` reads `relation`, at `span`."""

    head: str
    relation: str
    way: Way
    span: Span


def reads(nodes: Iterable[Term | Literal]) -> Iterator[tuple[Atom, Way]]:
    """Yield the atoms inside, and whether each stands under negation or in an aggregate."""
    pending: list[tuple[Term | Literal, Way]] = [(node, Way.POSITIVE) for node in nodes]
    pending.reverse()
    while pending:
        node, way = pending.pop()
        kind = type(node)
        if kind is Atom:
            yield node, way  # type: ignore[misc]
        elif kind is Aggregate:
            way = Way.AGGREGATION
        elif kind is Negation and way is not Way.AGGREGATION:
            way = Way.NEGATION if way is Way.POSITIVE else Way.POSITIVE
        inner = children(node)
        if inner:
            pending.extend([(child, way) for child in reversed(inner)])


def dependencies(program: Program) -> Iterator[Dependency]:
    """Yield what each rule and subsumption of the program reads, in the order of the text."""
    for rule in program.rules:
        if not rule.body and not any(map(_may_read, rule.heads)):
            continue
        found = list(reads((*(arg for head in rule.heads for arg in head.args), *rule.body)))
        for head in rule.heads:
            for atom, way in found:
                yield Dependency(head.relation, atom.relation, way, atom.span)
    for subsumption in program.subsumptions:
        for atom, way in reads(subsumption.body):
            yield Dependency(subsumption.dominated.relation, atom.relation, way, atom.span)


def _may_read(head: Atom) -> bool:
    return any(children(arg) for arg in head.args)
