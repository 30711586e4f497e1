"""Annotations that are numbers of a chain, solved in arrays: labels are corrected round by round.

Each round takes all instances that read a number which got better. The numbers are those that
best-first search gives: the best over all derivations, multiplied in the order of premises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.semiring.base import Chain, Semiring, Times
from whence.semiring.hypergraph import Ints
from whence.semiring.order import NARROW, Check, Shape, distinct

Floats = NDArray[np.float64]

EXACT = float(1 << 53)
"""Whole numbers up to this are exact as floats."""

MAX_CORRECTIONS = 40
"""Times that instances are taken on average, beyond which best first is quicker."""

MAX_NARROW = 2_000
"""Rounds with a few nodes each, beyond which one node at a time is quicker."""


def solve_chain(
    shape: Shape, semiring: Semiring[Any], chain: Chain, leaves: Sequence[Any], check: Check
) -> list[Any] | None:
    """Return the annotation of each node, None where arrays would be slow or not exact."""
    whole = any(isinstance(leaf, int) for leaf in leaves)
    if whole and any(isinstance(leaf, int) and leaf > EXACT for leaf in leaves):
        return None
    values = _corrected(shape, chain, np.array(leaves, dtype=np.float64), check)
    if values is None or (whole and _beyond_exact(values)):
        return None
    found = values.tolist()
    return [bool(v) for v in found] if isinstance(semiring.one, bool) else found


def _beyond_exact(values: Floats) -> bool:
    return bool((np.isfinite(values) & (values > EXACT)).any())


def _corrected(shape: Shape, chain: Chain, values: Floats, check: Check) -> Floats | None:
    graph = shape.graph
    lengths = np.diff(graph.start)
    best = np.minimum if chain.least else np.maximum
    values[graph.heads[lengths == 0]] = chain.one
    frontier = np.flatnonzero(values != chain.zero)
    left, narrow = MAX_CORRECTIONS * graph.instances, MAX_NARROW
    while frontier.shape[0]:
        check()
        readers = distinct(shape.reading.of(frontier), graph.instances)
        left -= readers.shape[0]
        narrow -= frontier.shape[0] <= NARROW
        if left < 0 or narrow < 0:
            return None
        products = _products(shape, chain.times, readers, lengths[readers], values)
        heads = graph.heads[readers]
        better = np.less if chain.least else np.greater
        kept = better(products, values[heads])
        heads = heads[kept]
        best.at(values, heads, products[kept])
        frontier = distinct(heads, graph.nodes)
    return values


def _products(shape: Shape, times: Times, instances: Ints, lengths: Ints, values: Floats) -> Floats:
    """Return the product of each instance, multiplied in the order of its premises."""
    graph = shape.graph
    found = np.empty(instances.shape[0])
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        at = graph.start[instances[chosen]]
        product = values[graph.premises[at]]
        for place in range(1, length):
            product = _times(times, product, values[graph.premises[at + place]])
        found[chosen] = product
    return found


def _times(times: Times, a: Floats, b: Floats) -> Floats:
    match times:
        case Times.ADD:
            with np.errstate(over="ignore"):
                return a + b
        case Times.MULTIPLY:
            with np.errstate(under="ignore"):
                return a * b
        case Times.LEAST:
            return np.minimum(a, b)
        case Times.GREATEST:
            return np.maximum(a, b)
        case Times.BOUNDED:
            return np.maximum(0.0, np.minimum(a, b) - (1.0 - np.maximum(a, b)))
