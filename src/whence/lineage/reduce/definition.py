"""What a reduction means: closure by the naive evaluator, slow and obvious, the judge of all modes.

An edge says that its source depends on its target. A pair is an output and an input with a path
of one edge or more from one to the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cache
from typing import Final

from whence.lineage.events import Edge, Kind
from whence.lineage.names import INNER, canonical
from whence.lineage.reduced import Name, Pair
from whence.syntax.nodes import Program

RULES: Final = """
.decl edge(source: number, target: number)
.decl entity(node: number)
.decl asked_input(node: number)
.decl asked_output(node: number)
.decl depends(node: number)
.decl wanted(node: number)
.decl path(source: number, target: number)
.decl an_input(node: number)
.decl an_output(node: number)
.decl pair(source: number, target: number)
.input edge, entity, asked_input, asked_output
depends(x) :- edge(x, _).
wanted(x) :- edge(_, x).
an_input(x) :- entity(x), !depends(x).
an_input(x) :- asked_input(x).
an_output(x) :- entity(x), !wanted(x).
an_output(x) :- asked_output(x).
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
pair(x, y) :- path(x, y), an_output(x), an_input(y).
.output pair
"""


@cache
def _program() -> Program:
    from whence.rewrite.resolve_types import resolve_types
    from whence.syntax.souffle import parse

    return resolve_types(parse(RULES))


def pairs(
    edges: Iterable[Edge],
    *,
    attempts: bool = False,
    inputs: Collection[str] = (),
    outputs: Collection[str] = (),
) -> set[Pair]:
    """Return the pairs of outputs and inputs that a stream comes to.

    With `attempts`, edges of an execution count only if it has an end marker. Entities of the
    spaces `inputs` and `outputs` count as such even if something generated or used them; those of
    inner spaces never do.
    """
    from whence.engine.naive import evaluate

    edges = [_settled(edge) for edge in edges]
    ended = {(e.source, e.attempt) for e in edges if e.kind is Kind.END}
    numbers: dict[tuple[object, ...], int] = {}
    facts: set[tuple[int, int]] = set()
    for edge in edges:
        if edge.kind is Kind.END or edge.target is None:
            continue
        activity = {Kind.USED: edge.source, Kind.GENERATED: edge.target}.get(edge.kind)
        if attempts and activity is not None and (activity, edge.attempt) not in ended:
            continue
        ends: list[tuple[object, ...]] = [("entity", edge.source), ("entity", edge.target)]
        if activity is not None:
            place = 0 if edge.kind is Kind.USED else 1
            ends[place] = ("activity", activity, edge.attempt if attempts else 0)
        source, target = (numbers.setdefault(end, len(numbers)) for end in ends)
        if source != target:  # an edge to itself says nothing, and is told
            facts.add((source, target))
    entities: dict[int, Name] = {
        n: end[1]  # type: ignore[misc]
        for end, n in numbers.items()
        if end[0] == "entity"
    }
    in_edges = {node for edge in facts for node in edge}
    found = evaluate(
        _program(),
        {
            "edge": facts,
            "entity": {(n,) for n in entities if n in in_edges},
            "asked_input": {(n,) for n, name in entities.items() if name[0] in inputs},
            "asked_output": {(n,) for n, name in entities.items() if name[0] in outputs},
        },
    )["pair"]
    pairs = {(entities[int(o)], entities[int(i)]) for o, i in found}  # type: ignore[arg-type]
    return {(o, i) for o, i in pairs if not (o[0].startswith(INNER) or i[0].startswith(INNER))}


def _settled(edge: Edge) -> Edge:
    """Return the edge between the nodes that the printed names are read as."""
    target = None if edge.target is None else canonical(*edge.target)
    return replace(edge, source=canonical(*edge.source), target=target)
