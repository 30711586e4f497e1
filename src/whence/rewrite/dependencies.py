"""What a relation is computed from, as graphs that passes can walk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from whence.analysis.dependencies import Way, dependencies
from whence.analysis.strata import strata
from whence.syntax.nodes import Program

Graph: TypeAlias = dict[str, dict[str, None]]

INDIRECT = (Way.NEGATION, Way.AGGREGATION)


def reads_of(program: Program, ways: Collection[Way] = tuple(Way)) -> Graph:
    """Return, for each relation, those its rules read in one of the ways."""
    graph: Graph = {decl.name: {} for decl in program.relations}
    for edge in dependencies(program):
        if edge.way in ways:
            graph.setdefault(edge.head, {})[edge.relation] = None
    return graph


def reachable(graph: Mapping[str, Iterable[str]], roots: Iterable[str]) -> set[str]:
    """Return the roots and all that can be reached from them."""
    found = set(roots)
    pending = list(found)
    while pending:
        for name in graph.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found


def recursion(program: Program) -> dict[str, int]:
    """Return the number of its stratum for each relation that depends on itself."""
    return {
        name: number
        for number, stratum in enumerate(strata(program))
        if stratum.recursive
        for name in stratum.relations
    }
