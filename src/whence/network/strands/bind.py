"""The steps of a strand as closures, one per step, each calling the next.

They belong to a plan, not to a node: tables and whatever else a node has are in slots, too, which
`Needs` gives out. So all nodes of a process share the closures of a program, which then stay in
the caches of the processor; a node has but a list of slots for each strand. That all closures of a
strand work on one list is safe, since a strand runs to its end before anything it derived is
looked at, and since a slot is written before it is read on every way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import itemgetter
from typing import Any, Protocol

from whence.functor.ndlog import FAULTS
from whence.network.model import Annotation, Premise, Row
from whence.network.strands.expressions import Functions, Slots, compiled
from whence.network.strands.functions import PURE
from whence.network.strands.plan import (
    ANNOTATION,
    COUNT,
    DELTA,
    FAULT,
    FIRST,
    SIGN,
    Absent,
    Apply,
    Assign,
    Expression,
    Head,
    Join,
    Mode,
    Slot,
    Step,
    StrandPlan,
    Test,
)
from whence.network.table import Shape, Table, columns_of

Run = Callable[[Slots], None]
Fire = Callable[[int, Row, Annotation], None]
Start = Callable[[Slots, int, Row, Annotation], None]


class Bindings(Protocol):
    """What a strand needs of a node."""

    functions: Functions

    def table(self, relation: str) -> Table:
        """Return a table, which is made if it is not there."""

    def absence(self, relation: str, columns: tuple[int, ...], key: Hashable) -> Annotation:
        """Return the annotation of a negated literal that holds."""

    def fault(self, rule: str, error: Exception) -> None:
        """Take note that a function had no value."""


class Needs:
    """What a strand needs of its node, each thing in a slot of its own, and how it is got."""

    def __init__(self, plan: StrandPlan, shapes: Mapping[str, Shape]) -> None:
        self.shapes = shapes
        self.made: list[Callable[[Any], object]] = []
        self._first = plan.size

    def slot(self, got: Callable[[Any], object]) -> int:
        """Return the slot of a thing that is got from the node."""
        self.made.append(got)
        return self._first + len(self.made) - 1

    def rows(self, relation: str) -> int:
        """Return the slot of the rows of a table."""
        return self.slot(lambda node: node.table(relation).rows)

    def index(self, relation: str, columns: tuple[int, ...]) -> int:
        """Return the slot of an index of a table."""
        return self.slot(lambda node: node.table(relation).index(columns))

    def function(self, name: str) -> int:
        """Return the slot of a function that asks the node."""
        return self.slot(lambda node: node.functions[name])


def pick(slots: tuple[int, ...]) -> Callable[[Slots], Any]:
    """Return the function from slots to the key of an index: one value, or a tuple."""
    return columns_of(slots)  # type: ignore[return-value]


def row_of(head: Head) -> Callable[[Slots], Row]:
    """Return the function from slots to the row of a head."""
    if len(head.slots) == 1:
        only = head.slots[0]
        return lambda env: (env[only],)
    return itemgetter(*head.slots) if head.slots else lambda env: ()


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
        run = _step(step, plan.rule, needs, run, keep_rows)
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


# ── steps ────────────────────────────────────────────────────────────────────────────


def _step(step: Step, rule: str, needs: Needs, run: Run, keep_rows: bool) -> Run:
    match step:
        case Join():
            return _join(step, needs, run, keep_rows)
        case Absent():
            return _absent(step, needs, run)
        case Test(condition=condition):
            return _test(condition, needs, rule, run)
        case Assign(slot=slot, value=value):
            return _assign(slot, value, needs, rule, run)


def _join(step: Join, needs: Needs, run: Run, keep_rows: bool) -> Run:
    start, stop = step.start, step.start + step.width
    if not step.columns:
        every = needs.rows(step.relation)
        if step.earlier or keep_rows:
            return _careful(lambda env: env[every], step, run)

        def scan(env: Slots) -> None:
            for row in env[every]:
                env[start:stop] = row
                run(env)

        return scan
    if len(step.columns) == step.width:
        return _member(step, needs, run)
    shape = needs.shapes[step.relation]
    if shape.key is not None and set(shape.key) <= set(step.columns):
        return _by_key(step, shape.key, needs, run)
    key, at = pick(step.key), needs.index(step.relation, step.columns)
    if step.earlier or keep_rows:
        return _careful(lambda env: env[at].get(key(env), ()), step, run)

    def probe(env: Slots) -> None:
        bucket = env[at].get(key(env))
        if bucket is not None:
            for row in bucket:
                env[start:stop] = row
                run(env)

    return probe


def _careful(matching: Callable[[Slots], Any], step: Join, run: Run) -> Run:
    """Return a join that remembers its row, and may leave out the tuple that changed."""
    start, stop, slot, earlier = step.start, step.start + step.width, step.row, step.earlier

    def probe(env: Slots) -> None:
        for row in matching(env):
            if earlier and row == env[DELTA]:
                continue
            env[start:stop] = row
            env[slot] = row
            run(env)

    return probe


def _member(step: Join, needs: Needs, run: Run) -> Run:
    """Return a join with a row that is known: it is there or not."""
    start, stop, slot, earlier = step.start, step.start + step.width, step.row, step.earlier
    rows, whole = needs.rows(step.relation), row_of(Head("", step.key, None))

    def member(env: Slots) -> None:
        row = whole(env)
        if row in env[rows] and not (earlier and row == env[DELTA]):
            env[start:stop] = row
            env[slot] = row
            run(env)

    return member


def _by_key(step: Join, primary: tuple[int, ...], needs: Needs, run: Run) -> Run:
    """Return a join that finds at most one row, by the primary key."""
    at = needs.slot(lambda node: node.table(step.relation).by_key)
    given = dict(zip(step.columns, step.key, strict=True))
    key = pick(tuple(given[column] for column in primary))
    checks = [(step.start + c, s) for c, s in given.items() if c not in primary]
    start, stop, slot, earlier = step.start, step.start + step.width, step.row, step.earlier
    if not checks and not earlier:

        def lookup_only(env: Slots) -> None:
            row = env[at].get(key(env))
            if row is not None:
                env[start:stop] = row
                env[slot] = row
                run(env)

        return lookup_only

    def lookup(env: Slots) -> None:
        row = env[at].get(key(env))
        if row is None:
            return
        env[start:stop] = row
        env[slot] = row
        for here, there in checks:
            if env[here] != env[there]:
                return
        if not (earlier and row == env[DELTA]):
            run(env)

    return lookup


def _absent(step: Absent, needs: Needs, run: Run) -> Run:
    key, at = pick(step.key), needs.index(step.relation, step.columns)
    if step.earlier:

        def absent_before(env: Slots) -> None:
            bucket = env[at].get(key(env))
            if bucket is None or (len(bucket) == 1 and env[DELTA] in bucket):
                run(env)

        return absent_before

    def absent(env: Slots) -> None:
        if key(env) not in env[at]:
            run(env)

    return absent


# What has slots only for arguments is computed in place: one call less for most conditions.


def _test(condition: Expression, needs: Needs, rule: str, run: Run) -> Run:
    match condition:
        case Apply(function=name, args=(Slot(index=a), Slot(index=b))) if name in PURE:
            two = PURE[name]

            def test_two(env: Slots) -> None:
                try:
                    holds = two(env[a], env[b])
                except FAULTS as error:
                    env[FAULT](rule, error)
                    return
                if holds:
                    run(env)

            return test_two
        case Apply(function=name, args=(Slot(index=a), Slot(index=b), Slot(index=c))) if (
            name in PURE
        ):
            three = PURE[name]

            def test_three(env: Slots) -> None:
                try:
                    holds = three(env[a], env[b], env[c])
                except FAULTS as error:
                    env[FAULT](rule, error)
                    return
                if holds:
                    run(env)

            return test_three
    evaluate = compiled(condition, PURE, needs.function)

    def test(env: Slots) -> None:
        try:
            holds = evaluate(env)
        except FAULTS as error:
            env[FAULT](rule, error)
            return
        if holds:
            run(env)

    return test


def _assign(slot: int, value: Expression, needs: Needs, rule: str, run: Run) -> Run:
    match value:
        case Apply(function=name, args=(Slot(index=a), Slot(index=b))) if name in PURE:
            two = PURE[name]

            def assign_two(env: Slots) -> None:
                try:
                    env[slot] = two(env[a], env[b])
                except FAULTS as error:
                    env[FAULT](rule, error)
                    return
                run(env)

            return assign_two
    evaluate = compiled(value, PURE, needs.function)

    def assign(env: Slots) -> None:
        try:
            env[slot] = evaluate(env)
        except FAULTS as error:
            env[FAULT](rule, error)
            return
        run(env)

    return assign
