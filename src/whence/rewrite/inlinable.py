"""Which relations may be inlined: the rules of Soufflé, and what is wrong where they are broken."""

from __future__ import annotations

from collections.abc import Iterator, Set

from whence.analysis.strata import components
from whence.diagnostics import Diagnostic
from whence.rewrite.dependencies import reads_of
from whence.rewrite.terms import level_nodes, names
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Counter,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Wildcard,
    walk,
)


def inlined_relations(program: Program) -> set[str]:
    """Return the relations that are qualified `inline`."""
    return {decl.name for decl in program.relations if "inline" in decl.qualifiers}


def check_inline(program: Program) -> list[Diagnostic]:
    """Report the uses of inlined relations that cannot be replaced by their rules."""
    chosen = inlined_relations(program)
    if not chosen:
        return []
    bodies: list[tuple[Literal, ...]] = [rule.body for rule in program.rules]
    bodies += [subsumption.body for subsumption in program.subsumptions]
    nodes = [node for body in bodies for literal in body for node in walk(literal)]
    heads: list[Term | Literal] = [node for r in program.rules for h in r.heads for node in walk(h)]
    return [
        *_check_io(program, chosen),
        *_check_cycles(program, chosen),
        *_check_counters(program, chosen, nodes),
        *_check_negations(program, chosen, nodes),
        *_check_aggregates(chosen, nodes + heads),
    ]


def _check_io(program: Program, chosen: Set[str]) -> Iterator[Diagnostic]:
    for directive in program.directives:
        if directive.relation in chosen:
            yield Diagnostic(
                "W0510",
                f"`{directive.relation}` is inlined and has no facts to read or write",
                directive.span,
                "this needs the relation itself",
                hint="remove `inline` from its declaration, or this directive",
            )


def _check_cycles(program: Program, chosen: Set[str]) -> Iterator[Diagnostic]:
    graph = {
        name: [r for r in reads if r in chosen]
        for name, reads in reads_of(program).items()
        if name in chosen
    }
    for component in components(graph):
        if len(component) > 1 or component[0] in graph[component[0]]:
            cycle = ", ".join(f"`{name}`" for name in reversed(component))
            yield Diagnostic(
                "W0511",
                f"inlined relations depend on themselves: {cycle}",
                program.relation(component[-1]).span,
                "cannot be replaced by its rules",
                hint="remove `inline` from one of them",
            )


def _check_counters(
    program: Program, chosen: Set[str], nodes: list[Term | Literal]
) -> Iterator[Diagnostic]:
    used: list[Term | Literal] = [
        inner
        for node in nodes
        if isinstance(node, Atom) and node.relation in chosen
        for inner in walk(node)
    ]
    for rule in program.rules:
        if any(head.relation in chosen for head in rule.heads):
            used.extend(inner for literal in (*rule.heads, *rule.body) for inner in walk(literal))
    for inner in used:
        if isinstance(inner, Counter):
            yield Diagnostic(
                "W0512",
                "`$` in an inlined relation",
                inner.span,
                "would count once for each use of the relation",
            )


def _check_negations(
    program: Program, chosen: Set[str], nodes: list[Term | Literal]
) -> Iterator[Diagnostic]:
    hiding = {
        head.relation
        for rule in program.rules
        for head in rule.heads
        if head.relation in chosen and _hides_variables(rule, head)
    }
    for node in nodes:
        match node:
            case Negation(literal=Atom(relation=relation) as atom) if relation in chosen:
                if relation in hiding:
                    yield Diagnostic(
                        "W0513",
                        f"negated relation `{relation}` is inlined, "
                        "and its rules have variables that are not in the head",
                        atom.span,
                        "not for all values of those can be said in place",
                        hint="remove `inline` from its declaration",
                    )
                for inner in level_nodes(atom):
                    if isinstance(inner, Wildcard):
                        yield Diagnostic(
                            "W0513",
                            f"`_` in a negated atom of the inlined relation `{relation}`",
                            inner.span,
                            hint="remove `inline` from its declaration",
                        )


def _hides_variables(rule: Rule, head: Atom) -> bool:
    return not names(*rule.body).keys() <= names(head).keys()


def _check_aggregates(chosen: Set[str], nodes: list[Term | Literal]) -> Iterator[Diagnostic]:
    for node in nodes:
        if not isinstance(node, Aggregate):
            continue
        for literal in node.body:
            for inner in walk(literal):
                if isinstance(inner, Atom) and inner.relation in chosen:
                    yield Diagnostic(
                        "W0514",
                        f"inlined relation `{inner.relation}` inside an aggregate",
                        inner.span,
                        "would change what is counted",
                        hint="remove `inline` from its declaration",
                    )
