"""Warnings: what is declared or named and then never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whence.analysis.clauses import expand, origins
from whence.analysis.dependencies import dependencies
from whence.analysis.scopes import display, scope
from whence.analysis.traverse import has_aggregate
from whence.diagnostics import Diagnostic, ProgramError, Span
from whence.syntax.nodes import (
    Literal,
    Program,
    Rule,
    Subsumption,
    Term,
    Variable,
    walk,
)

_WRITTEN = ("output", "printsize")


def check_unused(program: Program) -> list[Diagnostic]:
    """Warn of variables that occur once, and of relations without rules or without readers."""
    found: list[Diagnostic] = []
    for origin in origins(program):
        if origin.body:
            found.extend(_check_variables(origin))
    found.extend(_check_relations(program))
    found.extend(_check_pragmas(program))
    return found


def _warn(code: str, message: str, span: Span, label: str = "", hint: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, label, hint=hint, severity="warning")


def _check_variables(origin: Rule | Subsumption) -> Iterator[Diagnostic]:
    counts: Counter[str] = Counter()
    places: dict[str, Span] = {}
    for root in _nodes(origin):
        for node in walk(root):
            if type(node) is Variable:
                counts[node.name] += 1
                places[node.name] = node.span
    for name, count in counts.items():
        shown = display(name)
        if shown.startswith("_"):
            if count > 1 and not shown[1:].isdigit():
                yield _warn(
                    "W0902",
                    f"variable `{shown}` occurs {count} times",
                    places[name],
                    "`_` in front says that it occurs once",
                )
        elif count == 1:
            yield _warn(
                "W0901",
                f"variable `{shown}` occurs only once",
                places[name],
                hint=f"write `_` or `_{shown}` if any value will do",
            )


def _nodes(origin: Rule | Subsumption) -> tuple[Term | Literal, ...]:
    """Return the rule's nodes, with the variables of its aggregates named apart."""
    heads = origin.heads if isinstance(origin, Rule) else (origin.dominated, origin.dominating)
    nodes: tuple[Term | Literal, ...] = (*heads, *origin.body)
    if any(map(has_aggregate, nodes)):
        try:
            clauses = expand(origin)
        except ProgramError:
            return nodes
        if len(clauses) == 1:
            clause = scope(clauses[0]).clause
            # The dominated atom of a subsumption is both head and body of its clause.
            return (clause.head, *clause.body) if isinstance(origin, Rule) else clause.body
    return nodes


def _check_relations(program: Program) -> Iterator[Diagnostic]:
    defined = {head.relation for rule in program.rules for head in rule.heads}
    given = {d.relation for d in program.directives if d.action == "input"}
    written = {d.relation for d in program.directives if d.action in _WRITTEN}
    read = {edge.relation for edge in dependencies(program) if edge.head != edge.relation}
    dominated = {s.dominated.relation for s in program.subsumptions}
    for decl in program.relations:
        name = decl.name
        if name not in defined and name not in given:
            yield _warn(
                "W0903",
                f"relation `{name}` has no rules, facts or input",
                decl.span,
                "always empty",
            )
        elif written and name not in read and name not in written:
            yield _warn(
                "W0904", f"relation `{name}` is never read", decl.span, "no output needs it"
            )
        if "btree_delete" in decl.qualifiers and name not in dominated:
            yield _warn("W0905", f"relation `{name}` has no subsumption", decl.span)


def _check_pragmas(program: Program) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for pragma in program.pragmas:
        if pragma.key in seen and pragma.key not in ("libraries", "library-dir"):
            yield _warn("W0907", f"pragma `{pragma.key}` is given again", pragma.span)
        seen.add(pragma.key)
