"""Random hypergraphs, and what their nodes are worth by the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from whence.semiring.base import Semiring
from whence.semiring.hypergraph import Hypergraph

Instance = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Small:
    """A few nodes, instances as a head and its premises, and which nodes are given."""

    nodes: int
    instances: tuple[Instance, ...]
    given: frozenset[int]

    @property
    def graph(self) -> Hypergraph:
        return hypergraph(self.nodes, self.instances)

    def leaves(self, semiring: Semiring[Any], values: Sequence[Any]) -> list[Any]:
        """The values of the nodes that are given, zero for the others."""
        return [values[n] if n in self.given else semiring.zero for n in range(self.nodes)]


def hypergraph(nodes: int, instances: Sequence[Instance]) -> Hypergraph:
    lengths = [len(premises) for _, premises in instances]
    return Hypergraph(
        nodes,
        np.array([head for head, _ in instances], dtype=np.int64),
        np.zeros(len(instances), dtype=np.int64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([p for _, premises in instances for p in premises], dtype=np.int64),
    )


@st.composite
def small_graphs(draw: st.DrawFn, *, cyclic: bool = True, most: int = 8) -> Small:
    nodes = draw(st.integers(1, 6))
    found = []
    for _ in range(draw(st.integers(0, most))):
        head = draw(st.integers(0, nodes - 1))
        sources = st.integers(0, nodes - 1 if cyclic else max(head - 1, 0))
        longest = 3 if cyclic or head else 0
        found.append((head, tuple(draw(st.lists(sources, max_size=longest)))))
    return Small(nodes, tuple(found), draw(st.frozensets(st.integers(0, nodes - 1))))


def supported(small: Small) -> set[int]:
    """The nodes that have a derivation."""
    found = set(small.given)
    while True:
        more = {h for h, premises in small.instances if found.issuperset(premises)} - found
        if not more:
            return found
        found |= more


def dependencies(small: Small) -> nx.DiGraph:
    """An edge from each premise to its head, of instances that have derivations."""
    found = supported(small)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(small.nodes))
    for head, premises in small.instances:
        if found.issuperset(premises):
            graph.add_edges_from((premise, head) for premise in premises)
    return graph


def trees(
    small: Small, node: int, above: frozenset[int] = frozenset()
) -> Iterator[tuple[int, ...]]:
    """The leaves of each derivation tree of a node in which no path has a node twice."""
    if node in above:
        return
    if node in small.given:
        yield (node,)
    for head, premises in small.instances:
        if head == node:
            ways = [list(trees(small, premise, above | {node})) for premise in premises]
            for choice in product(*ways):
                yield tuple(leaf for part in choice for leaf in part)


def sum_of_trees(small: Small, node: int, semiring: Semiring[Any], leaves: Sequence[Any]) -> Any:
    total = semiring.zero
    for tree in trees(small, node):
        value = semiring.one
        for leaf in tree:
            value = semiring.times(value, leaves[leaf])
        total = semiring.plus(total, value)
    return total


def by_height(small: Small, semiring: Semiring[Any], leaves: Sequence[Any]) -> list[Any]:
    """The sums over trees of ever greater height, until they change no more."""
    values = [semiring.zero] * small.nodes
    while True:
        after = list(leaves)
        for head, premises in small.instances:
            value = semiring.one
            for premise in premises:
                value = semiring.times(value, values[premise])
            after[head] = semiring.plus(after[head], value)
        if after == values:
            return values
        values = after
