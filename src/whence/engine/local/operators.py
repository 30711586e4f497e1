"""The steps of a rule plan as functions over chunks of bindings, each pushing into the next.

A chunk is a 2-D array with one slot (column) per variable that is still needed. Joins write into
buffers that the rules of one thread share, so a compiled rule must not run in two threads:
compile it once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from whence.engine.local.expressions import Context, compile_constraint, compile_term
from whence.engine.local.folds import Folds
from whence.engine.local.guard import Guard
from whence.engine.local.kernels import joins as kernels
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.relation import Relation
from whence.engine.local.values import NIL
from whence.plan.nodes import Bind, Exists, Fold, Probe, Scan, Test, Unpack, Version
from whence.syntax.nodes import Constant, Variable

CHUNK = 1 << 15
"""Rows per chunk: two buffers of a few columns stay in the second-level cache."""

Push: TypeAlias = Callable[[Rows, int], None]
"""Take the first n bindings of a chunk."""

CodeOf: TypeAlias = Callable[[str, int, Constant], int]
"""The code of a constant in a column of a relation."""


class Chunks:
    """The buffers of one thread: one for each depth in a pipeline and number of columns.

    Chunks are pushed depth first, so at each depth one is in use at a time, whatever the rule.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Rows] = {}

    def at(self, depth: int, width: int) -> Rows:
        """Return the buffer of that depth and width."""
        found = self._made.get((depth, width))
        if found is None:
            found = self._made[depth, width] = np.empty((CHUNK, width), dtype=np.int64)
        return found


def layout(names: Sequence[str]) -> dict[str, int]:
    """Return the slot of each name."""
    return {name: slot for slot, name in enumerate(names)}


def _array(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)


class KeySlots:
    """A key as kernels take it: a slot per part, or -1 and a constant."""

    def __init__(self, step: Probe | Exists | Fold, slots: Mapping[str, int], code: CodeOf) -> None:
        relation, key = step.relation, step.key
        self.columns = tuple(column for column, _ in key)
        self.slots = _array([slots[o.name] if isinstance(o, Variable) else -1 for _, o in key])
        self.consts = _array(
            [code(relation, column, o) if isinstance(o, Constant) else 0 for column, o in key]
        )
        self.slot = int(self.slots[0]) if key else -1
        self.const = int(self.consts[0]) if key else 0


Moves: TypeAlias = tuple[Ints, Ints, Ints, Ints, Rows]
"""Slots kept and where they go, columns taken and where they go, and the chunk they go to."""


def moves(
    step: Probe, slots: Mapping[str, int], outputs: Sequence[str | int], buffer: Rows
) -> Moves:
    """Return what a join writes; an output is a variable, or a code that is always there."""
    fresh = {name: column for column, name in step.takes}
    kept = [(slots[v], i) for i, v in enumerate(outputs) if isinstance(v, str) and v not in fresh]
    taken = [(fresh[v], i) for i, v in enumerate(outputs) if isinstance(v, str) and v in fresh]
    constants = {i: value for i, value in enumerate(outputs) if isinstance(value, int)}
    if constants:
        buffer = np.empty_like(buffer)  # its own: the constants stay in place
        for i, value in constants.items():
            buffer[:, i] = value
    return (
        _array([s for s, _ in kept]),
        _array([i for _, i in kept]),
        _array([c for c, _ in taken]),
        _array([i for _, i in taken]),
        buffer,
    )


def probe(
    step: Probe,
    slots: Mapping[str, int],
    outputs: Sequence[str | int],
    relation: Relation,
    code: CodeOf,
    guard: Guard,
    buffer: Rows,
    after: Push,
) -> Push:
    """Join with the relation."""
    key = KeySlots(step, slots, code)
    writing = moves(step, slots, outputs, buffer)
    if isinstance(relation, KeyedRelation) and relation.old == relation.size:
        found = _probe_cell(relation, key, writing, guard, after)
        if found is not None:
            return found
    kept_from, kept_to, taken_from, taken_to, out = writing
    cursor = np.zeros(2, dtype=np.int64)
    index = relation.index(key.columns)
    old = step.version is Version.OLD
    slot, const, key_slots, consts = key.slot, key.const, key.slots, key.consts
    dense, hashed = kernels.probe_dense, kernels.probe_hashed

    def push(binding: Rows, n: int) -> None:
        cursor[0] = cursor[1] = 0
        limit = relation.old if old else relation.mark
        if limit >= index.entered:
            limit = kernels.NO_LIMIT
        while True:
            if index.dense:
                m = dense(
                    binding,
                    n,
                    cursor,
                    slot,
                    const,
                    index.lo,
                    index.start,
                    index.count,
                    index.pool,
                    relation.rows,
                    limit,
                    relation.dead,
                    kept_from,
                    kept_to,
                    taken_from,
                    taken_to,
                    out,
                )
            else:
                m = hashed(
                    binding,
                    n,
                    cursor,
                    key_slots,
                    consts,
                    index.key_array,
                    index.table,
                    index.first,
                    index.shift,
                    index.start,
                    index.count,
                    index.pool,
                    relation.rows,
                    limit,
                    relation.dead,
                    kept_from,
                    kept_to,
                    taken_from,
                    taken_to,
                    out,
                )
            guard.work += m
            if m:
                after(out, m)
            if cursor[0] >= n:
                return
            guard.check()

    return push


