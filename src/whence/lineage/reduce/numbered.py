"""Edges as pairs of small numbers, for reducers that take them one by one in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whence.lineage.events import Kind, make_batch
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

    def links(self, pairs: list[Pair]) -> pa.RecordBatch:
        """Return pairs of entities as links."""
        ends = np.array(pairs, np.int32).reshape(-1, 2)
        ends = ends[~self.is_activity(ends).any(axis=1)]
        role = np.zeros(self.graph.nodes, np.uint8)
        return links(self.graph, role, None, ends[:, 0], ends[:, 1])

    def edges(self, pairs: list[Pair]) -> pa.RecordBatch:
        """Return pairs of nodes as edges; an edge between two entities is a derivation."""
        ends = np.array(pairs, np.int32).reshape(-1, 2)
        active = self.is_activity(ends)
        both = active.all(axis=1)  # what disorder leaves of two executions is no PROV
        ends, active = ends[~both], active[~both]
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
            # One flush is one group to the reducer behind: it looks at all before it removes any.
            group=0,
        )


def _to_itself(batch: pa.RecordBatch) -> Array:
    """Say which edges lead from an entity to itself."""
    kind = batch.column(0).to_numpy()
    spaces = [batch.column(i).cast(pa.utf8()).to_numpy(zero_copy_only=False) for i in (1, 3)]
    same = (spaces[0] == spaces[1]) & (batch.column(2).to_numpy() == batch.column(4).to_numpy())
    found: Array = same & (kind != Kind.USED) & (kind != Kind.GENERATED)
    return found
