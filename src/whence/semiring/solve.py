"""The annotation of every node of a hypergraph: the sum over its derivations.

Nodes are solved after those they are derived from, each once. What is derived from itself is
solved together, by what the laws of the semiring allow; where they promise no end, it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from whence.semiring.base import Law, Semiring
from whence.semiring.chains import solve_chain
from whence.semiring.counting import Counting
from whence.semiring.cycles import Knot, Step, untie
from whence.semiring.hypergraph import Hypergraph, Ints
from whence.semiring.order import (
    Check,
    Component,
    Cycle,
    Flags,
    Lists,
    Shape,
    components,
    levels,
    restricted,
    shape_of,
    shortest_cycle,
    supported,
)
from whence.semiring.product import Product

T = TypeVar("T")

WIDE = 256
"""Instances from which on arrays are quicker than numbers of Python."""

BLOCK = 1 << 13
"""Nodes whose premises are Python numbers at a time."""

_ROOM = float(1 << 62)
"""Counts below this are surely exact in 64 bits."""


class Endless(Exception):
    """A node is derived from itself, and the semiring does not say what that comes to."""

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(f"nodes {cycle.nodes} are derived from each other")
        self.cycle = cycle


def solve(
    graph: Hypergraph,
    semiring: Semiring[T],
    leaves: Sequence[T],
    check: Check = lambda: None,
) -> list[T]:
    """Return the annotation of each node.

    `leaves` are what nodes are given, zero for those that are not; a node may be given and
    derived as well. `Endless` is raised where annotations would grow for ever.
    """
    if isinstance(semiring, Product):
        # Each dimension is a semiring of its own, with laws that the product may lack.
        parts = (
            solve(graph, dimension, [leaf[place] for leaf in leaves], check)  # type: ignore[index]
            for place, dimension in enumerate(semiring.dimensions)
        )
        return list(zip(*parts, strict=True))  # type: ignore[arg-type]
    given = np.fromiter((v != semiring.zero for v in leaves), np.bool_, count=graph.nodes)
    shape = shape_of(graph)
    found = supported(shape, given)
    kept = _all_of(graph, found)
    if not kept.all():
        # What rests on nothing adds zero, and must not be taken for a cycle that goes on.
        numbers = np.flatnonzero(kept)
        shape = shape_of(restricted(graph, kept))
    else:
        numbers = np.arange(graph.instances)
    return _solve(shape, semiring, leaves, check, numbers)


def _solve(
    shape: Shape, semiring: Semiring[Any], leaves: Sequence[Any], check: Check, numbers: Ints
) -> list[Any]:
    """Solve a graph whose instances all have derivations; `numbers` are those they had before."""
    quick = _in_arrays(shape, semiring, leaves, check)
    if quick is not None:
        return quick
    values = list(leaves)
    done = np.zeros(shape.graph.nodes, dtype=np.bool_)
    for level in levels(shape):
        done[level] = True
        for at in range(0, level.shape[0], BLOCK):
            _add_up(shape, level[at : at + BLOCK], values, semiring)
            check()
    for component in components(shape, np.flatnonzero(~done)):
        if component.cyclic:
            _solve_cycle(shape, component, values, semiring, check, numbers)
        else:
            _add_up(shape, np.array(component.nodes), values, semiring)
    return values


def _in_arrays(
    shape: Shape, semiring: Semiring[Any], leaves: Sequence[Any], check: Check
) -> list[Any] | None:
    """Solve a graph of numbers in arrays, where that is quicker and exact."""
    if shape.graph.instances < WIDE:
        return None
    if type(semiring) is Counting:
        return _count(shape, leaves)
    if semiring.chain is not None:
        return solve_chain(shape, semiring, semiring.chain, leaves, check)
    return None


def _all_of(graph: Hypergraph, found: Flags) -> Flags:
    """Say for each instance whether all of its premises are found."""
    missing = np.zeros(graph.premises.shape[0] + 1, dtype=np.int64)
    np.cumsum(~found[graph.premises], out=missing[1:])
    return np.equal(missing[graph.start[1:]], missing[graph.start[:-1]])


def _add_up(shape: Shape, nodes: Ints, values: list[T], semiring: Semiring[T]) -> None:
    """Add to each node what its instances give it; their premises are solved."""
    graph, one, times = shape.graph, semiring.one, semiring.times
    instances = shape.deriving.of(nodes)
    if not instances.shape[0]:
        return
    premises = iter(Lists(graph.start, graph.premises).of(instances).tolist())
    lengths = iter((graph.start[instances + 1] - graph.start[instances]).tolist())
    for node, count in zip(nodes.tolist(), shape.deriving.sizes(nodes).tolist(), strict=True):
        if not count:
            continue
        parts = [values[node]]
        for _ in range(count):
            length = next(lengths)
            product = values[next(premises)] if length else one
            for _ in range(length - 1):
                product = times(product, values[next(premises)])
            parts.append(product)
        values[node] = semiring.sum(parts)


# ── cycles ──


def _solve_cycle(
    shape: Shape,
    component: Component,
    values: list[T],
    semiring: Semiring[T],
    check: Check,
    numbers: Ints,
) -> None:
    if not semiring.laws & (Law.STABLE | Law.ABSORPTIVE):
        infinite = semiring.infinite
        if infinite is None:
            cycle = shortest_cycle(shape, component)
            raise Endless(Cycle(cycle.nodes, tuple(int(numbers[i]) for i in cycle.instances)))
        for node in component.nodes:
            values[node] = infinite
        return
    found = untie(_knot(shape, component, values, semiring), semiring, check)
    for node, value in zip(component.nodes, found, strict=True):
        values[node] = value


def _knot(
    shape: Shape, component: Component, values: Sequence[T], semiring: Semiring[T]
) -> Knot[T]:
    """Return the component with all that lies outside multiplied out."""
    local = {node: number for number, node in enumerate(component.nodes)}
    nodes = np.array(component.nodes)
    instances = shape.deriving.of(nodes)
    initial = [values[node] for node in component.nodes]
    steps: list[Step[T]] = []
    start, one, times = shape.graph.start, semiring.one, semiring.times
    for at in range(0, instances.shape[0], BLOCK):
        block = instances[at : at + BLOCK]
        premises = iter(Lists(start, shape.graph.premises).of(block).tolist())
        lengths = (start[block + 1] - start[block]).tolist()
        heads = shape.graph.heads[block].tolist()
        for head, length in zip(heads, lengths, strict=True):
            outside, alone, inside = one, True, []
            for _ in range(length):
                premise = next(premises)
                if premise in local:
                    inside.append(local[premise])
                elif alone:
                    outside, alone = values[premise], False
                else:
                    outside = times(outside, values[premise])
            if inside:
                steps.append(Step(local[head], outside, tuple(inside)))
            else:
                initial[local[head]] = semiring.plus(initial[local[head]], outside)
    return Knot(initial, steps)


# ── counts in arrays ──


def _count(shape: Shape, leaves: Sequence[Any]) -> list[Any] | None:
    """Count a graph in 64-bit numbers; None when it has cycles or counts are too large."""
    graph = shape.graph
    if any(value >= _ROOM for value in leaves):
        return None
    values = np.array(leaves, dtype=np.int64)
    done = 0
    for level in levels(shape):
        done += level.shape[0]
        instances = shape.deriving.of(level)
        if not instances.shape[0]:
            continue
        lengths = graph.start[instances + 1] - graph.start[instances]
        factors = values[Lists(graph.start, graph.premises).of(instances)]
        products = _by_list(np.multiply, factors, lengths, 1)
        with np.errstate(over="ignore"):
            rough = _by_list(np.multiply, factors.astype(np.float64), lengths, 1)
        sizes = shape.deriving.sizes(level)
        if (_by_list(np.add, rough, sizes, 0) + values[level] >= _ROOM).any():
            return None
        values[level] += _by_list(np.add, products, sizes, 0)
    return values.tolist() if done == graph.nodes else None


def _by_list(fold: np.ufunc, items: Any, lengths: Ints, neutral: int) -> Any:
    """Fold lists that lie one after the other; an empty one gives the neutral element."""
    found = np.full(lengths.shape[0], neutral, dtype=items.dtype)
    full = lengths > 0
    if full.any():
        starts = (np.cumsum(lengths) - lengths)[full]
        found[full] = fold.reduceat(items, starts)
    return found
