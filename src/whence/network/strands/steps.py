"""The steps of a strand: joins, denials, tests and computed values, each a closure.

A step works on the slots of a strand and calls the next one, once for each way to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.functor.ndlog import FAULTS
from whence.network.strands.expressions import Slots, compiled
from whence.network.strands.functions import PURE
from whence.network.strands.needs import Needs, Run, pick, row_of
from whence.network.strands.plan import (
    DELTA,
    FAULT,
    Absent,
    Apply,
    Assign,
    Either,
    Expression,
    Head,
    Join,
    Slot,
    Step,
    Test,
)


def bound_step(step: Step, rule: str, needs: Needs, run: Run, keep_rows: bool) -> Run:
    """Return a step that goes on with `run`; with `keep_rows` joins remember their rows."""
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
        case Either(
            items=(
                Apply(function=name, args=(Slot(index=a), Slot(index=b))),
                Apply(function=other, args=(Slot(index=c), Slot(index=d))),
            )
        ) if name in PURE and other in PURE:
            one, two = PURE[name], PURE[other]

            def test_either(env: Slots) -> None:
                try:
                    holds = one(env[a], env[b]) or two(env[c], env[d])
                except FAULTS as error:
                    env[FAULT](rule, error)
                    return
                if holds:
                    run(env)

            return test_either
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
