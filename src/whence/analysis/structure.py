"""Rules that no later stage could make sense of: aggregates, subsumptions, orders, patterns."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.clauses import alternatives, origins
from whence.analysis.strata import strata
from whence.diagnostics import Diagnostic, ProgramError
from whence.functor.pattern import MalformedPattern, translate
from whence.functor.values import FunctorFault
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Program,
    RelationDecl,
    Rule,
    Subsumption,
    walk,
)

_FIXED = ("btree", "brie", "eqrel")


def check_structure(program: Program) -> list[Diagnostic]:
    """Report disjunctions that multiply, malformed subsumptions, and `.plan`s that fit no body."""
    found: list[Diagnostic] = []
    planned = any(origin.orders for origin in origins(program))
    recursive = [set(s.relations) for s in strata(program) if s.recursive] if planned else []
    for origin in origins(program):
        try:
            bodies = alternatives(origin.body, origin.span)
        except ProgramError as error:
            found.extend(error.diagnostics)
            continue
        found.extend(_check_aggregates(origin))
        if origin.orders:
            atoms = sum(type(literal) is Atom for literal in bodies[0])
            found.extend(_check_orders(origin, atoms, recursive))
    relations = {decl.name: decl for decl in reversed(program.relations)}
    for subsumption in program.subsumptions:
        found.extend(_check_subsumption(subsumption, relations))
    return found


def _check_aggregates(origin: Rule | Subsumption) -> Iterator[Diagnostic]:
    heads = origin.heads if isinstance(origin, Rule) else ()
    for root in (*heads, *origin.body):
        for node in walk(root):
            if isinstance(node, Aggregate) and len(alternatives(node.body, node.span)) > 1:
                yield Diagnostic(
                    "W0211",
                    f"a disjunction inside a {node.function} aggregate",
                    node.span,
                    "the body of an aggregate has no alternatives",
                    hint="give the disjunction a relation of its own",
                )


def _check_subsumption(
    subsumption: Subsumption, relations: dict[str, RelationDecl]
) -> Iterator[Diagnostic]:
    less, more = subsumption.dominated, subsumption.dominating
    if less.relation != more.relation:
        yield Diagnostic(
            "W0212",
            f"a tuple of `{less.relation}` cannot be subsumed by one of `{more.relation}`",
            more.span,
            "both must be of the same relation",
        )
        return
    decl = relations.get(less.relation)
    if decl is None:
        return
    if decl.arity == 0:
        yield Diagnostic(
            "W0212",
            f"`{decl.name}` has no attributes to compare",
            less.span,
            "a subsumption needs at least one",
        )
    for qualifier in decl.qualifiers:
        if qualifier in _FIXED:
            yield Diagnostic(
                "W0213",
                f"`{decl.name}` is `{qualifier}` and has a subsumption",
                decl.span,
                "tuples of such a relation cannot be removed",
                hint=f"drop `{qualifier}`, or write `btree_delete`",
            )


def _check_orders(
    origin: Rule | Subsumption, atoms: int, recursive: list[set[str]]
) -> Iterator[Diagnostic]:
    """Hold a `.plan` of a recursive rule against its body; others have no effect."""
    heads = {h.relation for h in origin.heads} if isinstance(origin, Rule) else set()
    component = next((s for s in recursive if s & heads), set())
    versions = sum(type(b) is Atom and b.relation in component for b in origin.body)
    if not versions:
        return
    for version, order in origin.orders:
        if version >= versions:
            yield Diagnostic(
                "W0214",
                f"plan {version} of a rule that has versions 0 to {versions - 1}",
                origin.span,
                hint="there is one version for each atom of the recursion, counted from 0",
            )
        if sorted(order) != list(range(1, atoms + 1)):
            shown = ", ".join(map(str, order[:20]))
            yield Diagnostic(
                "W0214",
                f"the order ({shown}) of plan {version} does not name each atom once",
                origin.span,
                f"the body has {atoms} atoms",
            )


def check_patterns(program: Program) -> list[Diagnostic]:
    """Refuse patterns that are not supported, and warn of those that never match."""
    found: list[Diagnostic] = []
    for origin in origins(program):
        for root in origin.body:
            for node in walk(root):
                if isinstance(node, Constraint) and node.op in ("match", "not_match"):
                    found.extend(_check_pattern(node))
    return found


def _check_pattern(constraint: Constraint) -> Iterator[Diagnostic]:
    match constraint.left:
        case Constant(value=str(pattern), span=span):
            try:
                translate(pattern)
            except MalformedPattern as fault:
                yield Diagnostic(
                    "W0906",
                    f"the pattern is malformed: {fault}",
                    span,
                    "never matches",
                    severity="warning",
                )
            except FunctorFault as fault:
                yield Diagnostic("W0520", fault.message, span)
        case _:
            pass
