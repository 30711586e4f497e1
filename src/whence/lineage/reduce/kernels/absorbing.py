"""Rows become a graph: names to numbers, rows to edges, edges that do not count left out.

Nodes are numbered as they appear. A node's key is its space, whether it is an activity, and its
attempt. Nothing here allocates; a kernel that runs out of room says how far it got.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from whence.lineage.reduce.compiled import inline, kernel
from whence.lineage.reduce.kernels.codes import (
    ACTIVITY,
    EDGES,
    END,
    ENDED,
    GENERATED,
    LAST_SELF,
    LATE,
    NODES,
    ROWS,
    SELVES,
    SPACE_BITS,
    USED,
)

Array = np.ndarray[Any, Any]

_BLOCK: Final = 8


@inline
def _slot(number: Any, key: Any, mask: Any) -> Any:
    """Return where to look first: numbers of a block of eight stand together.

    Rows of a dataset come one after the other, so neighbours in number are neighbours in time.
    """
    mixed = ((number >> 3) + key * 0x2545F4914F6CDD1D) * 0x1B873593CC9E2D51
    mixed = mixed ^ (mixed >> 29)
    mixed = mixed * 0x369DEA0F31A53F85
    mixed = mixed ^ (mixed >> 32)
    return (((mixed << 3) & mask) & ~7) | ((number ^ (mixed >> 20)) & 7)


@kernel
def place(numbers: Array, keys: Array, count: int, slots: Array) -> None:
    """Put nodes that differ from each other into an empty table."""
    mask = len(slots) - 1
    for node in range(count):
        slot = _slot(numbers[node], keys[node], mask)
        while slots[slot] >= 0:
            slot = (slot + _BLOCK) & mask
        slots[slot] = node


@inline
def _find(number: Any, key: Any, slots: Array, mask: Any, numbers: Array, keys: Array) -> Any:
    """Return the slot of a node, or the empty one where it belongs."""
    slot = _slot(number, key, mask)
    while True:
        node = slots[slot]
        if node < 0 or (numbers[node] == number and keys[node] == key):
            return slot
        slot = (slot + _BLOCK) & mask


@kernel
def absorb(
    kind: Array,
    source_space: Array,
    source: Array,
    target_space: Array,
    target: Array,
    attempt: Array,
    time: Array,
    by_attempt: bool,
    oldest: int,
    closed: Array,
    slots: Array,
    numbers: Array,
    keys: Array,
    flags: Array,
    ends: Array,
    edge_source: Array,
    edge_target: Array,
    state: Array,
) -> bool:
    """Take rows in from `state[ROWS]` on; False when there is no room for the next one.

    A row is late that speaks of a closed space, or of an activity that is not known and is older
    than `oldest`. `closed` has a row for entities and one for activities.
    """
    mask = len(slots) - 1
    room, edges_room = min(len(numbers), len(slots) // 2), len(edge_source)
    timed = len(ends) > 0
    nothing = np.int64(-1)
    last_source, last_source_key, last_source_node = nothing, nothing, nothing
    last_target, last_target_key, last_target_node = nothing, nothing, nothing
    for row in range(state[ROWS], len(kind)):
        if state[NODES] + 2 > room or state[EDGES] >= edges_room:
            state[ROWS] = row
            return False
        what = kind[row]
        tag = np.int64(ACTIVITY)
        if by_attempt:
            tag = tag | (np.int64(attempt[row]) << (SPACE_BITS + 1))
        source_key = np.int64(source_space[row])
        source_activity = (what == USED) | (what == END)
        if closed[1 if source_activity else 0, source_space[row]]:
            state[LATE] += 1
            continue
        if source_activity:
            source_key = source_key | tag
        target_key = np.int64(0)
        target_activity = what == GENERATED
        if what != END:
            target_key = np.int64(target_space[row])
            if closed[1 if target_activity else 0, target_space[row]]:
                state[LATE] += 1
                continue
            if target_activity:
                target_key = target_key | tag
        old = time[row] < oldest
        if source_key == last_source_key and source[row] == last_source:
            from_node = last_source_node
        else:
            slot = _find(source[row], source_key, slots, mask, numbers, keys)
            from_node = np.int64(slots[slot])
            if from_node < 0:
                if old and source_activity:
                    state[LATE] += 1
                    continue
                if old and target_activity:
                    found = _find(target[row], target_key, slots, mask, numbers, keys)
                    if slots[found] < 0:
                        state[LATE] += 1
                        continue
                from_node = state[NODES]
                slots[slot] = from_node
                numbers[from_node] = source[row]
                keys[from_node] = source_key
                flags[from_node] = 0
                state[NODES] += 1
            last_source, last_source_key, last_source_node = source[row], source_key, from_node
        if what == END:
            if timed and flags[from_node] & ENDED == 0:
                ends[from_node] = time[row]
            flags[from_node] |= ENDED
            continue
        if target_key == last_target_key and target[row] == last_target:
            to_node = last_target_node
        else:
            slot = _find(target[row], target_key, slots, mask, numbers, keys)
            to_node = np.int64(slots[slot])
            if to_node < 0:
                if old and target_activity:
                    state[LATE] += 1
                    continue
                to_node = state[NODES]
                slots[slot] = to_node
                numbers[to_node] = target[row]
                keys[to_node] = target_key
                flags[to_node] = 0
                state[NODES] += 1
            last_target, last_target_key, last_target_node = target[row], target_key, to_node
        if from_node == to_node:
            state[SELVES] += 1
            state[LAST_SELF] = from_node
            continue
        edge = state[EDGES]
        edge_source[edge] = from_node
        edge_target[edge] = to_node
        state[EDGES] = edge + 1
    state[ROWS] = len(kind)
    return True


@kernel
def drop_uncommitted(
    edge_source: Array, edge_target: Array, edges: int, keys: Array, flags: Array
) -> int:
    """Leave out the edges of attempts without an end marker; return how many remain."""
    kept = 0
    for edge in range(edges):
        source, target = edge_source[edge], edge_target[edge]
        if keys[source] & ACTIVITY and not flags[source] & ENDED:
            continue
        if keys[target] & ACTIVITY and not flags[target] & ENDED:
            continue
        edge_source[kept] = source
        edge_target[kept] = target
        kept += 1
    return kept


@kernel
def rename(edge_source: Array, edge_target: Array, edges: int, names: Array) -> int:
    """Give nodes other numbers and leave out edges that lead nowhere; return how many remain."""
    kept = 0
    for edge in range(edges):
        source, target = names[edge_source[edge]], names[edge_target[edge]]
        if source != target:
            edge_source[kept] = source
            edge_target[kept] = target
            kept += 1
    return kept
