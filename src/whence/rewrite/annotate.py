"""Annotations as ordinary columns: a program over a chain becomes plain Datalog with subsumption.

A relation that may be annotated with anything but one carries its annotation as a last column of
floats, and of the rows that differ only there the best is kept. Every pass and engine then does
with it what it does with any program, so answers that are kept are annotations that are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from whence.diagnostics import Diagnostic, raise_errors
from whence.rewrite.terms import Names, rule_names, transform
from whence.semiring.base import Chain, Times
from whence.syntax.nodes import (
    Atom,
    Attribute,
    Call,
    Constant,
    Constraint,
    Kind,
    Literal,
    Program,
    RelationDecl,
    Rule,
    Subsumption,
    Term,
    Variable,
    Wildcard,
)

COLUMN = "@prov"
"""The name of the column of annotations."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """How a program is to be annotated."""

    chain: Chain
    given: frozenset[str]
    """The relations whose facts come with an annotation as one more last column."""


def annotate(program: Program, chain: Chain, given: Collection[str]) -> Program:
    """Carry annotations through rules with one head and a flat body, and keep the best.

    `given` are the relations whose facts come with annotations. Negations and aggregates read
    which facts are there and nothing more.

    >>> from whence.syntax.souffle import parse
    >>> text = ".decl e(x: number, y: number, @prov) .decl p(x: number, y: number)"
    >>> text += "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    >>> print(annotate(parse(text), Chain(Times.ADD, True, 0.0, float("inf")), {"e"}))
    .decl e(x: number, y: number, @prov: float)
    .decl p(x: number, y: number, @prov: float)
    p(x, y, _1) :- e(x, y, _1).
    p(x, z, _1 + _2) :- p(x, y, _1), e(y, z, _2).
    e(x0, x1, worse) <= e(x0, x1, better) :- better < worse.
    p(x0, x1, worse) <= p(x0, x1, better) :- better < worse.
    """
    carriers = carrying(program, given)
    if not carriers:
        return program
    check_subsumptions(program, carriers)
    annotating = _Annotating(chain, carriers)
    carried = [decl for decl in program.relations if decl.name in carriers]
    return replace(
        program,
        relations=tuple(_declared(d) if d.name in carriers else d for d in program.relations),
        rules=tuple(map(annotating.rule, program.rules)),
        subsumptions=(
            *map(annotating.subsumption, program.subsumptions),
            *(_best(decl, chain.least) for decl in carried),
        ),
    )


def carrying(program: Program, given: Collection[str]) -> frozenset[str]:
    """Return the relations in which an annotation may be other than one.

    They are those whose facts come with annotations, and all that are derived from them.
    """
    annotated = {rule.head.relation for rule in program.rules if rule.annotation is not None}
    found = {decl.name for decl in program.relations if decl.name in annotated.union(given)}
    readers: dict[str, list[str]] = {}
    for rule in program.rules:
        for literal in rule.body:
            if isinstance(literal, Atom):
                readers.setdefault(literal.relation, []).append(rule.head.relation)
    pending = list(found)
    while pending:
        for name in readers.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return frozenset(found)


def check_subsumptions(program: Program, carriers: Collection[str]) -> None:
    """Refuse subsumption among annotated facts: what is dropped may have been used before."""
    raise_errors(
        [
            Diagnostic(
                "W0940",
                f"`{subsumption.dominated.relation}` cannot be annotated: it is under subsumption",
                subsumption.span,
                "which facts are dropped, and when, would decide the annotation of others",
                hint="leave the subsumption out: an annotated run keeps the best "
                "annotation of each fact; or run with `--semiring plain`",
            )
            for subsumption in program.subsumptions
            if subsumption.dominated.relation in carriers
        ]
    )


def _declared(decl: RelationDecl) -> RelationDecl:
    column = Attribute(COLUMN, Kind.FLOAT.value, span=decl.span)
    return replace(decl, attributes=(*decl.attributes, column), provenance=None)


def _best(decl: RelationDecl, least: bool) -> Subsumption:
    """Return the subsumption that keeps the best annotation of each fact."""
    key = tuple(Variable(f"x{i}") for i in range(decl.arity))
    worse, better = Variable("worse"), Variable("better")
    return Subsumption(
        Atom(decl.name, (*key, worse)),
        Atom(decl.name, (*key, better)),
        (Constraint("<" if least else ">", better, worse, Kind.FLOAT),),
        span=decl.span,
    )


@dataclass(frozen=True, slots=True)
class _Annotating:
    chain: Chain
    carriers: frozenset[str]

    def rule(self, rule: Rule) -> Rule:
        supply = Names(rule_names(rule))
        factors: list[Term] = []
        body: list[Literal] = []
        for literal in rule.body:
            if isinstance(literal, Atom):
                literal = self.inside(literal)
                if literal.relation in self.carriers:
                    factors.append(Variable(supply.fresh(), span=literal.span))
                    literal = _with(literal, factors[-1])
                body.append(literal)
            else:
                body.append(transform(literal, self.any))
        head = self.inside(rule.head)
        if head.relation in self.carriers:
            product = rule.annotation or self.product(factors)
            if self.chain.times is Times.BOUNDED and len(factors) > 1:
                # Annotations that are not zero may have the product zero: no fact, then.
                found = Variable(supply.fresh(), span=rule.span)
                zero = Constant(self.chain.zero, Kind.FLOAT)
                body.append(Constraint("=", found, product, Kind.FLOAT, span=rule.span))
                body.append(Constraint("!=", found, zero, Kind.FLOAT, span=rule.span))
                product = found
            head = _with(head, product)
        return replace(rule, heads=(head,), body=tuple(body), annotation=None)

    def subsumption(self, subsumption: Subsumption) -> Subsumption:
        return replace(
            subsumption, body=tuple(transform(item, self.any) for item in subsumption.body)
        )

    def inside(self, atom: Atom) -> Atom:
        """Return the atom with aggregates in its arguments reading any annotation."""
        return replace(atom, args=tuple(transform(arg, self.any) for arg in atom.args))

    def any(self, node: Term | Literal) -> Term | Literal:
        """Return an atom that carries an annotation with any in its place."""
        if isinstance(node, Atom) and node.relation in self.carriers:
            return _with(node, Wildcard(span=node.span))
        return node

    def product(self, factors: Sequence[Term]) -> Term:
        """Return the product as a term: one where there are no factors."""
        if not factors:
            return Constant(self.chain.one, Kind.FLOAT)
        first, *others = factors
        match self.chain.times:
            case Times.LEAST | Times.GREATEST as times:
                return Call(times.value, tuple(factors), Kind.FLOAT) if others else first
            case Times.ADD | Times.MULTIPLY as times:
                return reduce(lambda a, b: Call(times.value, (a, b), Kind.FLOAT), others, first)
            case Times.BOUNDED:
                return reduce(lambda a, b: Call("@bounded", (a, b), Kind.FLOAT), others, first)


def _with(atom: Atom, last: Term) -> Atom:
    return replace(atom, args=(*atom.args, last))
