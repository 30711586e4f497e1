"""Joins with live relations: which rows they see depends on the version and on a rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.guard import Guard
from whence.engine.local.index import Index
from whence.engine.local.kernels import live as kernels
from whence.engine.local.kernels import live_joins as joins
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.live import LiveRelation
from whence.engine.local.operators import CHUNK, CodeOf, KeySlots, Push, moves
from whence.plan.nodes import Exists, Probe, Version

Mask: TypeAlias = NDArray[np.bool_]


def probe(
    step: Probe,
    slots: Mapping[str, int],
    outputs: Sequence[str | int],
    relation: LiveRelation,
    code: CodeOf,
    guard: Guard,
    buffer: Rows,
    after: Push,
) -> Push:
    """Join with the relation."""
    writing = moves(step, slots, outputs, buffer)
    out = writing[-1]
    key = KeySlots(step, slots, code)
    below = limit_slot(step, slots)
    before = step.version is Version.BEFORE
    if names_a_row(step, relation):
        key_slots, consts = in_order(key)

        at: Ints = np.empty(CHUNK, dtype=np.int64)

        def look_up(binding: Rows, n: int) -> None:
            rows = relation.rows
            kernels.find_rows(binding, n, key_slots, consts, *relation.table, rows, at)
            m = joins.probe_row(binding, n, at, rows, relation.was, before, below, *writing)
            guard.work += n
            if m:
                after(out, m)

        return look_up
    index = relation.index(key.columns)
    cursor = np.zeros(2, dtype=np.int64)
    groups: Ints = np.empty(CHUNK, dtype=np.int64)

    def push(binding: Rows, n: int) -> None:
        cursor[0] = cursor[1] = 0
        group_bindings(binding, n, key, index, relation, groups)
        while True:
            m = joins.probe_group(
                binding,
                n,
                cursor,
                groups,
                index.start,
                index.count,
                index.pool,
                relation.rows,
                relation.was,
                before,
                below,
                *writing,
            )
            guard.work += m
            if m:
                after(out, m)
            if cursor[0] >= n:
                return
            guard.check()

    return push


def exists(
    step: Exists, slots: Mapping[str, int], relation: LiveRelation, code: CodeOf, after: Push
) -> Push:
    """Keep the bindings whose key has a row, or has none."""
    holds = look(step, slots, relation, code)
    negated = step.negated

    def push(binding: Rows, n: int) -> None:
        mask = holds(binding, n)
        kept = binding[:n][~mask if negated else mask]
        if kept.shape[0]:
            after(kept, kept.shape[0])

    return push


def look(
    step: Exists, slots: Mapping[str, int], relation: LiveRelation, code: CodeOf
) -> Callable[[Rows, int], Mask]:
    """Return the function that says for which bindings the key has a row."""
    key = KeySlots(step, slots, code)
    found: Flags = np.empty(CHUNK, dtype=np.uint8)
    below = limit_slot(step, slots)
    before = step.version is Version.BEFORE
    if names_a_row(step, relation):
        key_slots, consts = in_order(key)

        at: Ints = np.empty(CHUNK, dtype=np.int64)

        def look_up(binding: Rows, n: int) -> Mask:
            rows = relation.rows
            kernels.find_rows(binding, n, key_slots, consts, *relation.table, rows, at)
            joins.exists_row(binding, n, at, rows, relation.was, before, below, found)
            return found[:n].view(np.bool_)

        return look_up
    index = relation.index(key.columns)
    groups: Ints = np.empty(CHUNK, dtype=np.int64)

    def search(binding: Rows, n: int) -> Mask:
        group_bindings(binding, n, key, index, relation, groups)
        joins.exists_group(
            binding,
            n,
            groups,
            index.start,
            index.count,
            index.pool,
            relation.rows,
            relation.was,
            before,
            below,
            found,
        )
        return found[:n].view(np.bool_)

    return search


def group_bindings(
    binding: Rows, n: int, key: KeySlots, index: Index, relation: LiveRelation, groups: Ints
) -> None:
    """Write the group of each binding in the index."""
    joins.find_groups(
        binding,
        n,
        key.slots,
        key.consts,
        index.key_array,
        index.table,
        index.first,
        index.shift,
        index.dense,
        index.lo,
        index.start,
        relation.rows,
        groups,
    )


def limit_slot(step: Probe | Exists, slots: Mapping[str, int]) -> int:
    """Return the slot of the rank that rows must be below, or what stands for none."""
    if step.below is not None:
        return slots[step.below]
    return kernels.FOLLOWED_ROWS if step.version is Version.FOLLOWED else kernels.ALL_ROWS


def names_a_row(step: Probe | Exists, relation: LiveRelation) -> bool:
    """Say whether the key has all columns of the tuple, so that at most one row has it."""
    return sorted(column for column, _ in step.key) == list(range(relation.arity))


def in_order(key: KeySlots) -> tuple[Ints, Ints]:
    """Return the slots and constants of a whole tuple in the order of its columns."""
    order = np.argsort(np.array(key.columns, dtype=np.int64), kind="stable")
    return key.slots[order], key.consts[order]
