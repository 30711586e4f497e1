"""Contraction: inner nodes leave a graph, and what is reached through them stays reached.

The order is dependencies first. A node where joining would cost more edges than it saves stays
as a group node. Cycles are found on the way, and each is taken as one node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from whence.lineage.reduce import kernels as k
from whence.lineage.reduce.graph import Graph

Array = np.ndarray[Any, Any]

_CHUNK: Final = 1 << 18


class Sorted:
    """The edges of a graph by source, each once, and how many come into each node."""

    def __init__(self, graph: Graph, nodes: int | None = None) -> None:
        arena = graph.arena
        self.graph = graph
        self.nodes = graph.nodes if nodes is None else nodes
        self.offsets = arena.full(self.nodes + 1, 0, np.int64)
        self.targets = arena.empty(graph.edges, np.int32)
        self.incoming = arena.full(self.nodes, 0, np.int32)
        stamp = arena.full(self.nodes, -1, np.int32)
        self.edges = k.by_source(
            graph.edge_source,
            graph.edge_target,
            graph.edges,
            self.offsets,
            self.targets,
            stamp,
            self.incoming,
        )
        arena.free(stamp)

    @property
    def outgoing(self) -> Array:
        """How many edges go out of each node."""
        found: Array = np.diff(self.offsets)
        return found

    def sources(self) -> Array:
        """Return the source of each edge."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.outgoing)

    def free(self) -> None:
        """Give the room back."""
        self.graph.arena.free(self.offsets, self.targets, self.incoming)


class Contraction:
    """One contraction of a graph whose nodes have roles.

    `cycles` are the nodes on cycles, by cycle: with `merge` each becomes one node, else they are
    kept. Roles become `GROUP` where nodes stay as groups.
    """

    def __init__(self, edges: Sorted, role: Array, final: Array, *, merge: bool = False) -> None:
        self.graph, self.role, self.final = edges.graph, role, final
        self.cycles: list[Array] = []
        self._edges = edges
        self._arena = self.graph.arena
        self._live = self._arena.full(edges.nodes, 0, np.int32)
        self._order = self._arena.empty(edges.nodes, np.int32)
        count = self._sort()
        if count < edges.nodes:
            self.cycles, names = self._find_cycles()
            graph, nodes = self.graph, edges.nodes
            if merge:  # the graph itself changes: what is left of a cycle is its first node
                graph.state[k.EDGES] = k.rename(
                    graph.edge_source, graph.edge_target, graph.edges, names
                )
            else:
                role[np.concatenate(self.cycles)] = k.KEPT
            edges.free()
            self._edges = Sorted(graph, nodes)
            self._live[:] = 0
            count = self._sort()
        self._order = self._order[:count]

    def _sort(self) -> int:
        found: int = k.dependents_first(
            self._edges.offsets,
            self._edges.targets,
            self._edges.incoming,
            self.role,
            self._live,
            self._order,
        )
        return found

    def _find_cycles(self) -> tuple[list[Array], Array]:
        edges, arena = self._edges, self._arena
        component = arena.empty(edges.nodes, np.int32)
        low, stack, calls = (arena.full(edges.nodes, -1, np.int32) for _ in range(3))
        cursor = arena.empty(edges.nodes, np.int64)
        k.components(
            edges.offsets, edges.targets, edges.incoming, component, low, stack, calls, cursor
        )
        arena.free(low, stack, calls, cursor)
        members = np.bincount(component, minlength=edges.nodes)
        on_cycles = np.flatnonzero(members[component] > 1)
        first = component[on_cycles]
        by_cycle = on_cycles[np.argsort(first, kind="stable")]
        borders = np.flatnonzero(np.diff(component[by_cycle])) + 1
        cycles = [c for c in np.split(by_cycle, borders) if len(c)]
        return cycles, component

    def rows(self) -> Iterator[tuple[Array, Array]]:
        """Give the edges that remain: sources and targets, all of a source together."""
        edges, arena = self._edges, self._arena
        stands = arena.full(edges.nodes, -1, np.int32)
        kept = np.flatnonzero(self.role[: edges.nodes] == k.KEPT)
        stands[kept] = kept
        size = arena.empty(edges.nodes, np.int32)
        stamp = arena.full(edges.nodes, -1, np.int32)
        stack = arena.empty(edges.nodes + 1, np.int32)
        sources, targets = arena.empty(_CHUNK, np.int32), arena.empty(_CHUNK, np.int32)
        state = np.zeros(3, np.int64)
        done = False
        while not done:
            done = k.contract(
                self._order,
                edges.offsets,
                edges.targets,
                self._live,
                self.role,
                stands,
                size,
                stamp,
                stack,
                self.final,
                sources,
                targets,
                state,
            )
            count = int(state[k.EMITTED])
            if count:
                yield sources[:count], targets[:count]
            state[k.EMITTED] = 0
            if not done and state[2] > len(sources):
                arena.free(sources, targets)
                length = int(state[2])
                sources, targets = arena.empty(length, np.int32), arena.empty(length, np.int32)
        arena.free(stands, size, stamp, stack, sources, targets, self._live, self._order)
        edges.free()


def contracted(graph: Graph, edges: Sorted, role: Array, final: Array) -> tuple[Array, Array]:
    """Return the edges that remain when inner nodes that are on no cycle leave.

    Through an inner node on a cycle a kept one would depend on itself, which an edge cannot say.
    """
    role_before, final_before = role.copy(), final.copy()
    source, target = _all(Contraction(edges, role, final))
    if (source == target).any():
        role[:], final[:] = role_before, final_before
        whole = Contraction(Sorted(graph), np.zeros(len(role), np.uint8), final.copy())
        role[np.concatenate(whole.cycles)] = k.KEPT
        source, target = _all(Contraction(Sorted(graph), role, final))
    return source, target


def _all(contraction: Contraction) -> tuple[Array, Array]:
    none = np.empty(0, np.int32)
    parts = [(sources.copy(), targets.copy()) for sources, targets in contraction.rows()]
    return np.concatenate([none, *(s for s, _ in parts)]), np.concatenate(
        [none, *(t for _, t in parts)]
    )
