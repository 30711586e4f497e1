"""Edges as pairs of small numbers, for reducers that take them one by one in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whence.lineage.events import Kind, make_batch
from whence.lineage.names import INNER, WHOLE
from whence.lineage.reduce import kernels as k
from whence.lineage.reduce.graph import Graph, attempts_of
from whence.lineage.reduce.links import links
from whence.lineage.reduce.spill import Arena

Array = np.ndarray[Any, Any]
Pair = tuple[int, int]


class Numbered:
    """Numbers nodes as they come; edges to themselves and end markers are left out."""

    def __init__(self, attempts: bool) -> None:
        self.graph = Graph(Arena(), attempts=attempts, timed=False)

    def pairs(self, batch: pa.RecordBatch) -> tuple[list[Pair], Array]:
        """Return the edges of a batch, and the groups they belong to."""
        kind = batch.column(0).to_numpy()
        batch = batch.filter(pa.array(kind != Kind.END))
        sources, targets, rows = self._ends(batch)
        pairs = list(zip(sources.tolist(), targets.tolist(), strict=True))
        return pairs, batch.column(5).to_numpy()[rows]

    def _ends(self, batch: pa.RecordBatch) -> tuple[Array, Array, Array]:
        """Return the two nodes of each edge, and its row."""
        graph = self.graph
        graph.state[k.EDGES] = 0  # only the newest edges are asked for
        selves = int(graph.state[k.SELVES])
        graph.add(batch, None)
        rows = np.arange(batch.num_rows)
        if graph.state[k.SELVES] > selves:
            rows = np.flatnonzero(~_to_itself(batch))
        return graph.edge_source[: graph.edges], graph.edge_target[: graph.edges], rows

    def is_activity(self, nodes: Array) -> Array:
        """Say which nodes are activities."""
        found: Array = (self.graph.keys[nodes] & k.ACTIVITY) > 0
        return found

    def _told(self, ends: Array) -> Array:
        """Return pairs of which none is two activities."""
        both = self.is_activity(ends).all(axis=1)
        if not both.any():
            return ends
        one, other = ends[both, 0], ends[both, 1]
        names = [f"{INNER}{self._name(a)} {self._name(b)}" for a, b in ends[both].tolist()]
        made = make_batch(
            kind=int(Kind.DERIVED),
            source_space=names,
            source=np.full(len(names), WHOLE, np.int64),
            target_space=INNER,
            target=np.full(len(names), WHOLE, np.int64),
        )
        between, _, _ = self._ends(made)
        parts = [ends[~both], np.stack([one, between], 1), np.stack([between, other], 1)]
        found: Array = np.concatenate(parts)
        return found

    def _name(self, node: int) -> str:
        """Return the name of an activity, with its attempt."""
        return f"{self.graph.name(node)}@{attempts_of(self.graph.keys[node : node + 1])[0]}"

    def links(self, pairs: list[Pair]) -> pa.RecordBatch:
        """Return pairs of entities as links."""
        ends = np.array(pairs, np.int32).reshape(-1, 2)
        ends = ends[~self.is_activity(ends).any(axis=1)]
        role = np.zeros(self.graph.nodes, np.uint8)
        return links(self.graph, role, None, ends[:, 0], ends[:, 1])

    def edges(self, pairs: list[Pair]) -> pa.RecordBatch:
        """Return pairs of nodes as edges; an edge between two entities is a derivation.

        Where the one end of an entity was passed on before the other came, two executions are
        joined. No edge says that, so there is an inner entity between them again.
        """
        ends = self._told(np.array(pairs, np.int32).reshape(-1, 2))
        group = _groups(ends)
        order = np.argsort(group, kind="stable")  # edges of a group stand together
        ends, group = ends[order], group[order]
        active = self.is_activity(ends)
        kind = np.full(len(ends), Kind.DERIVED, np.uint8)
        kind[active[:, 0]], kind[active[:, 1]] = Kind.USED, Kind.GENERATED
        whose = np.where(active[:, 0], ends[:, 0], ends[:, 1])
        attempt = np.where(kind == Kind.DERIVED, 0, attempts_of(self.graph.keys[whose]))
        spaces = pa.array(self.graph.spaces, pa.utf8())
        codes = self.graph.space_of(ends.reshape(-1)).astype(np.int32).reshape(-1, 2)
        numbers = self.graph.numbers[ends]
        return make_batch(
            kind=pa.array(kind),
            source_space=pa.DictionaryArray.from_arrays(pa.array(codes[:, 0]), spaces),
            source=pa.array(numbers[:, 0]),
            target_space=pa.DictionaryArray.from_arrays(pa.array(codes[:, 1]), spaces),
            target=pa.array(numbers[:, 1]),
            attempt=pa.array(attempt.astype(np.int32)),
            group=pa.array(group),
        )


def _groups(ends: Array) -> Array:
    """Return a number for each edge, the same for edges that hang together.

    The reducer behind looks at all edges of a group before it removes a vertex, so edges that
    share one must not be apart. Others must not be together: of two edges that meet an edge of
    its state from both sides, Algorithm 1 joins each with that edge, and not with the other.
    """
    nodes, places = np.unique(ends, return_inverse=True)
    places = places.reshape(ends.shape)
    least = np.arange(len(nodes))
    while True:
        # The smallest number of a group spreads along edges and then along itself.
        low = least[places].min(axis=1)
        before = least.copy()
        np.minimum.at(least, places[:, 0], low)
        np.minimum.at(least, places[:, 1], low)
        least = least[least]
        if np.array_equal(before, least):
            found: Array = least[places[:, 0]]
            return found


def _to_itself(batch: pa.RecordBatch) -> Array:
    """Say which edges lead from an entity to itself."""
    kind = batch.column(0).to_numpy()
    spaces = [batch.column(i).cast(pa.utf8()).to_numpy(zero_copy_only=False) for i in (1, 3)]
    same = (spaces[0] == spaces[1]) & (batch.column(2).to_numpy() == batch.column(4).to_numpy())
    found: Array = same & (kind != Kind.USED) & (kind != Kind.GENERATED)
    return found
