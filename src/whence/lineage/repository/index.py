"""The index of a run: its nodes in order, and its edges by source and by target.

Nodes are numbered by space, then number, so a node is found by one binary search. Edges are
offsets and neighbours (CSR) in both directions, in an Arrow file that is mapped into memory.
Groups are nodes of spaces of their own, and never leave the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whence.lineage.names import settled
from whence.lineage.reduced import REDUCED, Link
from whence.lineage.repository import faults
from whence.lineage.repository.entities import Entities, Numbers, of_arrays, sorted_set
from whence.lineage.repository.manifest import Extent

Nodes: TypeAlias = npt.NDArray[np.int64]
"""Numbers of nodes within one run."""

Narrow: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Nodes or places of edges on disk, of 32 bits where they fit."""

_ARRAYS: Final = ("numbers", "by_source", "targets", "by_target", "sources")
DENSE: Final = 16
"""Above one node in so many, a set of nodes is found by marking them, else by sorting."""


@dataclass(frozen=True, slots=True)
class Space:
    """The nodes of one space: from `start` up to `end`."""

    name: str
    group: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Index:
    """Nodes and edges of one run. `targets[by_source[n]:by_source[n + 1]]` is what n depends on."""

    spaces: tuple[Space, ...]
    numbers: Numbers
    by_source: Narrow
    targets: Narrow
    by_target: Narrow
    sources: Narrow

    def find(self, entities: Entities) -> Nodes:
        """Return the nodes of the entities that the run knows."""
        found = [np.empty(0, np.int64)]
        for space in self.spaces:
            wanted = None if space.group else entities.by_space.get(space.name)
            if wanted is None:
                continue
            there = self.numbers[space.start : space.end]
            places = np.searchsorted(there, wanted)
            places[places == len(there)] = 0
            found.append(space.start + places[there[places] == wanted])
        return np.concatenate(found)

    def split(self, nodes: Nodes) -> tuple[Entities, Nodes]:
        """Return sorted nodes as the entities among them and the groups among them."""
        entities: dict[str, Numbers] = {}
        groups = [np.empty(0, np.int64)]
        for space in self.spaces:
            low, high = np.searchsorted(nodes, (space.start, space.end))
            if low == high:
                continue
            if space.group:
                groups.append(nodes[low:high])
            else:
                entities[space.name] = self.numbers[nodes[low:high]]
        return of_arrays(entities), np.concatenate(groups)

    def grouped(self) -> npt.NDArray[np.bool_]:
        """Return which nodes are groups."""
        found = np.zeros(len(self.numbers), np.bool_)
        for space in self.spaces:
            found[space.start : space.end] = space.group
        return found

    def next(self, nodes: Nodes, *, backward: bool) -> Nodes:
        """Return what the nodes depend on, or what depends on them: sorted, each once."""
        return distinct(self.neighbours(nodes, backward=backward)[1], len(self.numbers))

    def neighbours(self, nodes: Nodes, *, backward: bool) -> tuple[Nodes, Nodes]:
        """Return the edges that leave the nodes, as the node and its neighbour."""
        offsets, others = (
            (self.by_source, self.targets) if backward else (self.by_target, self.sources)
        )
        starts = offsets[nodes].astype(np.int64)
        lengths = offsets[nodes + 1] - starts
        total = int(lengths.sum())
        before = np.cumsum(lengths) - lengths
        places = np.arange(total) + np.repeat(starts - before, lengths)
        return np.repeat(nodes, lengths), others[places].astype(np.int64)


def distinct(nodes: Nodes, size: int) -> Nodes:
    """Return nodes below `size` sorted and each once."""
    if len(nodes) * DENSE < size:
        return sorted_set(nodes)
    marked = np.zeros(size, np.bool_)
    marked[nodes] = True
    return np.flatnonzero(marked)


