"""A strand of a node: code that all nodes share, and the slots of this one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, Protocol

from whence.network.model import Annotation, Row, Scheme
from whence.network.strands.bind import chain, premises_of, slots_for, starter
from whence.network.strands.endings import (
    Emit,
    Kept,
    contribution,
    per_event,
    reminder,
    telling,
)
from whence.network.strands.expressions import Slots
from whence.network.strands.needs import Bindings, Fire, Needs, Run, Start, row_of
from whence.network.strands.plan import COUNT, DELTA, FAULT, FIRST, SIGN, Mode, StrandPlan
from whence.network.table import Shape


class Outlets(Bindings, Protocol):
    """What a strand needs of a node to be bound and to end."""

    scheme: Scheme

    def outlet_of(self, name: str, at: int | None) -> Emit:
        """Return what takes derived tuples of a relation."""

    def kept(self, plan: StrandPlan) -> Kept:
        """Return the groups of a rule with an aggregate, which its strands share."""

    def falsify(self, variables: Sequence[Hashable]) -> None:
        """Make variables false."""


@dataclass(frozen=True, slots=True)
class Code:
    """A strand before it has a node: how it is started and refreshed, and its slots."""

    plan: StrandPlan
    start: Start
    refresh: Start
    slots: Slots
    needs: Sequence[Callable[[Any], object]]


@dataclass(slots=True)
class Strand:
    """A strand of a node, and who uses it."""

    plan: StrandPlan
    fire: Fire
    refresh: Fire
    slots: Slots
    users: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Return how often it was started."""
        return int(self.slots[COUNT])


def bound(code: Code, node: Outlets) -> Strand:
    """Return the strand of a node."""
    env = [*code.slots, *(got(node) for got in code.needs)]
    env[FAULT] = node.fault
    fire = partial(code.start, env)
    again = fire if code.refresh is code.start else partial(code.refresh, env)
    return Strand(code.plan, fire, again, env)


def compile_strand(
    plan: StrandPlan, shapes: Mapping[str, Shape], *, annotated: bool, retracting: bool
) -> Code:
    """Return the code of a strand for nodes whose scheme is `annotated` and `retracting`."""
    needs = Needs(plan, shapes)
    name, at = plan.head.relation, plan.head.location
    view = plan.mode is Mode.VIEW
    if plan.head.folds and not plan.event:
        return _kept(plan, needs, issue=view and not retracting)
    emit = needs.slot(lambda node: node.outlet_of(name, at))
    if plan.head.folds:
        end, around = per_event(plan, emit)
        start = around(starter(plan, needs, chain(plan, needs, end, keep_rows=False)))
    else:
        derived = view and annotated
        end = _derived(plan, needs, emit, retracting) if derived else _plain(plan, emit)
        start = starter(plan, needs, chain(plan, needs, end, keep_rows=derived))
    return Code(plan, start, start, slots_for(plan), needs.made)


def _kept(plan: StrandPlan, needs: Needs, *, issue: bool) -> Code:
    name, at = plan.head.relation, plan.head.location
    kept = needs.slot(lambda node: node.kept(plan))
    emit = needs.slot(lambda node: _issued(plan, node) if issue else node.outlet_of(name, at))
    run = chain(plan, needs, contribution(plan, kept), keep_rows=False)
    again = chain(plan, needs, reminder(plan, kept), keep_rows=False)
    return Code(
        plan,
        telling(plan, kept, emit, starter(plan, needs, run), again=False),
        telling(plan, kept, emit, starter(plan, needs, again), again=True),
        slots_for(plan),
        needs.made,
    )


def _plain(plan: StrandPlan, emit: int) -> Run:
    whole = tuple(range(FIRST, FIRST + plan.width))
    # A head that is the tuple itself under another name needs no new row.
    row = itemgetter(DELTA) if plan.head.slots == whole else row_of(plan.head)
    if plan.mode is Mode.VIEW:
        return lambda env: env[emit](env[SIGN], row(env), None)
    sign = -1 if plan.head.delete else 1
    return lambda env: env[emit](sign, row(env), None)


def _derived(plan: StrandPlan, needs: Needs, emit: int, retracting: bool) -> Run:
    row, premises = row_of(plan.head), premises_of(plan, needs)
    relation, rule = plan.head.relation, plan.rule
    derive = needs.slot(lambda node: node.scheme.derive)

    def derived(env: Slots) -> None:
        head = row(env)
        note = env[derive](rule, (relation, head), premises(env))
        if note is not None or retracting:
            env[emit](env[SIGN], head, note)

    return derived


def _issued(plan: StrandPlan, node: Outlets) -> Emit:
    """Return an outlet for rows of an aggregate: base tuples with variables of their own."""
    scheme, relation, issued = node.scheme, plan.head.relation, node.kept(plan).issued
    emit = node.outlet_of(relation, plan.head.location)

    def issue(sign: int, row: Row, _: Annotation) -> None:
        if sign > 0:
            issued[row] = scheme.base(relation, row)
            emit(1, row, issued[row])
        else:
            node.falsify([scheme.variable(issued.pop(row))])

    return issue
