"""The inputs: graphs made from a size and a fixed seed, the same on every machine.

Rows are tuples whose first two columns are nodes; a third column is a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TypeAlias

Row: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[int, int]
Facts: TypeAlias = dict[str, list[Row]]


def _distinct(count: int, draw: Callable[[], Pair]) -> list[Pair]:
    """Return the first `count` different pairs drawn that are not loops, sorted."""
    found: set[Pair] = set()
    while len(found) < count:
        pair = draw()
        if pair[0] != pair[1]:
            found.add(pair)
    return sorted(found)


def _uniform(rng: Random, nodes: int) -> Callable[[], Pair]:
    return lambda: (rng.randrange(nodes), rng.randrange(nodes))


def random_graph(nodes: int) -> Facts:
    """Five random edges per node: nearly every node reaches nearly every other."""
    return {"edge": [*_distinct(5 * nodes, _uniform(Random(1), nodes))]}


def grid(side: int) -> Facts:
    """A square of nodes with edges to the right and down: many ways to the same pair."""
    cells = range(side * side)
    right = ((v, v + 1) for v in cells if (v + 1) % side)
    down = ((v, v + side) for v in cells if v + side < side * side)
    return {"edge": sorted((*right, *down))}


def chain(nodes: int) -> Facts:
    """One path: as many rounds as nodes, and each pair derived once."""
    return {"edge": [(v, v + 1) for v in range(nodes - 1)]}


def scale_free(nodes: int) -> Facts:
    """Three edges from each node to earlier ones, with three chances in ten to a popular one."""
    rng = Random(7)
    mentions: list[int] = []
    edges: set[Row] = set()
    for node in range(nodes):
        for _ in range(3 if node else 0):
            popular = rng.random() < 0.3
            target = rng.choice(mentions) if popular else rng.randrange(node)
            edges.add((node, target))
            mentions.append(target)
        mentions.append(node)
    return {"edge": sorted(edges)}


def _layers(nodes: int, growth: float) -> Iterator[range]:
    first, size = 0, 4
    while first < nodes:
        yield range(first, min(nodes, first + size))
        first, size = first + size, int(size * growth)


def family(people: int) -> Facts:
    """Generations that grow by half, where a child has one or two parents in the one before."""
    rng = Random(3)
    rows: set[Row] = set()
    elders: range | None = None
    for generation in _layers(people, 1.5):
        if elders is not None:
            for child in generation:
                parents = rng.sample(elders, min(len(elders), rng.choice([1, 1, 2])))
                rows.update((child, parent) for parent in parents)
        elders = generation
    return {"parent": sorted(rows)}


def pointer_program(variables: int) -> Facts:
    """Statements of a C-like program, most of them between variables declared near each other."""
    rng = Random(11)
    anywhere = _uniform(rng, variables)

    def nearby() -> Pair:
        left = rng.randrange(variables)
        right = left + int(rng.gauss(0, 40))
        return left, min(max(right, 0), variables - 1)

    def statements(count: int) -> list[Row]:
        return [*_distinct(count, lambda: nearby() if rng.random() < 0.95 else anywhere())]

    return {
        "addressOf": statements(variables // 2),
        "assign": statements(variables),
        "load": statements(variables // 6),
        "store": statements(variables // 6),
    }


def function_bodies(variables: int, locals_: int = 30) -> Facts:
    """Assignments inside functions and between them, and cells that variables point at.

    Cell `variables + v` is what variable v points at.
    """
    rng = Random(13)
    assign: set[Row] = set()
    for v in range(variables):
        first = v - v % locals_
        if rng.random() < 0.75 and v != first:
            assign.add((v, rng.randrange(first, v)))
        if rng.random() < 0.35:
            assign.add((v, rng.randrange(variables)))
    dereference: set[Row] = set()
    for v in range(variables):
        if rng.random() < 0.5:
            dereference.add((v, variables + v))
        if rng.random() < 0.1:
            owner = rng.randrange(variables // locals_)
            dereference.add((v, variables + owner * locals_))
    return {"assign": sorted(assign), "dereference": sorted(dereference)}


def roads(nodes: int) -> Facts:
    """Four random edges per node with weights from 1 to 100."""
    edges = _distinct(4 * nodes, _uniform(Random(5), nodes))
    rng = Random(5)
    return {"edge": [(a, b, rng.randint(1, 100)) for a, b in edges]}


def node_count(facts: Iterable[list[Row]]) -> int:
    """Return one more than the highest node."""
    return 1 + max((node for rows in facts for row in rows for node in row[:2]), default=-1)
