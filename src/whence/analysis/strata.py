"""Strata: what depends on each other is computed together, and never through its own negation.

Components come from Tarjan's algorithm (1972), which also gives them in evaluation order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whence.analysis.dependencies import Dependency, Way, dependencies
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import Program


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations computed together; `recursive` when some rule of theirs reads one of them."""

    relations: tuple[str, ...]
    recursive: bool


def strata(program: Program) -> tuple[Stratum, ...]:
    """Return the strata of the program, each after those it depends on."""
    return _strata(_graph(program, dependencies(program)))


def check_strata(program: Program) -> list[Diagnostic]:
    """Report each negation and aggregate that a relation is computed through from itself."""
    edges = list(dependencies(program))
    number: dict[str, int] = {}
    for index, stratum in enumerate(_strata(_graph(program, edges))):
        number.update(dict.fromkeys(stratum.relations, index))
    inside: dict[str, list[Dependency]] = {}
    for edge in edges:
        if number[edge.head] == number[edge.relation]:
            inside.setdefault(edge.head, []).append(edge)
    return [
        _cycle(edge, inside)
        for found in inside.values()
        for edge in found
        if edge.way is not Way.POSITIVE
    ]


def _graph(program: Program, edges: Iterable[Dependency]) -> dict[str, dict[str, None]]:
    graph: dict[str, dict[str, None]] = {decl.name: {} for decl in program.relations}
    for edge in edges:
        graph.setdefault(edge.head, {})[edge.relation] = None
        graph.setdefault(edge.relation, {})
    for rule in program.rules:
        for head in rule.heads:
            graph.setdefault(head.relation, {})
    return graph


def _strata(graph: Mapping[str, Mapping[str, None]]) -> tuple[Stratum, ...]:
    order = {name: index for index, name in enumerate(graph)}
    return tuple(
        Stratum(
            tuple(sorted(component, key=order.__getitem__)),
            len(component) > 1 or component[0] in graph[component[0]],
        )
        for component in components(graph)
    )


def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components, each after those it has edges to.

    >>> components({"a": ["b"], "b": ["a", "c"], "c": []})
    [['c'], ['b', 'a']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    found: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    path.append(successor)
                    on_path.add(successor)
                    work.append((successor, iter(graph[successor])))
                    break
                if successor in on_path:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(path.pop())
                    on_path.difference_update(component)
                    found.append(component)
    return found


def _cycle(edge: Dependency, inside: Mapping[str, list[Dependency]]) -> Diagnostic:
    """Say how the relation behind the edge leads back to the one in front of it."""
    steps = [edge, *_shortest(edge.relation, edge.head, inside)]
    forms = {Way.POSITIVE: "`{}`", Way.NEGATION: "`!{}`", Way.AGGREGATION: "an aggregate of `{}`"}
    path = " ← ".join([f"`{edge.head}`", *(forms[s.way].format(s.relation) for s in steps)])
    negated = edge.way is Way.NEGATION
    return Diagnostic(
        "W0401" if negated else "W0402",
        f"`{edge.head}` depends on {'its own negation' if negated else 'an aggregate of itself'}",
        edge.span,
        "the negated relation must be complete first"
        if negated
        else "the aggregated relation must be complete first",
        notes=(f"the cycle is {path}", *(map(_step, steps[1:]))),
        hint="break the cycle, so that what is negated or aggregated can be computed before",
    )


def _step(step: Dependency) -> str:
    place = f", line {step.span.line}" if step.span else ""
    return f"`{step.head}` is computed from `{step.relation}`{place}"


def _shortest(start: str, goal: str, inside: Mapping[str, list[Dependency]]) -> list[Dependency]:
    came: dict[str, Dependency] = {}
    queue = deque([start])
    seen = {start}
    while queue and goal not in seen:
        node = queue.popleft()
        for edge in inside.get(node, ()):
            if edge.relation not in seen:
                seen.add(edge.relation)
                came[edge.relation] = edge
                queue.append(edge.relation)
    steps: list[Dependency] = []
    node = goal
    while node != start:
        steps.append(came[node])
        node = came[node].head
    return steps[::-1]
