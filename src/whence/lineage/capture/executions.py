"""Function executions of a task as rows of `EDGES`: arrays in, batches out.

Each execution uses its entities in one group, generates in another, and ends. Numbers of what a
task makes are its partition and a position, so that a task that runs again makes the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from whence.lineage.events import EDGES, TIME, Kind

if TYPE_CHECKING:
    from whence.lineage.capture.jvm_taps import Notes

SHIFT: Final = 33
"""Bits of a position; the partition stands above, as Spark's own row numbers have it."""

Array: TypeAlias = "np.ndarray[Any, Any]"
Batch: TypeAlias = pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when executions ran, together or each: partition, attempt, and the time."""

    worker: int | Array
    attempt: int | Array
    time: datetime

    def number(self, position: Array | int) -> Any:
        """Return the numbers of positions in this partition."""
        return (self.worker << SHIFT) + position


@dataclass(frozen=True, slots=True)
class Used:
    """Entities of one space, each used by the execution that its row belongs to."""

    space: str
    rows: Array
    numbers: Array


def column(space: str, values: pa.Array) -> Used:
    """Return a column of references, null where a row has none."""
    if values.null_count == 0:
        return Used(space, np.arange(len(values)), values.to_numpy(zero_copy_only=False))
    rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    return Used(space, rows, values.drop_null().to_numpy(zero_copy_only=False))


def of_rows(activity: str, made: str, used: Sequence[Used], first: int, place: Place) -> Batch:
    """Return executions that make one entity for each row, from position `first` on.

    Rows that use nothing (what they came from is not in the sample) are no executions.
    """
    rows, spaces, numbers = _once(used)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    outputs = place.number(first + rows[starts])
    edges = _Edges(rows, starts, spaces, numbers)
    return _written(activity, made, outputs, edges, _names(used), place)


def of_groups(
    activity: str,
    made: str,
    whole: str,
    keys: Array,
    used: Sequence[Used],
    first: int,
    place: Place,
) -> tuple[Batch, int]:
    """Return executions that make a part of the collection `whole` for each key, and how many.

    The parts of a collection come from all tasks that have rows of its key.
    """
    order, rank, starts = _grouped(keys)
    place_of = np.empty(len(keys), np.int64)
    place_of[order] = rank
    by_key = [Used(u.space, place_of[u.rows], u.numbers) for u in used]
    rows, spaces, numbers = _once(by_key)
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    ranks = rows[begins]
    outputs = place.number(first + ranks)
    members = (whole, keys[order[starts[ranks]]])
    edges = _Edges(rows, begins, spaces, numbers)
    return _written(activity, made, outputs, edges, _names(used), place, members), len(starts)


def of_sets(
    activity: str, made: str, outputs: Array, lengths: Array, used: Used, place: Place
) -> Batch:
    """Return executions that use so many entities each, one after the other, and make one."""
    rows = np.repeat(np.arange(len(outputs)), lengths)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    codes = np.zeros(len(rows), np.int32)
    edges = _Edges(rows, starts, codes, used.numbers)
    return _written(activity, made, outputs[rows[starts]], edges, [used.space], place)


def of_one(activity: str, made: str, output: int, used: Sequence[Used], place: Place) -> Batch:
    """Return one execution that uses all and makes one entity."""
    if not used:
        used = [Used(activity, np.empty(0, np.int64), np.empty(0, np.int64))]
    rows, spaces, numbers = _once(used)
    starts, outputs = np.zeros(1, np.int64), np.array([output], np.int64)
    edges = _Edges(rows, starts, spaces, numbers)
    return _written(activity, made, outputs, edges, _names(used), place)


def of_notes(
    activity: str,
    made: str,
    whole: str | None,
    spaces: Sequence[str],
    notes: Notes,
    first: int,
    time: datetime,
) -> tuple[Batch, int]:
    """Return executions of notes, whose taps are places of spaces, and how many there are.

    With `whole` the notes of a number in a partition make a part of that collection, numbered from
    position `first` on; without, numbers are those of the rows that are made.
    """
    names = list(dict.fromkeys(spaces))
    codes = np.array([names.index(space) for space in spaces], np.int32)[notes.tap]
    order = np.lexsort((notes.reference, codes, notes.number, notes.worker))
    found, codes = notes[order], codes[order]
    changes = np.ones(len(found), bool)
    changes[1:] = (found.number[1:] != found.number[:-1]) | (found.worker[1:] != found.worker[:-1])
    rows, starts = np.cumsum(changes) - 1, np.flatnonzero(changes)
    keep = np.ones(len(found), bool)  # one space may stand in several columns
    keep[1:] = changes[1:] | (np.diff(codes) != 0) | (np.diff(found.reference) != 0)
    each = found[starts]
    place = Place(each.worker, each.attempt, time)
    edges = _Edges(rows[keep], np.cumsum(keep)[starts] - 1, codes[keep], found.reference[keep])
    outputs, members = each.number, None
    if whole is not None:
        outputs, members = place.number(first + np.arange(len(starts))), (whole, each.number)
    return _written(activity, made, outputs, edges, names, place, members), len(starts)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Used edges by execution: where each begins, and the space and number of each."""

    rows: Array
    starts: Array
    spaces: Array
    numbers: Array


