"""A strand of a node: a plan that is bound to its tables and ends at its queues."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from whence.network.model import Annotation, Row, Scheme
from whence.network.strands.bind import (
    Bindings,
    Fire,
    Run,
    chain,
    premises_of,
    row_of,
    slots_for,
    starter,
)
from whence.network.strands.endings import Emit, Kept, PerEvent
from whence.network.strands.expressions import Slots
from whence.network.strands.plan import SIGN, Mode, StrandPlan


class Outlets(Bindings, Protocol):
    """What a strand needs of a node to be bound and to end."""

    scheme: Scheme

    def outlet(self, plan: StrandPlan) -> Emit:
        """Return what takes the derived tuples of a strand."""

    def ending(self, name: str, at: int | None, row: Callable[[Slots], Row], sign: int) -> Run:
        """Return what takes the derived tuples of a strand right out of its slots."""

    def kept(self, plan: StrandPlan) -> Kept:
        """Return the groups of a rule with an aggregate, which its strands share."""

    def falsify(self, variables: Sequence[Hashable]) -> None:
        """Make variables false."""


@dataclass(slots=True)
class Strand:
    """A bound strand, who uses it, and how often it was started."""

    plan: StrandPlan
    fire: Fire
    refresh: Fire
    count: list[int]
    users: list[str] = field(default_factory=list)


def bound(plan: StrandPlan, node: Outlets) -> Strand:
    """Return a strand of a node."""
    env = slots_for(plan)
    count = [0]
    emit = node.outlet(plan)
    if not plan.head.folds:
        annotated = plan.mode is Mode.VIEW and node.scheme.annotated
        if annotated:
            end = _derived(plan, node, emit)
        elif plan.mode is Mode.VIEW:
            end = _signed(plan, emit)
        else:
            sign = -1 if plan.head.delete else 1
            end = node.ending(plan.head.relation, plan.head.location, row_of(plan.head), sign)
        run = chain(plan, node, end, keep_rows=annotated)
        fire = starter(plan, node, env, run, count)
        return Strand(plan, fire, fire, count)
    if plan.event:
        sign = -1 if plan.head.delete else 1
        folding = PerEvent(plan.head, emit, plan.rule, node.fault, plan.zero, sign)
        run = chain(plan, node, folding.end(), keep_rows=False)
        fire = folding.around(starter(plan, node, env, run, count), env)
        return Strand(plan, fire, fire, count)
    kept, view = node.kept(plan), plan.mode is Mode.VIEW
    if view and not node.scheme.retracting:
        emit = _issued(plan, node, emit)
    run = chain(plan, node, kept.end(plan.head), keep_rows=False)
    again = chain(plan, node, kept.mark(plan.head), keep_rows=False)
    return Strand(
        plan,
        kept.around(starter(plan, node, env, run, count), emit, view=view),
        kept.around(starter(plan, node, env, again, count), emit, view=view, again=True),
        count,
    )


def _signed(plan: StrandPlan, emit: Emit) -> Run:
    row = row_of(plan.head)
    return lambda env: emit(env[SIGN], row(env), None)


def _derived(plan: StrandPlan, node: Outlets, emit: Emit) -> Run:
    row, premises = row_of(plan.head), premises_of(plan, node)
    relation, rule, scheme = plan.head.relation, plan.rule, node.scheme
    derive: Callable[..., Annotation | None] = scheme.derive
    retracting = scheme.retracting

    def derived(env: Slots) -> None:
        head = row(env)
        note = derive(rule, (relation, head), premises(env))
        if note is not None or retracting:
            emit(env[SIGN], head, note)

    return derived


def _issued(plan: StrandPlan, node: Outlets, emit: Emit) -> Emit:
    """Return an outlet for rows of an aggregate: base tuples with variables of their own."""
    scheme, relation = node.scheme, plan.head.relation
    issued: dict[Row, Annotation] = node.kept(plan).issued

    def issue(sign: int, row: Row, _: Annotation) -> None:
        if sign > 0:
            issued[row] = scheme.base(relation, row)
            emit(1, row, issued[row])
        else:
            node.falsify([scheme.variable(issued.pop(row))])

    return issue