def build_index(table: pa.Table) -> Index:
    """Return the index of a reduced graph; edges that are there twice count once."""
    spaces, numbers, source, target = _nodes(table)
    size = max(len(numbers), 1)
    # One sort of one integer per edge is many times quicker than a sort by two columns.
    keys = sorted_set(source * size + target)
    source, target = np.divmod(keys, size)
    keys = np.sort(target * size + source)
    width = np.int32 if size < 2**31 else np.int64
    return Index(
        spaces,
        numbers,
        _offsets(source, len(numbers)),
        target.astype(width),
        _offsets(keys // size, len(numbers)),
        (keys % size).astype(width),
    )


def edges_of(index: Index) -> pa.Table:
    """Return the edges of an index as a reduced graph, sorted by source."""
    nodes = np.arange(len(index.numbers))
    source = np.repeat(nodes, np.diff(index.by_source))
    return as_reduced(index, source, index.targets.astype(np.int64))


def as_reduced(index: Index, source: Nodes, target: Nodes) -> pa.Table:
    """Return edges between nodes as a reduced graph."""
    ends = np.array([space.end for space in index.spaces], np.int64)
    group = np.array([space.group for space in index.spaces], np.bool_)
    texts = pa.array([space.name for space in index.spaces], pa.utf8())
    places = [
        np.searchsorted(ends, nodes, side="right").astype(np.int32) for nodes in (source, target)
    ]
    kind = group[places[0]] * 2 + group[places[1]]
    columns = [
        pa.array(kind.astype(np.uint8)),
        pa.DictionaryArray.from_arrays(pa.array(places[0]), texts),
        pa.array(index.numbers[source]),
        pa.DictionaryArray.from_arrays(pa.array(places[1]), texts),
        pa.array(index.numbers[target]),
    ]
    return pa.Table.from_arrays(columns, schema=REDUCED)


def extents(index: Index) -> tuple[dict[str, Extent], dict[str, Extent], int]:
    """Return which spaces are inputs and which outputs of the run, and its number of groups."""
    inputs: dict[str, Extent] = {}
    outputs: dict[str, Extent] = {}
    groups = 0
    for space in index.spaces:
        if space.group:
            groups += space.end - space.start
            continue
        numbers = index.numbers[space.start : space.end]
        for offsets, known in ((index.by_source, outputs), (index.by_target, inputs)):
            has = np.diff(offsets[space.start : space.end + 1]) > 0
            if has.any():
                there = numbers[has]
                known[space.name] = Extent(len(there), int(there[0]), int(there[-1]))
    return inputs, outputs, groups


def write_index(index: Index) -> pa.Buffer:
    """Return the bytes of an index file."""
    spaces = [[s.name, s.group, s.start, s.end] for s in index.spaces]
    arrays = [pa.array(getattr(index, name)) for name in _ARRAYS]
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(a)], pa.int64()), a) for a in arrays]
    schema = pa.schema(
        [pa.field(name, each.type) for name, each in zip(_ARRAYS, lists, strict=True)],
        metadata={"spaces": json.dumps(spaces)},
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(lists, schema=schema))
    return sink.getvalue()


def map_index(path: Path, checksum: int) -> Index:
    """Return the index in a file, without reading more of it than its checksum needs."""
    with pa.memory_map(str(path)) as mapped:
        whole = mapped.read_buffer()
    if crc32(whole) != checksum:
        raise faults.damaged(path, "its checksum does not fit")
    batch = pa.ipc.open_file(whole).get_batch(0)
    arrays: dict[str, Any] = {
        name: batch.column(name).values.to_numpy(zero_copy_only=True) for name in _ARRAYS
    }
    spaces = json.loads(batch.schema.metadata[b"spaces"])
    return Index(tuple(Space(*each) for each in spaces), **arrays)


def _offsets(sorted_nodes: Nodes, size: int) -> Narrow:
    offsets: Narrow = np.zeros(size + 1, np.int32 if len(sorted_nodes) < 2**31 else np.int64)
    np.cumsum(np.bincount(sorted_nodes, minlength=size), out=offsets[1:])
    return offsets