def _probe_cell(
    relation: KeyedRelation, key: KeySlots, writing: Moves, guard: Guard, after: Push
) -> Push | None:
    """The same by the whole key of a relation that is complete, where a table knows its row."""
    cells = relation.cells
    if cells is None or sorted(key.columns) != sorted(relation.keyed.key):
        return None
    order = [key.columns.index(column) for column in relation.keyed.key]
    slots, consts = key.slots[order], key.consts[order]
    rows, out = relation.rows, writing[-1]

    def push(binding: Rows, n: int) -> None:
        m = kernels.probe_cell(binding, n, slots, consts, *cells, rows, *writing)
        guard.work += n
        if m:
            after(out, m)

    return push


def exists(
    step: Exists, slots: Mapping[str, int], relation: Relation, code: CodeOf, after: Push
) -> Push:
    """Keep the bindings whose key has a row, or has none."""
    key = KeySlots(step, slots, code)
    index = relation.index(key.columns)
    found = np.empty(CHUNK, dtype=np.uint8)
    old, negated = step.version is Version.OLD, step.negated

    def push(binding: Rows, n: int) -> None:
        limit = relation.old if old else relation.mark
        if index.dense:
            kernels.exists_dense(
                binding,
                n,
                key.slot,
                key.const,
                index.lo,
                index.start,
                index.count,
                index.pool,
                limit,
                relation.dead,
                found,
            )
        else:
            kernels.exists_hashed(
                binding,
                n,
                key.slots,
                key.consts,
                index.key_array,
                index.table,
                index.first,
                index.shift,
                index.start,
                index.count,
                index.pool,
                relation.rows,
                limit,
                relation.dead,
                found,
            )
        mask = found[:n].view(np.bool_)
        kept = binding[:n][~mask if negated else mask]
        if kept.shape[0]:
            after(kept, kept.shape[0])

    return push


def test(step: Test, slots: Mapping[str, int], context: Context, after: Push) -> Push:
    """Keep the bindings for which the constraint holds."""
    holds = compile_constraint(step.constraint, slots, context)

    def push(binding: Rows, n: int) -> None:
        kept = binding[:n][holds(binding, n)]
        if kept.shape[0]:
            after(kept, kept.shape[0])

    return push


def bind(
    step: Bind, slots: Mapping[str, int], outputs: Sequence[str], context: Context, after: Push
) -> Push:
    """Add the value of a term."""
    value = compile_term(step.term, slots, context)
    kept = [(slots[v], i) for i, v in enumerate(outputs) if v != step.variable]
    target = outputs.index(step.variable) if step.variable in outputs else None

    def push(binding: Rows, n: int) -> None:
        out = np.empty((n, len(outputs)), dtype=np.int64)
        for slot, i in kept:
            out[:, i] = binding[:n, slot]
        codes = value(binding, n)  # also where nobody reads it: it may fault
        if target is not None:
            out[:, target] = codes
        after(out, n)

    return push


def unpack(
    step: Unpack, slots: Mapping[str, int], outputs: Sequence[str], context: Context, after: Push
) -> Push:
    """Add the fields of a record; nil has none."""
    record, values = slots[step.record], context.values
    fields = {name: position for position, name in step.takes}
    kept = [(slots[v], i) for i, v in enumerate(outputs) if v not in fields]
    taken = [(fields[v], i) for i, v in enumerate(outputs) if v in fields]

    def push(binding: Rows, n: int) -> None:
        chosen = binding[:n][binding[:n, record] != NIL]
        if not chosen.shape[0]:
            return
        rows = values.unpack(chosen[:, record], step.arity)
        out = np.empty((chosen.shape[0], len(outputs)), dtype=np.int64)
        for slot, i in kept:
            out[:, i] = chosen[:, slot]
        for position, i in taken:
            out[:, i] = rows[:, position]
        after(out, out.shape[0])

    return push


def fold(
    step: Fold,
    slots: Mapping[str, int],
    outputs: Sequence[str],
    relation: Relation,
    code: CodeOf,
    folds: Folds,
    after: Push,
) -> Push:
    """Add the aggregate over the rows that have the binding's key."""
    key = KeySlots(step, slots, code)
    groups = folds.of(step, relation)
    kept = [(slots[v], i) for i, v in enumerate(outputs) if v != step.variable]
    target = outputs.index(step.variable) if step.variable in outputs else None

    def push(binding: Rows, n: int) -> None:
        at = groups.find(binding, n, key.slots, key.consts)
        keep = np.ones(n, dtype=np.bool_) if groups.default is not None else at >= 0
        chosen = binding[:n][keep]
        if not chosen.shape[0]:
            return
        out = np.empty((chosen.shape[0], len(outputs)), dtype=np.int64)
        for slot, i in kept:
            out[:, i] = chosen[:, slot]
        if target is not None:
            out[:, target] = groups.values_at(at[keep])
        after(out, out.shape[0])

    return push


def scan_filter(step: Scan, relation: Relation, code: CodeOf, after: Push) -> Push:
    """Keep the scanned rows that have the constants of the key."""
    wanted = [(c, code(step.relation, c, o)) for c, o in step.key if isinstance(o, Constant)]

    def push(binding: Rows, n: int) -> None:
        mask = np.ones(n, dtype=np.bool_)
        for column, value in wanted:
            mask &= binding[:n, column] == value
        kept = binding[:n][mask]
        if kept.shape[0]:
            after(kept, kept.shape[0])

    return push if wanted else after
