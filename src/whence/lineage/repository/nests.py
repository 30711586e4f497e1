"""Groups within groups: level by level while they are few, by kernels where they nest deeply.

A running total with an output at every row is a nest as deep as its rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from whence.lineage.repository.compiled import compile_kernels
from whence.lineage.repository.entities import sorted_set, without
from whence.lineage.repository.index import Index, Nodes

SHALLOW: Final = 64
"""Levels after which kernels pay for their loading."""

Marks = npt.NDArray[np.bool_]


def reached(index: Index, groups: Nodes, *, backward: bool) -> Nodes:
    """Return all that is reached from groups through groups: sorted nodes, with themselves."""
    from whence.lineage.repository.kernels.nests import spread

    compile_kernels()
    size = len(index.numbers)
    offsets, others = (
        (index.by_source, index.targets) if backward else (index.by_target, index.sources)
    )
    marked, stack = np.zeros(size, np.bool_), np.empty(size, np.int64)
    marked[groups] = True
    stack[: len(groups)] = groups
    spread(offsets, others, index.grouped(), marked, stack, len(groups))
    return np.flatnonzero(marked)


def inside(index: Index, groups: Nodes, *, backward: bool) -> Nodes:
    """Return groups and all groups that are reached through them."""
    seen = groups
    for _ in range(SHALLOW):
        others = index.split(index.next(groups, backward=backward))[1]
        groups = without(others, seen)
        if not len(groups):
            return seen
        seen = sorted_set(np.concatenate([seen, groups]))
    return index.split(reached(index, seen, backward=backward))[1]


def spread_over(marked: Marks, here: Nodes, there: Nodes) -> Marks:
    """Return the marks with those of `there` handed on to `here`, edge by edge, to the end."""
    for _ in range(SHALLOW):
        more = here[marked[there] & ~marked[here]]
        if not len(more):
            return marked
        marked[more] = True
    from whence.lineage.repository.kernels.nests import spread

    compile_kernels()
    offsets, others = _by(there, here, len(marked))
    stack = np.empty(len(marked), np.int64)
    known = np.flatnonzero(marked)
    stack[: len(known)] = known
    spread(offsets, others, np.ones(len(marked), np.bool_), marked, stack, len(known))
    return marked


def totals(members: npt.NDArray[Any], outer: Nodes, inner: Nodes) -> npt.NDArray[Any]:
    """Return how many inputs each group has, with those of the groups within it."""
    found, size = members, len(members)
    for _ in range(SHALLOW):
        known = members + np.bincount(outer, weights=found[inner], minlength=size)
        if np.array_equal(known, found):
            return found
        found = known
    from whence.lineage.repository.kernels.nests import add_up

    compile_kernels()
    offsets, others = _by(inner, outer, size)
    found, waiting = members.copy(), np.bincount(outer, minlength=size)
    add_up(offsets, others, waiting, found, np.empty(size, np.int64))
    return found


def _by(one: Nodes, other: Nodes, size: int) -> tuple[Nodes, Nodes]:
    """Return edges by their one end: offsets, and the other ends."""
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(one, minlength=size), out=offsets[1:])
    return offsets, other[np.argsort(one, kind="stable")]
