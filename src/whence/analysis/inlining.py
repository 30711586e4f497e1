"""Relations declared `inline`: can their rules stand in for their atoms everywhere?"""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.clauses import clauses_of, origins
from whence.analysis.dependencies import Way, dependencies, reads
from whence.analysis.strata import components
from whence.analysis.traverse import level
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import Aggregate, Atom, Negation, Program, Rule, Wildcard, variables


def check_inlining(program: Program) -> list[Diagnostic]:
    """Report inlined relations that are read, written, recursive, aggregated or negated."""
    inlined = {d.name: d for d in program.relations if "inline" in d.qualifiers}
    if not inlined:
        return []
    found: list[Diagnostic] = []
    for directive in program.directives:
        if directive.relation in inlined:
            found.append(
                Diagnostic(
                    "W0215",
                    f"`{directive.relation}` is inlined and has `.{directive.action}`",
                    directive.span,
                    "an inlined relation has no tuples",
                )
            )
    found.extend(_check_cycles(program, set(inlined)))
    found.extend(_check_aggregates(program, set(inlined)))
    found.extend(_check_negations(program, set(inlined)))
    return found


def _check_cycles(program: Program, inlined: set[str]) -> Iterator[Diagnostic]:
    graph: dict[str, dict[str, None]] = {name: {} for name in sorted(inlined)}
    for edge in dependencies(program):
        if edge.head in inlined and edge.relation in inlined:
            graph[edge.head][edge.relation] = None
    spans = {decl.name: decl.span for decl in program.relations}
    for component in components(graph):
        if len(component) > 1 or component[0] in graph[component[0]]:
            names = " and ".join(f"`{name}`" for name in sorted(component))
            yield Diagnostic(
                "W0215", f"{names} cannot be inlined into itself", spans[sorted(component)[0]]
            )


def _check_aggregates(program: Program, inlined: set[str]) -> Iterator[Diagnostic]:
    for origin in origins(program):
        heads = [a for h in origin.heads for a in h.args] if isinstance(origin, Rule) else []
        for atom, way in reads((*heads, *origin.body)):
            if way is Way.AGGREGATION and atom.relation in inlined:
                yield Diagnostic(
                    "W0215",
                    f"`{atom.relation}` is inlined and stands in an aggregate",
                    atom.span,
                    "cannot be inlined here",
                )


def _check_negations(program: Program, inlined: set[str]) -> Iterator[Diagnostic]:
    """A negated atom must not stand for rules with variables of their own."""
    growing: set[str] = set()
    clauses = list(clauses_of(program))
    for clause in clauses:
        if clause.head.relation in inlined and not (
            variables(*clause.body).keys() <= variables(clause.head).keys()
        ):
            growing.add(clause.head.relation)
    for clause in clauses:
        for literal in clause.body:
            if not isinstance(literal, Negation) or not isinstance(literal.literal, Atom):
                continue
            atom = literal.literal
            if atom.relation in growing:
                yield Diagnostic(
                    "W0215",
                    f"`{atom.relation}` is inlined, negated, and has variables of its own",
                    atom.span,
                    "cannot be inlined here",
                )
            elif atom.relation in inlined and any(
                type(node) is Wildcard for node in level(atom) if type(node) is not Aggregate
            ):
                yield Diagnostic(
                    "W0215",
                    f"`{atom.relation}` is inlined and negated, with a `_`",
                    atom.span,
                    "cannot be inlined here",
                )
