"""What a traced job wrote, as rows with the inputs that each comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from whence.lineage.capture.tracer import Tracer
from whence.lineage.events import Edge, Kind, edges_of

Name: TypeAlias = tuple[str, int]
Rows: TypeAlias = "Counter[tuple[Any, frozenset[Name]]]"


def edges(tracer: Tracer) -> list[Edge]:
    """Return all edges of the run."""
    parts = tracer.log.topic(tracer.topic).partitions
    return [
        edge
        for partition in range(parts)
        for _, batch in tracer.log.read(tracer.topic, partition)
        for edge in edges_of(batch)
    ]


def inputs_of(found: Iterable[Edge], inputs: set[str]) -> dict[Name, frozenset[Name]]:
    """Return for each entity the inputs that it reaches, by walking over committed edges."""
    found = list(found)
    ended = {(edge.source, edge.attempt) for edge in found if edge.kind is Kind.END}
    next_to: dict[object, set[object]] = {}
    for edge in found:
        if edge.target is None:
            continue
        source, target = ("entity", edge.source), ("entity", edge.target)
        if edge.kind is Kind.USED:
            assert (edge.source, edge.attempt) in ended, f"{edge} has no end"
            source = ("activity", edge.source)
        if edge.kind is Kind.GENERATED:
            assert (edge.target, edge.attempt) in ended, f"{edge} has no end"
            target = ("activity", edge.target)
        next_to.setdefault(source, set()).add(target)
    out = {}
    for node in list(next_to):
        kind, name = node  # type: ignore[misc]
        seen, stack = {node}, [node]
        while stack:
            for other in next_to.get(stack.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        if kind == "entity":
            out[name] = frozenset(n for k, n in seen if k == "entity" and n[0] in inputs)  # type: ignore[misc]
    return out


def rows_of(tracer: Tracer, rows: Iterable[Any], inputs: set[str], space: str = "") -> Rows:
    """Return collected rows, each with its inputs; the numbers of rows ascend as they come."""
    reached = inputs_of(edges(tracer), inputs)
    made = sorted(
        name for name in reached if (name[0] == space if space else name[0].endswith("/row"))
    )
    plain = [tuple(row) if isinstance(row, tuple) else row for row in rows]
    assert len(made) == len(plain), f"{len(made)} rows are told, {len(plain)} were given"
    return Counter((_plain(row), reached[name]) for row, name in zip(plain, made, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value


def expected(pairs: Iterable[tuple[Any, Iterable[Name]]]) -> Rows:
    """Return rows with their inputs as they should be."""
    return Counter((_plain(row), frozenset(inputs)) for row, inputs in pairs)
