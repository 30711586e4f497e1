"""The steps of a strand as closures, one per step, each calling the next.

They belong to a plan, not to a node: tables and whatever else a node has are in slots, too, which
`Needs` gives out. So all nodes of a process share the closures of a program, which then stay in
the caches of the processor; a node has but a list of slots for each strand. That all closures of a
strand work on one list is safe, since a strand runs to its end before anything it derived is
looked at, and since a slot is written before it is read on every way.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from whence.network.model import Annotation, Premise, Row
from whence.network.strands.expressions import Slots
from whence.network.strands.needs import Needs, Run, Start, pick
from whence.network.strands.plan import (
    ANNOTATION,
    COUNT,
    DELTA,
    FIRST,
    SIGN,
    Absent,
    Join,
    Mode,
    StrandPlan,
)
from whence.network.strands.steps import bound_step
from whence.network.table import columns_of


def slots_for(plan: StrandPlan) -> Slots:
    """Return the slots of a strand, with its constants in them, before it has a node."""
    env: Slots = [None] * plan.size
    for slot, value in plan.constants:
        env[slot] = value
    env[SIGN], env[COUNT] = 1, 0
    return env


def chain(plan: StrandPlan, needs: Needs, end: Run, *, keep_rows: bool) -> Run:
    """Return the steps of a strand before its end, as one function."""
    run = end
    for step in reversed(plan.steps):
        run = bound_step(step, plan.rule, needs, run, keep_rows)
    return run


def starter(plan: StrandPlan, needs: Needs, run: Run) -> Start:
    """Return what puts a changed tuple into the slots and starts the steps; it counts how often."""
    stop = FIRST + plan.width
    if not plan.negated and plan.mode is not Mode.VIEW and (plan.event or not plan.head.folds):
        # Nobody asks for the sign, and for the tuple only whoever must not see it again.
        def start_once(env: Slots, sign: int, row: Row, annotation: Annotation) -> None:
            env[COUNT] += 1
            env[DELTA] = row
            env[FIRST:stop] = row
            run(env)

        return start_once
    if not plan.negated:

        def start(env: Slots, sign: int, row: Row, annotation: Annotation) -> None:
            env[SIGN] = sign
            env[ANNOTATION] = annotation
            env[DELTA] = row
            env[COUNT] += 1
            env[FIRST:stop] = row
            run(env)

        return start
    at, key = needs.index(plan.relation, plan.delta_columns), columns_of(plan.delta_columns)

    def start_negated(env: Slots, sign: int, row: Row, annotation: Annotation) -> None:
        # It matters only if no other row denies the same: it came first, or is the last to go.
        if len(env[at][key(row)]) == 1:
            env[SIGN] = -sign
            env[ANNOTATION] = annotation
            env[DELTA] = row
            env[COUNT] += 1
            env[FIRST:stop] = row
            run(env)

    return start_negated


# ── premises ─────────────────────────────────────────────────────────────────────────


def premises_of(plan: StrandPlan, needs: Needs) -> Callable[[Slots], list[Premise]]:
    """Return the function from slots to the premises of a derivation, in the order of the body."""
    parts: list[tuple[int, Callable[[Slots], Premise]]] = []
    if plan.negated:
        columns, key = plan.delta_columns, columns_of(plan.delta_columns)
        denied = _denied(plan.relation, columns, lambda env: key(env[DELTA]), needs)
        parts.append((plan.position, denied))
    else:
        relation = plan.relation
        parts.append((plan.position, lambda env: (relation, env[DELTA], env[ANNOTATION])))
    for step in plan.steps:
        if isinstance(step, Join):
            parts.append((step.position, _joined(step.relation, step.row, needs)))
        elif isinstance(step, Absent):
            denied = _denied(step.relation, step.columns, pick(step.key), needs)
            parts.append((step.position, denied))
    ordered = [part for _, part in sorted(parts, key=itemgetter(0))]
    return lambda env: [part(env) for part in ordered]


def _joined(relation: str, slot: int, needs: Needs) -> Callable[[Slots], Premise]:
    at = needs.rows(relation)
    return lambda env: (relation, env[slot], env[at][env[slot]])


def _denied(
    relation: str, columns: tuple[int, ...], key: Callable[[Slots], Any], needs: Needs
) -> Callable[[Slots], Premise]:
    absence = needs.slot(lambda node: node.absence)

    def denied(env: Slots) -> Premise:
        value = key(env)
        row: Row = (value,) if len(columns) == 1 else value
        return "!" + relation, row, env[absence](relation, columns, value)

    return denied
