"""Graphs of several shapes, and updates of them; made from fixed seeds, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from benchmarks.inputs import grid

Edge: TypeAlias = tuple[int, int]
Edges: TypeAlias = list[Edge]


@dataclass(frozen=True, slots=True)
class Shape:
    """A graph; deletes take the edges of `weak` first: those on which most depends."""

    name: str
    edges: Edges
    weak: tuple[Edge, ...] = ()


def random_edges(nodes: int, count: int, seed: int = 1) -> Edges:
    """Different edges between different nodes, each as likely as any other."""
    rng = Random(seed)
    found: dict[Edge, None] = {}
    while len(found) < count:
        edge = rng.randrange(nodes), rng.randrange(nodes)
        if edge[0] != edge[1]:
            found[edge] = None
    return sorted(found)


def ring(nodes: range) -> Edges:
    """One cycle through all nodes."""
    return [*zip(nodes, [*nodes[1:], nodes[0]], strict=True)]


def _sparse(scale: int) -> Shape:
    nodes = 1000 // scale
    return Shape(f"sparse, {nodes:,} nodes, degree 2", random_edges(nodes, 2 * nodes))


def _dense(scale: int) -> Shape:
    nodes, degree = 200 // scale, 50 // scale
    return Shape(f"dense, {nodes} nodes, degree {degree}", random_edges(nodes, nodes * degree))


def _dag(scale: int) -> Shape:
    nodes = 1000 // scale
    edges = {(min(e), max(e)) for e in random_edges(nodes, 3 * nodes)}
    return Shape(f"DAG, {nodes:,} nodes, degree 3", sorted(edges))


def _grid(scale: int) -> Shape:
    side = 40 // scale
    return Shape(f"grid, {side} × {side}", [(x, y) for x, y, *_ in grid(side)["edge"]])


def _chord(scale: int) -> Shape:
    nodes = 2000 // scale
    chord = (0, nodes // 2)
    return Shape(f"ring of {nodes:,} with a chord", [*ring(range(nodes)), chord], (chord,))


def _cycles(scale: int) -> Shape:
    """Cycles in a row, each with a way to the next and a way back, and some other links."""
    cycles, length = 20, 50 // scale
    edges = [edge for c in range(cycles) for edge in ring(range(c * length, (c + 1) * length))]
    there = [(c * length, (c + 1) * length) for c in range(cycles - 1)]
    back = [((c + 1) * length + 2, c * length + 1) for c in range(cycles - 1)]
    others = random_edges(cycles * length, cycles)
    return Shape(
        f"{cycles} cycles of {length}, joined",
        sorted({*edges, *there, *back, *others}),
        tuple(back[:1]),
    )


SHAPES: dict[str, Callable[[int], Shape]] = {
    "sparse": _sparse,
    "dense": _dense,
    "dag": _dag,
    "grid": _grid,
    "chord": _chord,
    "cycles": _cycles,
}


@dataclass(frozen=True, slots=True)
class Updates:
    """Edges that go and edges that come."""

    name: str
    goes: Edges
    comes: Edges


def updates_of(shape: Shape, seed: int = 2) -> list[Updates]:
    """Batches of several sizes."""
    rng = Random(seed)
    rest = [edge for edge in shape.edges if edge not in shape.weak]
    going = [*shape.weak, *rng.sample(rest, len(rest))]
    nodes = sorted({node for edge in shape.edges for node in edge})
    held = set(shape.edges)
    acyclic = all(x < y for x, y in shape.edges)
    coming: Edges = []
    while len(coming) < 50:
        edge = rng.choice(nodes), rng.choice(nodes)
        if edge[0] != edge[1] and edge not in held and (edge[0] < edge[1] or not acyclic):
            held.add(edge)
            coming.append(edge)
    tenth = max(1, len(shape.edges) // 10)
    return [
        Updates("1 goes", going[:1], []),
        Updates("1 comes", [], coming[:1]),
        Updates("10 go", going[:10], []),
        Updates("100 go", going[:100], []),
        Updates("10 % go", going[:tenth], []),
        Updates("50 go, 50 come", going[:50], coming),
    ]
