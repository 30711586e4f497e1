"""The syntax tree: immutable values, tuples inside, a span on each that equality ignores.

All dialects parse into these nodes and every rewrite maps them to each other. Terms and literals
are in `terms.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.diagnostics import Span
from whence.syntax.terms import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Conjunction,
    Constant,
    Constraint,
    Counter,
    Disjunction,
    HeadAggregate,
    InInterval,
    Kind,
    Literal,
    Negation,
    Nil,
    Record,
    Term,
    Truth,
    UserCall,
    Variable,
    Wildcard,
    children,
    place,
    rebuild,
    variables,
    walk,
)

if TYPE_CHECKING:
    from whence.semiring.base import Semiring

__all__ = [
    "Aggregate",
    "Atom",
    "Attribute",
    "Call",
    "Cast",
    "Conjunction",
    "Constant",
    "Constraint",
    "Counter",
    "Directive",
    "Disjunction",
    "FunctorDecl",
    "HeadAggregate",
    "InInterval",
    "Kind",
    "Literal",
    "Materialize",
    "Negation",
    "Nil",
    "Node",
    "Pragma",
    "Program",
    "Query",
    "Record",
    "RecordType",
    "RelationDecl",
    "Rule",
    "Subsumption",
    "Subtype",
    "Term",
    "Truth",
    "TypeDecl",
    "UnionType",
    "UserCall",
    "Variable",
    "Watch",
    "Wildcard",
    "children",
    "rebuild",
    "variables",
    "walk",
]


# ── declarations ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of a relation, field of a record or parameter of a functor."""

    name: str
    type: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class RelationDecl:
    """`.decl`; `provenance` is the semiring of a last `@prov` attribute, "" if it is unnamed.

    `semiring` is what a run annotates it in: then its tables have one more last column.
    """

    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    provenance: str | None = None
    semiring: Semiring[Any] | None = field(default=None, compare=False, repr=False, kw_only=True)
    span: Span = place()

    @property
    def arity(self) -> int:
        return len(self.attributes)


@dataclass(frozen=True, slots=True)
class Subtype:
    """`.type A <: B`; `.type A = B` with one base is an alias (`alias` is true)."""

    name: str
    base: str
    alias: bool = False
    span: Span = place()


@dataclass(frozen=True, slots=True)
class UnionType:
    """`.type A = B | C`."""

    name: str
    members: tuple[str, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class RecordType:
    """`.type A = [x: number, y: A]`."""

    name: str
    fields: tuple[Attribute, ...]
    span: Span = place()


TypeDecl: TypeAlias = Subtype | UnionType | RecordType


@dataclass(frozen=True, slots=True)
class FunctorDecl:
    """`.functor f(x: number): symbol`."""

    name: str
    parameters: tuple[Attribute, ...]
    returns: str
    stateful: bool = False
    span: Span = place()


# ── statements ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Rule:
    """`head, head :- body.`; a fact has no body. `orders` is `.plan`: version → atom order.

    `annotation` is that of a fact in the text, once it is told from the fact's columns.
    `name` is the label before a rule of NDlog; `delete` says that its heads go.
    """

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...] = ()
    orders: tuple[tuple[int, tuple[int, ...]], ...] = ()
    annotation: Constant | None = None
    name: str = field(default="", kw_only=True)
    delete: bool = field(default=False, kw_only=True)
    span: Span = place()

    @property
    def head(self) -> Atom:
        """The only head; rules have one after normalisation."""
        (only,) = self.heads
        return only

    @property
    def is_fact(self) -> bool:
        return not self.body


@dataclass(frozen=True, slots=True)
class Subsumption:
    """`dominated <= dominating :- body.`"""

    dominated: Atom
    dominating: Atom
    body: tuple[Literal, ...] = ()
    orders: tuple[tuple[int, tuple[int, ...]], ...] = ()
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation."""

    action: str
    relation: str
    parameters: tuple[tuple[str, str], ...] = ()
    span: Span = place()

    def get(self, name: str, default: str = "") -> str:
        return dict(self.parameters).get(name, default)


@dataclass(frozen=True, slots=True)
class Pragma:
    key: str
    value: str = ""
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Materialize:
    """`materialize(relation, lifetime, size, keys(1, 2))`; None is infinity.

    Keys count from 1, as written; without any, all columns are the key.
    """

    relation: str
    lifetime: float | None
    size: int | None
    keys: tuple[int, ...] = ()
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Watch:
    """`watch(relation)`: its changes are shown."""

    relation: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Query:
    """`Query atom.`: what a program is run for."""

    atom: Atom
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program; each tuple keeps the order of the text."""

    types: tuple[TypeDecl, ...] = ()
    functors: tuple[FunctorDecl, ...] = ()
    relations: tuple[RelationDecl, ...] = ()
    rules: tuple[Rule, ...] = ()
    subsumptions: tuple[Subsumption, ...] = ()
    directives: tuple[Directive, ...] = ()
    pragmas: tuple[Pragma, ...] = ()
    tables: tuple[Materialize, ...] = ()
    watches: tuple[Watch, ...] = ()
    queries: tuple[Query, ...] = ()
    dialect: str = "souffle"

    def relation(self, name: str) -> RelationDecl:
        """Return the declaration of `name`; KeyError when there is none."""
        for decl in self.relations:
            if decl.name == name:
                return decl
        raise KeyError(name)

    def __str__(self) -> str:
        from whence.syntax.printer import print_program

        return print_program(self)


Node: TypeAlias = (
    Term
    | Literal
    | Attribute
    | RelationDecl
    | Subtype
    | UnionType
    | RecordType
    | FunctorDecl
    | Rule
    | Subsumption
    | Directive
    | Pragma
    | Materialize
    | Watch
    | Query
)
