"""Reduced lineage: which output depends on which input, in the Arrow schema `REDUCED`.

A link joins an output to an input, or both to a group node that stands for all its inputs at
once. Flattened, a reduced graph is exactly a set of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import DataError, Diagnostic
from whence.lineage.names import SPACES

Name: TypeAlias = tuple[str, int]
Pair: TypeAlias = tuple[Name, Name]


class Link(IntEnum):
    """What a row of a reduced graph says, from its source to its target."""

    PAIR = 0
    """An output depends on an input."""
    OUT = 1
    """An output depends on all that a group depends on."""
    IN = 2
    """A group depends on an input."""
    NEST = 3
    """A group depends on all that another group depends on."""


REDUCED: Final = pa.schema(
    [
        pa.field("kind", pa.uint8(), nullable=False),
        pa.field("source_space", SPACES, nullable=False),
        pa.field("source", pa.int64(), nullable=False),
        pa.field("target_space", SPACES, nullable=False),
        pa.field("target", pa.int64(), nullable=False),
    ]
)

PAIRS: Final = pa.schema([field for field in REDUCED if field.name != "kind"])
"""Outputs and the inputs they depend on, without groups."""


def group_space(space: str, attempt: int = 0, *, entity: bool = False) -> str:
    """Return the space of a group node that stands for an activity, or for an entity.

    >>> group_space("count/reduce"), group_space("count/reduce", 2), group_space("x", entity=True)
    ('group/count/reduce', 'group/count/reduce@2', 'group-of/x')
    """
    if entity:
        return f"group-of/{space}"
    # Attempt 2 of `a` is another group than `a@2`, whose attempt is told, too.
    return f"group/{space}@{attempt}" if attempt or "@" in space else f"group/{space}"


def reduced_of(rows: Iterable[tuple[Link, Name, Name]]) -> pa.Table:
    """Return links as a table; not for many of them."""
    rows = list(rows)
    columns = [
        pa.array([int(kind) for kind, _, _ in rows], pa.uint8()),
        pa.array([source[0] for _, source, _ in rows], pa.utf8()).dictionary_encode(),
        pa.array([source[1] for _, source, _ in rows], pa.int64()),
        pa.array([target[0] for _, _, target in rows], pa.utf8()).dictionary_encode(),
        pa.array([target[1] for _, _, target in rows], pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=REDUCED)


def pairs_of(table: pa.Table) -> set[Pair]:
    """Return the pairs of a reduced graph, one by one; not for many of them."""
    flat = flatten(table)
    sources = zip(flat["source_space"].to_pylist(), flat["source"].to_pylist(), strict=True)
    targets = zip(flat["target_space"].to_pylist(), flat["target"].to_pylist(), strict=True)
    return set(zip(sources, targets, strict=True))


def flatten(table: pa.Table) -> pa.Table:
    """Return the pairs of a reduced graph, each once, in no order.

    Every group is resolved once, and only when an output asks for it; what is large is the answer.
    """
    spaces, source, target = _coded(table)
    kind = table["kind"].to_numpy()
    below: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for nest in np.flatnonzero(kind == Link.NEST):
        key = (int(source[nest, 0]), int(source[nest, 1]))
        below.setdefault(key, []).append((int(target[nest, 0]), int(target[nest, 1])))
    members = _by_source(source, target, kind == Link.IN)
    resolved: dict[tuple[int, int], np.ndarray[Any, Any]] = {}
    parts = [np.hstack([source, target])[kind == Link.PAIR]]
    for out in np.flatnonzero(kind == Link.OUT):
        found = _resolve((int(target[out, 0]), int(target[out, 1])), members, below, resolved)
        parts.append(np.hstack([np.broadcast_to(source[out], found.shape), found]))
    whole = np.concatenate(parts)
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(whole[:, 0], pa.int32()), spaces),
        pa.array(whole[:, 1]),
        pa.DictionaryArray.from_arrays(pa.array(whole[:, 2], pa.int32()), spaces),
        pa.array(whole[:, 3]),
    ]
    flat = pa.Table.from_arrays(columns, schema=PAIRS)
    return flat.group_by(PAIRS.names, use_threads=False).aggregate([])


def _coded(table: pa.Table) -> tuple[pa.Array, Any, Any]:
    """Return all spaces, and each node as the place of its space and its number."""
    table = table.unify_dictionaries()
    texts: dict[str, int] = {}
    columns = []
    for end in ("source", "target"):
        space = table[f"{end}_space"].combine_chunks()
        if isinstance(space, pa.ChunkedArray):  # a table without rows has no chunk
            space = pa.array([], SPACES)
        known = [texts.setdefault(t, len(texts)) for t in space.dictionary.to_pylist()]
        codes = np.array(known, np.int64)[space.indices.to_numpy(zero_copy_only=False)]
        columns.append(np.stack([codes, table[end].to_numpy()], axis=1).astype(np.int64))
    return pa.array(list(texts), pa.utf8()), *columns


def _by_source(
    source: np.ndarray[Any, Any], target: np.ndarray[Any, Any], chosen: np.ndarray[Any, Any]
) -> dict[tuple[int, int], np.ndarray[Any, Any]]:
    source, target = source[chosen], target[chosen]
    order = np.lexsort((source[:, 1], source[:, 0]))
    source, target = source[order], target[order]
    starts = np.flatnonzero(np.any(source[1:] != source[:-1], axis=1)) + 1
    firsts = [0, *starts.tolist()] if len(source) else []
    keys = [(int(source[i, 0]), int(source[i, 1])) for i in firsts]
    return dict(zip(keys, np.split(target, starts), strict=False))


def _resolve(
    group: tuple[int, int],
    members: Mapping[tuple[int, int], np.ndarray[Any, Any]],
    below: Mapping[tuple[int, int], list[tuple[int, int]]],
    resolved: dict[tuple[int, int], np.ndarray[Any, Any]],
) -> np.ndarray[Any, Any]:
    """Return all inputs of a group; groups may lie deeper than Python's stack."""
    stack = [group]
    begun: set[tuple[int, int]] = set()
    while stack:
        top = stack[-1]
        missing = [g for g in below.get(top, ()) if g not in resolved]
        if top in resolved or not missing:
            stack.pop()
            none = np.empty((0, 2), np.int64)
            parts = [members.get(top, none), *(resolved[g] for g in below.get(top, ()))]
            if top not in resolved:
                found = np.concatenate(parts)
                resolved[top] = np.unique(found, axis=0) if len(parts) > 1 else found
        else:
            begun.add(top)
            if not begun.isdisjoint(missing):
                told = "groups of a reduced graph depend on each other"
                raise DataError(Diagnostic("W1201", told))
            stack.extend(missing)
    return resolved[group]


def distinct(table: pa.Table) -> pa.Table:
    """Return each row once."""
    plain = table.unify_dictionaries()
    names = plain.column_names
    return plain.group_by(names, use_threads=False).aggregate([]).select(names)


def sorted_rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows in an order that does not depend on how they came."""
    plain = [pc.cast(c, pa.utf8()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return sorted(zip(*(c.to_pylist() for c in plain), strict=True))
