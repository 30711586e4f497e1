"""Which heads have an instance: a rule run from its head, stopping at the first that is found.

The last steps of such a plan are usually a join and a look-up of a whole tuple. They are one
kernel here, because a head needs only one instance and most have one among the first they try.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from whence.engine.local.kernels import live as kernels
from whence.engine.local.kernels import support as asking
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.live import LiveRelation
from whence.engine.local.live_operators import group_bindings, in_order, limit_slot, names_a_row
from whence.engine.local.operators import CHUNK, Chunks, KeySlots, Push
from whence.engine.local.rules import Scope, compile_steps, reads
from whence.plan.nodes import Exists, Probe, RulePlan, Scan, Step, Version
from whence.syntax.nodes import Atom, Variable

Marks = Callable[[], tuple[Flags, Ints]]
"""Where to mark the numbers of the heads that have an instance, and where its witness goes."""


def compile_support(
    plan: RulePlan, own: Collection[str], scope: Scope, chunks: Chunks, marks: Marks
) -> Push:
    """Return the plan as a function over heads that marks the numbers that come out of it.

    The witness of an instance is the rank of one of its premises in `own`.
    """
    (number,) = plan.head.args
    assert isinstance(number, Variable)
    steps = plan.steps
    tail = _tail(steps, scope)
    if not tail:

        def sink(rows: Rows, n: int) -> None:
            marked, witness = marks()
            marked[rows[:n, 0]] = 1
            witness[rows[:n, 0]] = kernels.UNKNOWN

        return compile_steps(steps, plan.head, {}, scope, chunks, sink)
    front, back = steps[: -len(tail)], steps[-len(tail) :]
    needed = sorted({number.name}.union(*map(reads, back)) - _given(back))
    scan = front[0]
    if len(front) == 1 and isinstance(scan, Scan) and not scan.key:
        slots = {name: column for column, name in scan.takes}
        return _marking(plan, back, slots, number.name, own, scope, marks)
    head = Atom("@bindings", tuple(map(Variable, needed)))
    slots = {name: slot for slot, name in enumerate(needed)}
    after = _marking(plan, back, slots, number.name, own, scope, marks)
    return compile_steps(front, head, {}, scope, chunks, after)


def _given(steps: Sequence[Step]) -> set[str]:
    return {name for step in steps if isinstance(step, Probe) for _, name in step.takes}


def _tail(steps: Sequence[Step], scope: Scope) -> Sequence[Step]:
    """Return the last steps that one kernel can do."""
    if len(steps) < 2 or not isinstance(steps[0], Scan) or not _looks_up(steps[-1], scope):
        return ()
    before = steps[-2]
    if not isinstance(before, Probe) or before.version is not Version.ALL:
        return steps[-1:]
    return steps[-1:] if names_a_row(before, _live(before, scope)) else steps[-2:]


def _looks_up(step: Step, scope: Scope) -> bool:
    return (
        isinstance(step, Exists)
        and not step.negated
        and step.version is Version.ALL
        and names_a_row(step, _live(step, scope))
    )


def _live(step: Probe | Exists, scope: Scope) -> LiveRelation:
    relation = scope.relations[step.relation]
    assert isinstance(relation, LiveRelation)
    return relation


def _witness(plan: RulePlan, back: Sequence[Step], own: Collection[str]) -> int:
    """Say which of the last steps gives the witness, as the kernels take it."""
    reading = [s for s in plan.steps if isinstance(s, Probe | Exists) and s.relation in own]
    if not reading:
        return kernels.NO_PREMISE
    places = [i for i, s in enumerate(back, 3 - len(back)) if s in reading]
    return places[-1] if places else kernels.OTHER_PREMISE


def _marking(
    plan: RulePlan,
    steps: Sequence[Step],
    slots: Mapping[str, int],
    number: str,
    own: Collection[str],
    scope: Scope,
    marks: Marks,
) -> Push:
    look = steps[-1]
    source = _witness(plan, steps, own)
    assert isinstance(look, Exists)
    relation = _live(look, scope)
    below = limit_slot(look, slots)
    ranks: Ints = np.empty(CHUNK, dtype=np.int64)
    if len(steps) == 1:
        named = in_order(KeySlots(look, slots, scope.code))
        at: Ints = np.empty(CHUNK, dtype=np.int64)

        def mark(binding: Rows, n: int) -> None:
            relation.find_ranks(binding, n, named, at, ranks)
            asking.mark_row(binding, n, slots[number], ranks, below, source, *marks())
            scope.guard.work += n

        return mark
    probe = steps[0]
    assert isinstance(probe, Probe)
    other = _live(probe, scope)
    taken = {name: column for column, name in probe.takes}
    key = KeySlots(probe, slots, scope.code)
    both = {**slots, **dict.fromkeys(taken, -1)}
    joined_slots, joined_consts = in_order(KeySlots(look, both, scope.code))
    joined_taken = np.array(
        [
            taken.get(operand.name, -1) if isinstance(operand, Variable) else -1
            for _, operand in sorted(look.key, key=lambda part: part[0])
        ],
        dtype=np.int64,
    )
    index = other.index(key.columns)
    other_below = limit_slot(probe, slots)
    groups, active = (np.empty(CHUNK, dtype=np.int64) for _ in range(2))

    def mark_joined(binding: Rows, n: int) -> None:
        group_bindings(binding, n, key, index, other, groups)
        asking.mark_joined(
            binding,
            n,
            slots[number],
            groups,
            index.start,
            index.count,
            index.pool,
            other.rows,
            other_below,
            joined_slots,
            joined_taken,
            joined_consts,
            *relation.table,
            relation.rows,
            below,
            source,
            active,
            ranks,
            *marks(),
        )
        scope.guard.work += n

    return mark_joined
