"""What a translation has made so far: the rules and the relations of one pass over a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whence.diagnostics import NOWHERE, Source, Span
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    FunctorDecl,
    Literal,
    Rule,
    Term,
    Variable,
    variables,
    walk,
)
from whence.syntax.sql.catalog import Catalog, Relation
from whence.syntax.sql.scope import Names
from whence.syntax.sql.tidy import fresh_in, tidied
from whence.syntax.sql.typing import infer


@dataclass(slots=True)
class Context:
    """One pass: `types` and `together` are what the pass before found out."""

    source: Source
    catalog: Catalog
    types: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    together: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """For each recursive relation, those that it is recursive with."""
    functors: dict[str, FunctorDecl] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    best: dict[str, tuple[int, str, Span]] = field(default_factory=dict)
    """Recursive relations that keep the least or greatest of a column: where, and which."""

    def infer(self, term: Term, names: Names) -> str | None:
        """Return the type of a term."""
        results = {name: decl.returns for name, decl in self.functors.items()}
        return infer(term, names.types, results)

    def declare(self, name: str, columns: tuple[str, ...], place: Span = NOWHERE) -> Relation:
        """Make a relation, with the types that the pass before found."""
        known = self.types.get(name, ())
        types = known if len(known) == len(columns) else (None,) * len(columns)
        relation = Relation(name, columns, types, place)
        self.relations[name] = relation
        return relation

    def settle(self, name: str, types: Sequence[str | None]) -> None:
        """Note the types of the columns of a relation, as far as one of its rules tells."""
        relation = self.relations[name]
        merged = tuple(_wider(a, b) for a, b in zip(relation.types, types, strict=True))
        self.relations[name] = Relation(name, relation.columns, merged, relation.place)

    def part(
        self, like: str, arguments: Sequence[Term], body: Sequence[Literal], names: Names
    ) -> Relation:
        """Make a relation for a part of a view, with one rule."""
        name = self.catalog.fresh(like)
        relation = self.declare(name, tuple(f"c{i + 1}" for i in range(len(arguments))))
        self.settle(name, [self.infer(argument, names) for argument in arguments])
        self.rule(name, arguments, body)
        return relation

    def rule(
        self, name: str, arguments: Sequence[Term], body: Sequence[Literal], place: Span = NOWHERE
    ) -> None:
        """Add a rule; aggregates stand in its body, as a person would write them."""
        terms, literals = list(arguments), list(body)
        taken = set(variables(*terms, *literals))
        for i, term in enumerate(terms):
            if any(isinstance(node, Aggregate) for node in walk(term)):
                column = fresh_in(taken, self.relations[name].columns[i].lower())
                terms[i] = Variable(column)
                literals.append(Constraint("=", terms[i], term))
        head = Atom(name, tuple(terms), span=place)
        self.rules.append(tidied(Rule((head,), tuple(literals), span=place)))


def _wider(first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return first or second
    if first == second:
        return first
    return "float" if {first, second} <= {"number", "unsigned", "float"} else first
