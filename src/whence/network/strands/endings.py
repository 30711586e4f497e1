"""How strands end: with a derived tuple on its way, or with a value in an aggregate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from whence.functor.ndlog import FAULTS
from whence.network.model import Annotation, Row
from whence.network.strands.bind import Fault, Fire, Run
from whence.network.strands.expressions import Slots
from whence.network.strands.folds import Running, running
from whence.network.strands.plan import SIGN, Fold, Head

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


@dataclass(slots=True)
class PerEvent:
    """Collects what one event gives, then folds it, group by group."""

    head: Head
    emit: Emit
    rule: str
    fault: Fault
    zero: bool
    sign: int
    groups: dict[Group, list[list[Any]]] = field(default_factory=dict)

    def end(self) -> Run:
        """Return the end of the steps: one more value for a group."""
        groups, group = self.groups, group_of(self.head)
        slots = [fold.slot for fold in self.head.folds]
        if len(slots) == 1:
            only = SIGN if slots[0] is None else slots[0]  # what is only counted may be anything

            def collect_one(env: Slots) -> None:
                key = group(env)
                columns = groups.get(key)
                if columns is None:
                    groups[key] = [[env[only]]]
                else:
                    columns[0].append(env[only])

            return collect_one

        def collect(env: Slots) -> None:
            key = group(env)
            columns = groups.get(key)
            if columns is None:
                columns = groups[key] = [[] for _ in slots]
            for column, slot in zip(columns, slots, strict=True):
                column.append(None if slot is None else env[slot])

        return collect

    def around(self, fire: Fire, env: Slots) -> Fire:
        """Return the start of the steps with what follows once they have run."""
        groups, assemble, group = self.groups, whole_row(self.head), group_of(self.head)
        folds = [FOLDS[fold.function] for fold in self.head.folds]
        emit, sign = self.emit, self.sign

        def fire_and_fold(_sign: int, row: Row, annotation: Annotation) -> None:
            groups.clear()
            fire(1, row, annotation)
            if not groups and self.zero:
                emit(sign, assemble(group(env), [0] * len(folds)), None)
            for key, columns in groups.items():
                try:
                    values = [fold(c) for fold, c in zip(folds, columns, strict=True)]
                except FAULTS as error:
                    self.fault(self.rule, error)
                    continue
                emit(sign, assemble(key, values), None)

        return fire_and_fold


# ── over tables ──────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _State:
    """One group: its multisets, how many derivations are in, and the row that was last told."""

    parts: list[Running]
    count: int = 0
    told: Row | None = None


@dataclass(slots=True)
class Kept:
    """The groups of one rule, which all its strands share, and those that may have changed."""

    head: Head
    rule: str
    fault: Fault
    groups: dict[Group, _State] = field(default_factory=dict)
    touched: dict[Group, None] = field(default_factory=dict)
    issued: dict[Row, Annotation] = field(default_factory=dict)
    """The variables of rows that were told, under a scheme that has variables."""

    def end(self, head: Head) -> Run:
        """Return the end of a strand's steps: a value comes into a group or goes.

        Each strand of the rule has the values of the head in slots of its own.
        """
        groups, touched, group = self.groups, self.touched, group_of(head)
        folds = head.folds

        def contribute(env: Slots) -> None:
            key = group(env)
            state = groups.get(key)
            if state is None:
                state = groups[key] = _State([running(fold.function) for fold in folds])
            try:
                _change(state, env, folds)
            except FAULTS as error:
                self.fault(self.rule, error)
                return
            touched[key] = None

        return contribute

    def mark(self, head: Head) -> Run:
        """Return the end of a strand's steps of a refresh: the group is told again."""
        touched, group = self.touched, group_of(head)

        def mark(env: Slots) -> None:
            touched[group(env)] = None

        return mark

    def around(self, fire: Fire, emit: Emit, *, view: bool, again: bool = False) -> Fire:
        """Return the start of the steps, with what is told of groups once they have run.

        A `view` takes back what it said before; other heads are replaced by key, or time out.
        """
        groups, touched, assemble = self.groups, self.touched, whole_row(self.head)

        def fire_and_tell(sign: int, row: Row, annotation: Annotation) -> None:
            fire(sign, row, annotation)
            for key in touched:
                state = groups.get(key)
                if state is None:
                    continue
                before, now = state.told, None
                if state.count:
                    try:
                        now = assemble(key, [part.value() for part in state.parts])
                    except FAULTS as error:  # values that have no order among them
                        self.fault(self.rule, error)
                        continue
                else:
                    del groups[key]
                state.told = now
                if before != now or again:
                    if view and before is not None:
                        emit(-1, before, None)
                    if now is not None:
                        emit(1, now, None)
            touched.clear()

        return fire_and_tell


def _change(state: _State, env: Slots, folds: tuple[Fold, ...]) -> None:
    values = [None if fold.slot is None else env[fold.slot] for fold in folds]
    coming = env[SIGN] > 0
    for part, value in zip(state.parts, values, strict=True):
        if coming:
            part.add(value)
        else:
            part.discard(value)
    state.count += 1 if coming else -1
