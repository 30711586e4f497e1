"""The exact reducer: any order, repeated events, entities used many times, cycles.

It holds the stream as a graph. At the end, or when it is told that something is complete, nodes
between inputs and outputs leave the graph by contraction. What has not been told to be complete
stays: no order of arrival can make it wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whence.diagnostics import Diagnostic
from whence.lineage.reduce import kernels as k
from whence.lineage.reduce.contract import Contraction, Sorted
from whence.lineage.reduce.counts import Counts
from whence.lineage.reduce.forget import forget
from whence.lineage.reduce.graph import Graph
from whence.lineage.reduce.links import links
from whence.lineage.reduce.spill import Arena

Array = np.ndarray[Any, Any]

_SHOWN: Final = 8
FORGET_EVERY: Final = 1 << 18


class Exact:
    """Reduces a stream of `EDGES` to exactly the pairs of its definition.

    `inputs` and `outputs` are spaces whose entities count as such even if something in the
    stream generated or used them. With `attempts`, only executions with an end marker count.
    `watermark` is how many seconds after its end marker an execution may still be spoken of;
    None means that it may be at any time. `memory` is the most bytes of state in memory, and
    `forget_every` how many edges come before it is looked for something to forget.
    """

    def __init__(
        self,
        *,
        attempts: bool = False,
        inputs: Collection[str] = (),
        outputs: Collection[str] = (),
        watermark: float | None = None,
        memory: int | None = None,
        folder: Path | str | None = None,
        forget_every: int = FORGET_EVERY,
    ) -> None:
        self.arena = Arena(memory, folder)
        self.delay = None if watermark is None else int(watermark * 1_000_000)
        self.graph = Graph(self.arena, attempts=attempts, timed=watermark is not None)
        self.inputs, self.outputs = frozenset(inputs), frozenset(outputs)
        self.counts = Counts()
        self.diagnostics: list[Diagnostic] = []
        self._closed = False
        self._forget_every = self._forget_at = forget_every
        self._ready: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of `EDGES`."""
        self.add_only(batch)
        if self.graph.edges >= self._forget_at and (self._closed or self.delay is not None):
            self.forget()

    def add_only(self, batch: pa.RecordBatch) -> None:
        """Take in a batch and forget nothing."""
        self.graph.add(batch, self.delay)
        self.counts.rows += batch.num_rows
        self._measure()

    def close(self, *spaces: str) -> None:
        """Promise that no further event speaks of entities or activities of these spaces."""
        for space in spaces:
            code = self.graph.space(space)
            self.graph.closed[:, code] = True
        self._closed = True

    def forget(self) -> None:
        """Let go what is complete: ended executions past the watermark, and closed spaces."""
        self._ready += forget(self.graph, self.delay, self.inputs | self.outputs)
        # What stays is looked at again only when there is as much besides.
        self._forget_at = self.graph.edges + max(self._forget_every, self.graph.edges)

    def drain(self) -> list[pa.RecordBatch]:
        """Return the links that are final already and were not returned before."""
        ready, self._ready = self._ready, []
        self.counts.links += sum(batch.num_rows for batch in ready)
        return ready

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Give the rest of the reduced graph, in batches of `REDUCED`; the stream is over."""
        graph = self.graph
        yield from self.drain()
        if graph.attempts:
            before = graph.edges
            graph.state[k.EDGES] = k.drop_uncommitted(
                graph.edge_source, graph.edge_target, before, graph.keys, graph.flags
            )
            self.counts.uncommitted = before - graph.edges
        edges = Sorted(graph)
        role, names, edges = self._roles(edges)
        final = self.arena.full(edges.nodes, 1, np.bool_)
        contraction = Contraction(edges, role, final, merge=True)
        self._tell(contraction.cycles)
        for sources, targets in contraction.rows():
            batch = links(graph, role, names, sources, targets)
            self.counts.links += batch.num_rows
            self._measure()
            yield batch

    def _roles(self, edges: Sorted) -> tuple[Array, Array | None, Sorted]:
        """Return what each node is, which node's name it has if not its own, and the edges.

        An entity that is declared an input or an output although something generated or used it
        is there twice: as what it is in between, and as an end.
        """
        graph, nodes = self.graph, edges.nodes
        role = self.arena.empty(nodes, np.uint8)
        k.find_ends(graph.keys, graph.flags, edges.offsets, edges.incoming, role)
        if not self.inputs and not self.outputs:
            return role, None, edges
        entity = (graph.keys[:nodes] & k.ACTIVITY) == 0
        outgoing = edges.outgoing
        between = entity & (outgoing > 0)
        asked = self._declared(self.inputs, nodes) & (edges.incoming > 0)
        role[entity & ~between & asked] = k.TERMINAL  # what made it may be forgotten
        extra_in = between & asked
        extra_out = between & (role != k.ROOT) & self._declared(self.outputs, nodes)
        ins, outs = np.flatnonzero(extra_in), np.flatnonzero(extra_out)
        names = np.arange(nodes + len(ins) + len(outs), dtype=np.int32)
        if not len(ins) and not len(outs):
            return role, names, edges
        names[nodes:] = np.concatenate([ins, outs])
        spans = [edges.targets[edges.offsets[n] : edges.offsets[n + 1]] for n in outs.tolist()]
        copies = np.repeat(np.arange(nodes + len(ins), len(names), dtype=np.int32), outgoing[outs])
        source = np.concatenate([ins.astype(np.int32), copies])
        target = np.concatenate([names[:0], np.arange(nodes, nodes + len(ins)), *spans])
        begin = graph.edges
        graph.make_room(begin + len(source))
        graph.edge_source[begin : begin + len(source)] = source
        graph.edge_target[begin : begin + len(source)] = target
        graph.state[k.EDGES] = begin + len(source)
        edges.free()
        tail = np.repeat(np.array([k.TERMINAL, k.ROOT], np.uint8), [len(ins), len(outs)])
        return np.concatenate([role, tail]), names, Sorted(graph, len(names))

    def _declared(self, spaces: Collection[str], nodes: int) -> Array:
        found: Array = self.graph.spaces_in(spaces)[self.graph.space_of(slice(nodes))]
        return found

    def _measure(self) -> None:
        self.counts.most_nodes = max(self.counts.most_nodes, self.graph.nodes)
        self.counts.spilled = max(self.counts.spilled, self.arena.spilled)
        self.counts.late = self.graph.late

    def _tell(self, cycles: list[Array]) -> None:
        """Note what is wrong with the stream; the pairs are right all the same."""
        graph = self.graph
        for cycle in cycles[:_SHOWN]:
            names = [f"`{graph.name(int(node))}`" for node in cycle[:_SHOWN].tolist()]
            more = f" and {len(cycle) - _SHOWN:,} more" if len(cycle) > _SHOWN else ""
            told = f"{', '.join(names)}{more} depend on each other"
            hint = "what others depend on through them is kept; look for names that are used twice"
            self._warn("W1123", told, hint)
        if len(cycles) > _SHOWN:
            self._warn("W1123", f"there are {len(cycles) - _SHOWN:,} more cycles", "")
        selves = int(graph.state[k.SELVES])
        if selves:
            told = f"{selves:,} edges lead from a node to itself, such as `{graph.itself}`"
            self._warn("W1124", told, "they say nothing and are left out")
        if graph.late:
            told = f"{graph.late:,} events came too late and are left out"
            self._warn("W1125", told, "allow a longer delay, or close spaces later")

    def _warn(self, code: str, message: str, hint: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, hint=hint, severity="warning"))
