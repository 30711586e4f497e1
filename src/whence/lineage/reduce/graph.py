"""A PROV stream as a graph of numbered nodes: what the exact reducer holds of it.

A node is an entity, or an attempt of an activity. Its number is its place in `numbers` (the
number of its name), `keys` (its space, kind and attempt) and `flags`; edges are pairs of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import DataError, Diagnostic
from whence.lineage.names import INNER, print_name, settled
from whence.lineage.reduce import kernels as k
from whence.lineage.reduce.compiled import WORTH_COMPILING, compile_kernels
from whence.lineage.reduce.spill import Arena

Array = np.ndarray[Any, Any]

NEVER: Final = np.iinfo(np.int64).min
_NODES: Final = 1024
_MOST: Final = 2**31 - 16
_SPACE: Final = (1 << k.SPACE_BITS) - 1


class Graph:
    """Nodes and edges so far, in arrays that grow."""

    def __init__(self, arena: Arena, *, attempts: bool, timed: bool) -> None:
        self.arena = arena
        self.attempts = attempts
        self.timed = timed
        self.spaces: list[str] = []
        self.inner: list[int] = []
        """The numbers of spaces whose entities are neither inputs nor outputs."""
        self.codes: dict[str, int] = {}
        self.closed = np.zeros((2, 64), np.bool_)
        """By space, whether all of its entities, and of its activities, are known."""
        self.state = np.zeros(6, np.int64)
        self.clock: int = NEVER
        """The latest time of an event, in microseconds."""
        self.rows = 0
        self.itself = ""
        """The last node that an edge led from to itself."""
        self._make(_NODES, _NODES)

    def _make(self, nodes: int, edges: int) -> None:
        arena = self.arena
        self.numbers = arena.empty(nodes, np.int64)
        self.keys = arena.empty(nodes, np.int64)
        self.flags = arena.empty(nodes, np.uint8)
        self.ends = arena.empty(nodes if self.timed else 0, np.int64)
        self.slots = arena.full(_table(nodes), -1, np.int32)
        self.edge_source = arena.empty(edges, np.int32)
        self.edge_target = arena.empty(edges, np.int32)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.state[k.NODES])

    @property
    def edges(self) -> int:
        """How many edges there are, repeated ones counted as often as they came."""
        return int(self.state[k.EDGES])

    @property
    def late(self) -> int:
        """Rows that came after what they speak of had been forgotten."""
        return int(self.state[k.LATE])

    def space(self, text: str) -> int:
        """Return the number of a space."""
        code = self.codes.get(text)
        if code is None:
            code = self.codes[text] = len(self.spaces)
            self.spaces.append(text)
            if text.startswith(INNER):
                self.inner.append(code)
            if code >= self.closed.shape[1]:
                self.closed = np.hstack([self.closed, np.zeros_like(self.closed)])
        return code

    def name(self, node: int) -> str:
        """Return the printed name of a node."""
        return print_name(self.spaces[int(self.keys[node]) & _SPACE], int(self.numbers[node]))

    def add(self, batch: pa.RecordBatch, delay: int | None) -> None:
        """Take in the rows of a batch of `EDGES`; `delay` is how late a row may be, if any."""
        self.rows += batch.num_rows
        if self.rows >= WORTH_COMPILING:
            compile_kernels()
        kind = batch.column(0).to_numpy()
        source_space, source_numbers = settled(batch.column(1), batch.column(2))
        target_space, target = settled(batch.column(3), batch.column(4))
        if target.null_count or target_space.null_count or (len(kind) and kind.max() > k.END):
            _check(batch)
        source_codes = self._coded(source_space)
        target_codes = self._coded(target_space)
        source = source_numbers.to_numpy()
        oldest, time = NEVER, source  # nothing is older than never, whatever its time
        if self.timed:
            time = _times(batch.column(8), self.clock)
            if delay is not None and self.clock > NEVER + delay:
                oldest = self.clock - delay
            if len(time):
                self.clock = max(self.clock, int(time.max()))
        self.state[k.ROWS] = 0
        selves = int(self.state[k.SELVES])
        while not k.absorb(
            kind,
            source_codes,
            source,
            target_codes,
            _filled(target),
            batch.column(6).to_numpy(),
            time,
            self.attempts,
            oldest,
            self.closed,
            self.slots,
            self.numbers,
            self.keys,
            self.flags,
            self.ends,
            self.edge_source,
            self.edge_target,
            self.state,
        ):
            self._grow(len(kind))
        if self.state[k.SELVES] > selves:
            self.itself = self.name(int(self.state[k.LAST_SELF]))

    def _coded(self, spaces: pa.DictionaryArray) -> Array:
        texts = spaces.dictionary.to_pylist()
        known = np.array([self.space(text) for text in texts] or [0], np.int32)
        return known[_filled(spaces.indices)]

    def _grow(self, coming: int) -> None:
        nodes, edges = self.nodes, self.edges
        if nodes + 2 > min(len(self.numbers), len(self.slots) // 2):
            size = 2 * len(self.numbers)
            _within(size)
            self.numbers = self.arena.grown(self.numbers, nodes, size)
            self.keys = self.arena.grown(self.keys, nodes, size)
            self.flags = self.arena.grown(self.flags, nodes, size)
            if self.timed:
                self.ends = self.arena.grown(self.ends, nodes, size)
            self.arena.free(self.slots)
            del self.slots
            self.slots = self.arena.full(_table(size), -1, np.int32)
            k.place(self.numbers, self.keys, nodes, self.slots)
        if edges >= len(self.edge_source):
            self.make_room(max(2 * len(self.edge_source), edges + coming))

    def make_room(self, edges: int) -> None:
        """Let there be room for so many edges."""
        if edges > len(self.edge_source):
            _within(edges)
            self.edge_source = self.arena.grown(self.edge_source, self.edges, edges)
            self.edge_target = self.arena.grown(self.edge_target, self.edges, edges)

    def replace(self, kept: Array, source: Array, target: Array) -> None:
        """Keep only these nodes, with new edges between them."""
        names = self.arena.full(self.nodes, -1, np.int32)
        names[kept] = np.arange(len(kept), dtype=np.int32)
        self.arena.free(self.numbers, self.keys, self.flags, self.ends, self.slots)
        self.arena.free(self.edge_source, self.edge_target)
        ends = self.ends[kept] if self.timed else self.ends[:0]
        numbers, keys, flags = self.numbers[kept], self.keys[kept], self.flags[kept]
        self._make(max(_NODES, 2 * len(kept)), max(_NODES, 2 * len(source)))
        self.numbers[: len(kept)], self.keys[: len(kept)] = numbers, keys
        self.flags[: len(kept)] = flags
        if self.timed:
            self.ends[: len(kept)] = ends
        self.edge_source[: len(source)], self.edge_target[: len(target)] = (
            names[source],
            names[target],
        )
        self.arena.free(names)
        self.state[k.NODES], self.state[k.EDGES] = len(kept), len(source)
        k.place(self.numbers, self.keys, len(kept), self.slots)

    def spaces_in(self, texts: Iterable[str]) -> Array:
        """Return, by number of a space, whether it is one of these."""
        found = np.zeros(max(1, len(self.spaces)), np.bool_)
        for text in texts:
            if text in self.codes:
                found[self.codes[text]] = True
        return found

    def space_of(self, nodes: Array | slice) -> Array:
        """Return the numbers of the spaces of nodes."""
        found: Array = self.keys[nodes] & _SPACE
        return found


def attempts_of(keys: Array) -> Array:
    """Return the attempts that keys of activities speak of."""
    found: Array = (keys >> (k.SPACE_BITS + 1)).astype(np.int32)
    return found


def _table(nodes: int) -> int:
    return 1 << (2 * nodes - 1).bit_length()


def _within(size: int) -> None:
    if size > _MOST:
        raise DataError(
            Diagnostic(
                "W1121",
                "more than 2³¹ nodes or edges are open at a time",
                hint="split the stream into topics, or close spaces that are finished",
            )
        )


def _filled(array: pa.Array) -> Array:
    if array.null_count:
        array = pc.fill_null(array, 0)
    found: Array = array.to_numpy()
    return found


def _times(array: pa.Array, clock: int) -> Array:
    """Return times in microseconds; an event without a time happens when it comes."""
    found = array.cast(pa.int64())
    if found.null_count:
        # Others of its batch have come as well: an end must not seem older than they are.
        latest = pc.max(found).as_py()
        now = max((time for time in (clock, latest) if time not in (None, NEVER)), default=0)
        found = pc.fill_null(found, now)
    times: Array = found.to_numpy()
    return times


def _check(batch: pa.RecordBatch) -> None:
    """Refuse rows that are no edges: of an unknown kind, or without a target."""
    kind = batch.column(0).to_numpy()
    known = kind <= k.END
    there = ~(pc.or_(pc.is_null(batch.column(3)), pc.is_null(batch.column(4)))).to_numpy(
        zero_copy_only=False
    )
    bad = np.flatnonzero(~(known & (there | (kind == k.END))))
    if len(bad):
        row = int(bad[0])
        what = "has no target" if known[row] else f"is of kind {kind[row]}, which is unknown"
        told = f"edge {row} of a batch {what}"
        raise DataError(Diagnostic("W1122", told, hint="write edges in the schema `EDGES`"))