def _nodes(table: pa.Table) -> tuple[tuple[Space, ...], Numbers, Nodes, Nodes]:
    """Return the nodes of a graph in order, and the ends of its edges as nodes."""
    kind = table["kind"].to_numpy()
    if len(kind) and kind.max() > Link.NEST:
        raise faults.no_edges(f"there is no kind {kind.max()} of links")
    keys: dict[tuple[str, bool], int] = {}
    ends = []
    for name, grouped in (("source", kind >= Link.IN), ("target", (kind & 1) == 1)):
        codes = _codes(table[f"{name}_space"], grouped, keys)
        ends.append((codes, table[name].to_numpy()))
    code = np.concatenate([ends[0][0], ends[1][0]])
    number = np.concatenate([ends[0][1], ends[1][1]])
    node = np.empty(len(code), np.int64)
    spaces: list[Space] = []
    parts = [np.empty(0, np.int64)]
    start = 0
    for (name, group), place in sorted(keys.items()):
        chosen = np.flatnonzero(code == place)
        if not len(chosen):
            continue
        known, places = _ranked(number[chosen])
        node[chosen] = start + places
        spaces.append(Space(name, group, start, start + len(known)))
        parts.append(known)
        start += len(known)
    half = len(ends[0][0])
    return tuple(spaces), np.concatenate(parts), node[:half], node[half:]


def _ranked(numbers: Numbers) -> tuple[Numbers, Nodes]:
    """Return the distinct numbers in order, and the place of each number among them."""
    known = sorted_set(numbers)
    least, width = int(known[0]), int(known[-1]) - int(known[0]) + 1
    if width <= 4 * len(numbers) + 1024:
        # Row numbers are mostly dense: a table is ten times quicker than a search.
        table = np.zeros(width, np.int64)
        table[known - least] = np.arange(len(known))
        return known, table[numbers - least]
    order = np.argsort(numbers)
    ordered = numbers[order]
    places = np.empty(len(numbers), np.int64)
    places[order] = np.cumsum(np.concatenate(([0], ordered[1:] != ordered[:-1])))
    return known, places


def _codes(
    column: pa.ChunkedArray, grouped: npt.NDArray[np.bool_], keys: dict[tuple[str, bool], int]
) -> npt.NDArray[np.int32]:
    """Return for each row the code of its space, apart for groups and entities of one name."""
    if column.num_chunks == 0:
        return np.empty(0, np.int32)
    spaces = column.unify_dictionaries().combine_chunks()
    if isinstance(spaces, pa.ChunkedArray):
        spaces = spaces.chunk(0)
    texts = spaces.dictionary.to_pylist()
    codes = np.array(
        [[keys.setdefault((text, group), len(keys)) for group in (False, True)] for text in texts],
        np.int32,
    ).reshape(-1, 2)
    found: npt.NDArray[np.int32] = codes[spaces.indices.to_numpy(), grouped.astype(np.int8)]
    return found


def reduced_table(data: object) -> pa.Table:
    """Return data with the columns of `REDUCED`, in any order and coding, as such a table."""
    table = data
    if isinstance(data, pa.RecordBatch):
        table = pa.Table.from_batches([data])
    elif isinstance(data, Iterable) and not isinstance(data, pa.Table | str):
        batches = list(data)
        if all(isinstance(each, pa.RecordBatch) for each in batches):
            table = pa.Table.from_batches(batches, None if batches else REDUCED)
    if not isinstance(table, pa.Table):
        raise faults.no_edges(f"it is of type {type(data).__name__}")
    missing = set(REDUCED.names) - set(table.column_names)
    if missing:
        raise faults.no_edges(f"it has no column `{min(missing)}`")
    columns = []
    for field in REDUCED:
        column = table[field.name]
        if column.null_count:
            raise faults.no_edges(f"column `{field.name}` has nulls")
        try:
            if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type):
                column = column.cast(pa.utf8()).dictionary_encode()
            columns.append(column.cast(field.type))
        except pa.ArrowException as fault:
            raise faults.no_edges(f"column `{field.name}`: {fault}") from None
    batches = pa.Table.from_arrays(columns, schema=REDUCED).to_batches()
    return pa.Table.from_batches([_named(batch) for batch in batches], REDUCED)


def _named(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return edges between the nodes that the printed names are read as."""
    kind, *ends = batch.columns
    ends = [*settled(ends[0], ends[1]), *settled(ends[2], ends[3])]
    return pa.RecordBatch.from_arrays([kind, *ends], schema=REDUCED)
