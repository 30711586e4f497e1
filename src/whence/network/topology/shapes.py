"""Topologies without chance: lines, rings, stars, grids, trees and complete graphs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from whence.network.topology.model import Link, Topology, names


def line(nodes: int) -> Topology:
    """Return nodes in a row.

    >>> [(link.source, link.target) for link in line(3).links]
    [('n0', 'n1'), ('n1', 'n2')]
    """
    return _shape("line", nodes, ((i, i + 1) for i in range(nodes - 1)))


def ring(nodes: int) -> Topology:
    """Return nodes in a circle; two have one link."""
    pairs = [(i, i + 1) for i in range(nodes - 1)]
    return _shape("ring", nodes, [*pairs, (nodes - 1, 0)] if nodes > 2 else pairs)


def star(nodes: int) -> Topology:
    """Return nodes around the first."""
    return _shape("star", nodes, ((0, i) for i in range(1, nodes)))


def complete(nodes: int) -> Topology:
    """Return nodes with a link between any two."""
    return _shape("complete", nodes, combinations(range(nodes), 2))


def tree(nodes: int, fanout: int = 2) -> Topology:
    """Return a tree that is filled level by level."""
    return _shape("tree", nodes, (((i - 1) // fanout, i) for i in range(1, nodes)))


def grid(nodes: int) -> Topology:
    """Return a grid as square as its number of nodes lets it be; the last row may be short."""
    wide = max(1, round(nodes**0.5))
    right = ((i, i + 1) for i in range(nodes - 1) if (i + 1) % wide)
    return _shape("grid", nodes, [*right, *((i, i + wide) for i in range(nodes - wide))])


def _shape(name: str, nodes: int, pairs: Iterable[tuple[int, int]]) -> Topology:
    called = names(nodes)
    return Topology(name, called, tuple(Link(called[a], called[b]) for a, b in pairs))
