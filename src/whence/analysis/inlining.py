"""Relations declared `inline`: can their rules stand in for their atoms everywhere?"""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.clauses import Clause, Flat, clauses_of, origins
from whence.analysis.dependencies import Way, dependencies, reads
from whence.analysis.strata import components
from whence.analysis.traverse import level, map_level
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
    variables,
)

_MAX_BODIES = 1000


def inlined_relations(program: Program) -> set[str]:
    """Return the relations to be inlined: `no_inline` and the pragma `inline-exclude` win."""
    excluded = {
        name.strip()
        for pragma in program.pragmas
        if pragma.key == "inline-exclude"
        for name in pragma.value.split(",")
    }
    return {
        decl.name
        for decl in program.relations
        if "inline" in decl.qualifiers
        and "no_inline" not in decl.qualifiers
        and decl.name not in excluded
    }


def check_inlining(program: Program) -> list[Diagnostic]:
    """Report inlined relations that are read, written, recursive, aggregated or negated."""
    inlined = inlined_relations(program)
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
    found.extend(_check_cycles(program, inlined))
    found.extend(_check_aggregates(program, inlined))
    found.extend(_check_negations(program, inlined))
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


class Expansion:
    """What stands in for the atoms of inlined relations, as far as binding variables goes."""

    def __init__(self, program: Program) -> None:
        self.relations = inlined_relations(program)
        self._clauses: dict[str, list[Clause]] = {name: [] for name in self.relations}
        self._count = 0
        if self.relations:
            for clause in clauses_of(program, facts=True):
                if clause.head.relation in self.relations:
                    self._clauses[clause.head.relation].append(clause)

    def touches(self, body: Flat) -> bool:
        """Whether an atom of an inlined relation stands in the body."""
        return bool(self.relations) and any(
            type(literal) is Atom and literal.relation in self.relations for literal in body
        )

    def bodies(self, body: Flat) -> list[Flat]:
        """Return the bodies without atoms of inlined relations; none when they are too many."""
        done: list[Flat] = []
        pending = [body]
        steps = 0  # a relation inlined into itself, which is an error of its own, never ends
        while pending:
            steps += 1
            current = pending.pop()
            at = next((i for i, b in enumerate(current) if self.touches((b,))), None)
            if at is None:
                done.append(current)
            else:
                atom = current[at]
                assert isinstance(atom, Atom)
                rest = (*current[:at], *current[at + 1 :])
                pending.extend((*rest, *self._stand_in(atom, c)) for c in self._rules(atom))
            if steps > _MAX_BODIES or len(pending) > _MAX_BODIES:
                return []
        return done

    def _rules(self, atom: Atom) -> list[Clause]:
        return [c for c in self._clauses[atom.relation] if len(c.head.args) == len(atom.args)]

    def _stand_in(self, atom: Atom, clause: Clause) -> Flat:
        self._count += 1
        mark = f"\1{self._count}"

        def visit(node: Term | Literal) -> Term | Literal:
            return Variable(node.name + mark) if type(node) is Variable else node

        head = map_level(clause.head, visit)
        equations = (
            Constraint("=", given, own)
            for given, own in zip(atom.args, head.args, strict=True)
            if type(given) is not Wildcard
        )
        return (*equations, *(map_level(literal, visit) for literal in clause.body))
