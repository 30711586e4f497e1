"""A strand plan bound to the tables of a node: closures, one per step, each calling the next.

All closures of a strand share one list of slots. That is safe since a strand runs to its end before
anything it derived is looked at, and since a slot is written before it is read on every way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import itemgetter
from typing import Any, Protocol

from whence.functor.ndlog import FAULTS
from whence.network.model import Annotation, Premise, Row
from whence.network.strands.expressions import Functions, Slots, compiled
from whence.network.strands.plan import (
    ANNOTATION,
    DELTA,
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
from whence.network.table import Table, columns_of

Run = Callable[[Slots], None]
Fire = Callable[[int, Row, Annotation], None]


class Fault(Protocol):
    """Whoever hears that a function had no value."""

    def __call__(self, rule: str, error: Exception) -> None:
        """Take note of it."""


class Bindings(Protocol):
    """What a strand needs of a node."""

    functions: Functions

    def table(self, relation: str) -> Table:
        """Return a table, which is made if it is not there."""

    def absence(self, relation: str, columns: tuple[int, ...], key: Hashable) -> Annotation:
        """Return the annotation of a negated literal that holds."""

    def fault(self, rule: str, error: Exception) -> None:
        """Take note that a function had no value."""


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
    """Return the slots of a strand, with its constants in them."""
    env: Slots = [None] * plan.size
    for slot, value in plan.constants:
        env[slot] = value
    return env


def chain(plan: StrandPlan, bindings: Bindings, end: Run, *, keep_rows: bool) -> Run:
    """Return the steps of a strand before its end, as one function."""
    run = end
    for step in reversed(plan.steps):
        run = _bound(step, plan, bindings, run, keep_rows)
    return run


def starter(plan: StrandPlan, bindings: Bindings, env: Slots, run: Run, count: list[int]) -> Fire:
    """Return what puts a changed tuple into the slots and starts the steps; it counts how often."""
    stop = FIRST + plan.width
    if not plan.negated and plan.mode is not Mode.VIEW and (plan.event or not plan.head.folds):
        # Nobody asks for the sign, and for the tuple only whoever must not see it again.
        def fire_once(sign: int, row: Row, annotation: Annotation) -> None:
            count[0] += 1
            env[DELTA] = row
            env[FIRST:stop] = row
            run(env)

        env[SIGN] = 1
        return fire_once
    if not plan.negated:

        def fire(sign: int, row: Row, annotation: Annotation) -> None:
            count[0] += 1
            env[SIGN] = sign
            env[ANNOTATION] = annotation
            env[DELTA] = row
            env[FIRST:stop] = row
            run(env)

        return fire
    buckets = bindings.table(plan.relation).index(plan.delta_columns)
    key = columns_of(plan.delta_columns)

    def fire_negated(sign: int, row: Row, annotation: Annotation) -> None:
        # It matters only if no other row denies the same: it came first, or is the last to go.
        if len(buckets[key(row)]) == 1:
            count[0] += 1
            env[SIGN] = -sign
            env[ANNOTATION] = annotation
            env[DELTA] = row
            env[FIRST:stop] = row
            run(env)

    return fire_negated


def premises_of(plan: StrandPlan, bindings: Bindings) -> Callable[[Slots], list[Premise]]:
    """Return the function from slots to the premises of a derivation, in the order of the body."""
    parts: list[tuple[int, Callable[[Slots], Premise]]] = [(plan.position, _delta(plan, bindings))]
    for step in plan.steps:
        if isinstance(step, Join):
            rows = bindings.table(step.relation).rows
            parts.append((step.position, _joined(step.relation, step.row, rows)))
        elif isinstance(step, Absent):
            parts.append((step.position, _denied(step, bindings)))
    ordered = [part for _, part in sorted(parts, key=itemgetter(0))]
    return lambda env: [part(env) for part in ordered]


def _delta(plan: StrandPlan, bindings: Bindings) -> Callable[[Slots], Premise]:
    relation = plan.relation
    if not plan.negated:
        return lambda env: (relation, env[DELTA], env[ANNOTATION])
    columns, key = plan.delta_columns, columns_of(plan.delta_columns)

    def denied(env: Slots) -> Premise:
        value = key(env[DELTA])
        return "!" + relation, _as_row(value, columns), bindings.absence(relation, columns, value)

    return denied


def _joined(relation: str, slot: int, rows: Mapping[Row, Annotation]) -> Callable[[Slots], Premise]:
    return lambda env: (relation, env[slot], rows[env[slot]])


def _denied(step: Absent, bindings: Bindings) -> Callable[[Slots], Premise]:
    relation, columns, key = step.relation, step.columns, pick(step.key)

    def denied(env: Slots) -> Premise:
        value = key(env)
        return "!" + relation, _as_row(value, columns), bindings.absence(relation, columns, value)

    return denied


def _as_row(value: Any, columns: tuple[int, ...]) -> Row:
    return (value,) if len(columns) == 1 else value


# ── steps ────────────────────────────────────────────────────────────────────────────


def _bound(step: Step, plan: StrandPlan, bindings: Bindings, run: Run, keep_rows: bool) -> Run:
    match step:
        case Join():
            return _join(step, bindings.table(step.relation), run, keep_rows)
        case Absent():
            return _absent(step, bindings.table(step.relation), run)
        case Test(condition=condition):
            return _test(condition, bindings.functions, plan.rule, bindings.fault, run)
        case Assign(slot=slot, value=value):
            return _assign(slot, value, bindings.functions, plan.rule, bindings.fault, run)


def _join(step: Join, table: Table, run: Run, keep_rows: bool) -> Run:
    start, stop, slot = step.start, step.start + step.width, step.row
    if not step.columns:
        rows: Mapping[Row, object] = table.rows
        if step.earlier or keep_rows:
            return _careful(lambda env: rows, step, run)

        def scan(env: Slots) -> None:
            for row in rows:
                env[start:stop] = row
                run(env)

        return scan
    key = pick(step.key)
    if len(step.columns) == step.width:  # the row itself is known: it is there or not
        rows, whole = table.rows, row_of(Head("", step.key, None))
        earlier = step.earlier

        def member(env: Slots) -> None:
            row = whole(env)
            if row in rows and not (earlier and row == env[DELTA]):
                env[start:stop] = row
                env[slot] = row
                run(env)

        return member
    shape = table.shape
    if shape.key is not None and set(shape.key) <= set(step.columns):
        return _by_key(step, table, run)
    buckets = table.index(step.columns)
    find = buckets.get
    if step.earlier or keep_rows:
        return _careful(lambda env: find(key(env), ()), step, run)

    def probe(env: Slots) -> None:
        bucket = find(key(env))
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


def _by_key(step: Join, table: Table, run: Run) -> Run:
    """Return a join that finds at most one row, by the primary key."""
    shape, find = table.shape, table.by_key.get
    assert shape.key is not None
    given = dict(zip(step.columns, step.key, strict=True))
    key = pick(tuple(given[column] for column in shape.key))
    checks = [(step.start + c, s) for c, s in given.items() if c not in shape.key]
    start, stop, slot, earlier = step.start, step.start + step.width, step.row, step.earlier
    if not checks and not earlier:

        def lookup_only(env: Slots) -> None:
            row = find(key(env))
            if row is not None:
                env[start:stop] = row
                env[slot] = row
                run(env)

        return lookup_only

    def lookup(env: Slots) -> None:
        row = find(key(env))
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


def _absent(step: Absent, table: Table, run: Run) -> Run:
    key, buckets = pick(step.key), table.index(step.columns)
    find = buckets.get
    if step.earlier:

        def absent_before(env: Slots) -> None:
            bucket = find(key(env))
            if bucket is None or (len(bucket) == 1 and env[DELTA] in bucket):
                run(env)

        return absent_before

    def absent(env: Slots) -> None:
        if key(env) not in buckets:
            run(env)

    return absent


# What has slots only for arguments is computed in place: one call less for most conditions.


def _test(condition: Expression, functions: Functions, rule: str, fault: Fault, run: Run) -> Run:
    match condition:
        case Apply(function=name, args=(Slot(index=a), Slot(index=b))):
            two = functions[name]

            def test_two(env: Slots) -> None:
                try:
                    holds = two(env[a], env[b])
                except FAULTS as error:
                    fault(rule, error)
                    return
                if holds:
                    run(env)

            return test_two
        case Apply(function=name, args=(Slot(index=a), Slot(index=b), Slot(index=c))):
            three = functions[name]

            def test_three(env: Slots) -> None:
                try:
                    holds = three(env[a], env[b], env[c])
                except FAULTS as error:
                    fault(rule, error)
                    return
                if holds:
                    run(env)

            return test_three
    evaluate = compiled(condition, functions)

    def test(env: Slots) -> None:
        try:
            holds = evaluate(env)
        except FAULTS as error:
            fault(rule, error)
            return
        if holds:
            run(env)

    return test


def _assign(
    slot: int, value: Expression, functions: Functions, rule: str, fault: Fault, run: Run
) -> Run:
    match value:
        case Apply(function=name, args=(Slot(index=a), Slot(index=b))):
            two = functions[name]

            def assign_two(env: Slots) -> None:
                try:
                    env[slot] = two(env[a], env[b])
                except FAULTS as error:
                    fault(rule, error)
                    return
                run(env)

            return assign_two
    evaluate = compiled(value, functions)

    def assign(env: Slots) -> None:
        try:
            env[slot] = evaluate(env)
        except FAULTS as error:
            fault(rule, error)
            return
        run(env)

    return assign
