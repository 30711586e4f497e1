"""How strands end: with a derived tuple on its way, or with a value in an aggregate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from whence.functor.ndlog import FAULTS
from whence.network.model import Annotation, Row
from whence.network.strands.expressions import Slots
from whence.network.strands.folds import Running, running
from whence.network.strands.needs import Run, Start
from whence.network.strands.plan import FAULT, SIGN, Fold, Head, Mode, StrandPlan

Emit = Callable[[int, Row, Annotation], None]
Group = tuple[Any, ...]


def group_of(head: Head) -> Callable[[Slots], Group]:
    """Return the function from slots to the columns of a head that are no aggregates."""
    folded = {fold.column for fold in head.folds}
    slots = [slot for column, slot in enumerate(head.slots) if column not in folded]
    match slots:
        case []:
            return lambda env: ()
        case [only]:
            return lambda env: (env[only],)
        case _:
            return itemgetter(*slots)


def whole_row(head: Head) -> Callable[[Group, list[Any]], Row]:
    """Return the function that puts the values of aggregates into their columns."""
    columns = [fold.column for fold in head.folds]
    if len(columns) == 1:
        at = columns[0]
        return lambda group, values: (*group[:at], values[0], *group[at:])

    def assemble(group: Group, values: list[Any]) -> Row:
        row = list(group)
        for column, value in zip(columns, values, strict=True):
            row.insert(column, value)
        return tuple(row)

    return assemble


# ── over what one event gives ────────────────────────────────────────────────────────


def total(values: list[Any]) -> Any:
    """Return the sum, exactly rounded where there are floats."""
    return math.fsum(values) if any(isinstance(v, float) for v in values) else sum(values)


FOLDS: dict[str, Callable[[list[Any]], Any]] = {
    "min": min,
    "max": max,
    "count": len,
    "sum": total,
    "avg": lambda values: total(values) / len(values),
}


def per_event(plan: StrandPlan, emit: int) -> tuple[Run, Callable[[Start], Start]]:
    """Return the end of the steps, which collects, and what folds once they have run.

    All nodes may share the groups: they are empty before and after each event.
    """
    head, zero, rule = plan.head, plan.zero, plan.rule
    groups: dict[Group, list[list[Any]]] = {}
    group, assemble = group_of(head), whole_row(head)
    slots = [fold.slot for fold in head.folds]
    folds = [FOLDS[fold.function] for fold in head.folds]
    sign = -1 if head.delete else 1

    def collect_one(env: Slots) -> None:
        key = group(env)
        columns = groups.get(key)
        if columns is None:
            groups[key] = [[env[only]]]
        else:
            columns[0].append(env[only])

    def collect(env: Slots) -> None:
        key = group(env)
        columns = groups.get(key)
        if columns is None:
            columns = groups[key] = [[] for _ in slots]
        for column, slot in zip(columns, slots, strict=True):
            column.append(None if slot is None else env[slot])

    only = slots[0] or SIGN  # what is only counted may be anything

    def around(start: Start) -> Start:
        def start_and_fold(env: Slots, _sign: int, row: Row, annotation: Annotation) -> None:
            groups.clear()
            start(env, 1, row, annotation)
            if not groups and zero:
                env[emit](sign, assemble(group(env), [0] * len(folds)), None)
            for key, columns in groups.items():
                try:
                    values = [fold(c) for fold, c in zip(folds, columns, strict=True)]
                except FAULTS as error:
                    env[FAULT](rule, error)
                    continue
                env[emit](sign, assemble(key, values), None)

        return start_and_fold

    return (collect_one if len(slots) == 1 else collect), around


# ── over tables ──────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _State:
    """One group: its multisets, how many derivations are in, and the row that was last told."""

    parts: list[Running]
    count: int = 0
    told: Row | None = None


@dataclass(slots=True)
class Kept:
    """The groups of one rule at one node, which all its strands share."""

    groups: dict[Group, _State] = field(default_factory=dict)
    touched: dict[Group, None] = field(default_factory=dict)
    """Those that may have changed since they were last told."""
    issued: dict[Row, Annotation] = field(default_factory=dict)
    """The variables of rows that were told, under a scheme that has variables."""


def contribution(plan: StrandPlan, kept: int) -> Run:
    """Return the end of the steps: a value comes into a group or goes."""
    group, folds, rule = group_of(plan.head), plan.head.folds, plan.rule

    def contribute(env: Slots) -> None:
        key, here = group(env), env[kept]
        state = here.groups.get(key)
        if state is None:
            state = here.groups[key] = _State([running(fold.function) for fold in folds])
        try:
            _change(state, env, folds)
        except FAULTS as error:
            env[FAULT](rule, error)
            return
        here.touched[key] = None

    return contribute


def reminder(plan: StrandPlan, kept: int) -> Run:
    """Return the end of the steps of a refresh: the group is told again."""
    group = group_of(plan.head)

    def remind(env: Slots) -> None:
        env[kept].touched[group(env)] = None

    return remind


def telling(plan: StrandPlan, kept: int, emit: int, start: Start, *, again: bool) -> Start:
    """Return the start of the steps, with what is told of groups once they have run.

    A view takes back what it said before; other heads are replaced by key, or time out.
    """
    assemble, view, rule = whole_row(plan.head), plan.mode is Mode.VIEW, plan.rule

    def start_and_tell(env: Slots, sign: int, row: Row, annotation: Annotation) -> None:
        start(env, sign, row, annotation)
        here = env[kept]
        for key in here.touched:
            state = here.groups.get(key)
            if state is None:
                continue
            before, now = state.told, None
            if state.count:
                try:
                    now = assemble(key, [part.value() for part in state.parts])
                except FAULTS as error:  # values that have no order among them
                    env[FAULT](rule, error)
                    continue
            else:
                del here.groups[key]
            state.told = now
            if before != now or again:
                if view and before is not None:
                    env[emit](-1, before, None)
                if now is not None:
                    env[emit](1, now, None)
        here.touched.clear()

    return start_and_tell


def _change(state: _State, env: Slots, folds: tuple[Fold, ...]) -> None:
    values = [None if fold.slot is None else env[fold.slot] for fold in folds]
    coming = env[SIGN] > 0
    for part, value in zip(state.parts, values, strict=True):
        if coming:
            part.add(value)
        else:
            part.discard(value)
    state.count += 1 if coming else -1