def _grouped(keys: Array) -> tuple[Array, Array, Array]:
    """Return an order by key, the rank of each key in that order, and where each begins."""
    order = np.argsort(keys, kind="stable")
    changes = np.empty(len(keys), bool)
    changes[:1] = True
    ordered = keys[order]
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return order, np.cumsum(changes) - 1, np.flatnonzero(changes)


def _once(used: Sequence[Used]) -> tuple[Array, Array, Array]:
    """Return rows, places of spaces and numbers in order of rows, each of them once."""
    places = {space: place for place, space in enumerate(dict.fromkeys(u.space for u in used))}
    rows = np.concatenate([u.rows for u in used])
    numbers = np.concatenate([u.numbers for u in used])
    spaces = np.concatenate([np.full(len(u.rows), places[u.space], np.int32) for u in used])
    if len(rows) < 2:
        return rows, spaces, numbers
    order = np.lexsort((numbers, spaces, rows)) if len(used) > 1 else _by_row(rows, numbers)
    if order is not None:
        rows, spaces, numbers = rows[order], spaces[order], numbers[order]
    same = (rows[1:] == rows[:-1]) & (numbers[1:] == numbers[:-1]) & (spaces[1:] == spaces[:-1])
    if same.any():
        keep = np.concatenate([[True], ~same])
        rows, spaces, numbers = rows[keep], spaces[keep], numbers[keep]
    return rows, spaces, numbers


def _by_row(rows: Array, numbers: Array) -> Array | None:
    """Return an order by row and number; a stable sort by row does if numbers ascend already."""
    ascending = bool((numbers[1:] >= numbers[:-1]).all())
    if ascending and bool((rows[1:] >= rows[:-1]).all()):
        return None
    if ascending:
        return np.argsort(rows, kind="stable")
    return np.lexsort((numbers, rows))


def _written(
    activity: str,
    made: str,
    outputs: Array,
    edges: _Edges,
    texts: Sequence[str],
    place: Place,
    members: tuple[str, Array] | None = None,
) -> Batch:
    known = {space: code for code, space in enumerate(dict.fromkeys([*texts, activity, made]))}
    if members is not None:
        known.setdefault(members[0], len(known))
    n, m = len(edges.rows), len(outputs)
    lengths = np.diff(np.append(edges.starts, n))
    of_edge = np.repeat(outputs, lengths)
    doing, making = known[activity], known[made]
    parts = [
        (Kind.USED, doing, of_edge, edges.spaces, edges.numbers, of_edge * 2),
        (Kind.GENERATED, making, outputs, doing, outputs, outputs * 2 + 1),
        (Kind.END, doing, outputs, None, None, outputs * 2 + 1),
    ]
    if members is not None:
        whole, keys = members
        parts.append((Kind.MEMBER, known[whole], keys, making, outputs, outputs * 2 + 1))
    counts = [n, *[m] * (len(parts) - 1)]
    total = sum(counts)
    valid = np.ones(total, bool)
    valid[n + m : n + 2 * m] = False
    gone = None if m == 0 else ~valid
    source_space = _fill(counts, [p[1] for p in parts], np.int32)
    target_space = _fill(counts, [0 if p[3] is None else p[3] for p in parts], np.int32)
    target = _fill(counts, [0 if p[4] is None else p[4] for p in parts], np.int64)
    names = pa.array(list(known), pa.utf8())
    return pa.RecordBatch.from_arrays(
        [
            pa.array(_fill(counts, [int(p[0]) for p in parts], np.uint8)),
            pa.DictionaryArray.from_arrays(pa.array(source_space), names),
            pa.array(_fill(counts, [p[2] for p in parts], np.int64)),
            pa.DictionaryArray.from_arrays(pa.array(target_space, mask=gone), names),
            pa.array(target, mask=gone),
            pa.array(_fill(counts, [p[5] for p in parts], np.int64)),
            pa.array(_each(counts, lengths, place.attempt)),
            pa.array(_each(counts, lengths, place.worker)),
            pa.array(np.full(total, int(place.time.timestamp() * 1e6), np.int64)).cast(TIME),
        ],
        schema=EDGES,
    )


def _names(used: Sequence[Used]) -> list[str]:
    return list(dict.fromkeys(u.space for u in used))


def _each(counts: Sequence[int], lengths: Array, value: int | Array) -> Array:
    """Return what all rows share, or what those of each execution do."""
    if isinstance(value, int):
        return np.full(sum(counts), value, np.int32)
    return _fill(counts, [np.repeat(value, lengths), *[value] * (len(counts) - 1)], np.int32)


def _fill(counts: Sequence[int], values: Sequence[Any], kind: Any) -> Array:
    out = np.empty(sum(counts), kind)
    at = 0
    for count, value in zip(counts, values, strict=True):
        out[at : at + count] = value
        at += count
    return out
