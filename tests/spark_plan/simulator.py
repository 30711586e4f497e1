"""A Spark plan run by hand, slow and obvious: the judge of where tuples are put.

Every task is the naive evaluator over its own copies. What is shipped goes from task to task after
each round. Each copy is held to its placement: that tuples are at the tasks that own them, and
only there, is asserted and not assumed.
"""

from __future__ import annotations

import zlib
from dataclasses import replace

import pyarrow as pa

from property.test_engine_agrees import text
from whence.analysis.kinds import relation_kinds
from whence.analysis.strata import strata
from whence.engine.local.engine import LocalEngine
from whence.engine.naive import State
from whence.engine.spark.cut.groups import task_plan
from whence.engine.spark.model import (
    ALONE,
    EVERYWHERE,
    SOMEWHERE,
    By,
    Copy,
    Group,
    Placement,
    SparkPlan,
    Strategy,
)
from whence.functor import UserFunctors
from whence.syntax.nodes import Atom, Constant, Kind, Rule

Row = tuple[object, ...]
Facts = dict[str, set[Row]]


def owner(value: object, tasks: int) -> int:
    """Return the task that owns a value: any function will do that is the same everywhere."""
    return zlib.crc32(repr(value).encode()) % tasks


def is_at(row: Row, placement: Placement, task: int, tasks: int) -> bool:
    """Say whether a tuple belongs to a task."""
    if isinstance(placement, By):
        return owner(row[placement.column], tasks) == task
    return placement is EVERYWHERE or task == 0


def simulate(plan: SparkPlan, given: Facts, tasks: int) -> Facts:
    """Return the relations after all groups have run on so many tasks."""
    frames: Facts = {name: set(rows) for name, rows in given.items()}
    for fact in plan.facts:
        frames.setdefault(fact.relation, set()).add(_row(fact))
    for group in plan.groups:
        frames.update(run(group, frames, tasks))
    return frames


def _row(fact: Atom) -> Row:
    return tuple(arg.value if isinstance(arg, Constant) else None for arg in fact.args)


def simulate_local(plan: SparkPlan, given: Facts, tasks: int) -> Facts:
    """The same with the embedded engine at each task; a gang is one task, with nobody to send to.

    Records are texts, as tables have them.
    """
    frames: Facts = {n: {tuple(map(text, row)) for row in rows} for n, rows in given.items()}
    for fact in plan.facts:
        frames.setdefault(fact.relation, set()).add(tuple(map(text, _row(fact))))
    for group in plan.groups:
        together = group.strategy is not Strategy.DECOMPOSED
        found: Facts = {copy.relation: set() for copy in group.writes}
        for task in range(1 if together else tasks):
            inputs = {
                copy.name: _table(group, copy, frames, task, 1 if together else tasks)
                for copy in group.reads
            }
            evaluation = LocalEngine().evaluate(task_plan(group), inputs, threads=1)
            for copy in group.writes:
                columns = evaluation.table(copy.name).columns
                rows = zip(*(c.to_pylist() for c in columns), strict=True)
                found[copy.relation].update(rows if columns else [()] * evaluation.size(copy.name))
        frames.update(found)
    return frames


def _table(group: Group, copy: Copy, frames: Facts, task: int, tasks: int) -> pa.Table:
    kinds = relation_kinds(group.program)[copy.name]
    rows = [r for r in frames.get(copy.relation, ()) if is_at(r, copy.placement, task, tasks)]
    if not kinds:
        return pa.table({"": pa.nulls(len(rows))}).select([])
    columns = [pa.array([r[i] for r in rows], _TYPES[kind]) for i, kind in enumerate(kinds)]
    return pa.Table.from_arrays(columns, [f"c{i}" for i in range(len(kinds))])


_TYPES = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.string(),
    Kind.RECORD: pa.string(),
}


def run(group: Group, frames: Facts, tasks: int) -> Facts:
    """Return what a group writes."""
    alone = group.strategy in (Strategy.ALONE, Strategy.ROUNDS)
    tasks = 1 if alone else tasks
    passing = {_passes_on(group, rule) for rule in group.program.rules} - {None}
    own = replace(group.program, rules=tuple(r for r in group.program.rules if r not in passing))
    states = [State(own, UserFunctors()) for _ in range(tasks)]
    for task, state in enumerate(states):
        for copy in group.reads:
            assert copy.placement is not SOMEWHERE
            for row in frames.get(copy.relation, ()):
                if is_at(row, copy.placement, task, tasks):
                    state.relations[copy.name][row] = None
    sent: list[set[tuple[str, Row]]] = [set() for _ in states]
    for stratum in strata(group.program):
        while True:
            for state in states:
                state.complete(stratum.relations, stratum.recursive)
            if not _exchange(group, states, sent):
                break
    shipped = {copy for ship in group.ships for copy in (ship.home, *ship.copies)}
    for copy in {*group.reads, *group.writes, *shipped}:
        _check(copy, states)
    return {copy.relation: _whole(copy, states) for copy in group.writes}


def _passes_on(group: Group, rule: Rule) -> Rule | None:
    """Return the rule if it stands for shipping."""
    for ship in group.ships:
        if rule.head.relation in {c.name for c in (ship.home, *ship.copies)}:
            assert [o.relation for o in rule.body if isinstance(o, Atom)] == [ship.outbox]
            return rule
    return None


def _exchange(group: Group, states: list[State], sent: list[set[tuple[str, Row]]]) -> bool:
    """Send what is new in the outboxes, and say whether anything was."""
    found = False
    for ship in group.ships:
        for task, state in enumerate(states):
            for row in state.relations[ship.outbox]:
                if (ship.outbox, row) in sent[task]:
                    continue
                sent[task].add((ship.outbox, row))
                found = True
                for copy in (ship.home, *ship.copies):
                    for other, receiver in enumerate(states):
                        if is_at(row, copy.placement, other, len(states)):
                            receiver.relations[copy.name].setdefault(row)
    return found


def _check(copy: Copy, states: list[State]) -> None:
    held = [set(state.relations[copy.name]) for state in states]
    match copy.placement:
        case By(column=column):
            for task, rows in enumerate(held):
                for row in rows:
                    assert owner(row[column], len(states)) == task, (copy.name, row)
        case found if found is EVERYWHERE:
            assert all(rows == held[0] for rows in held), copy.name
        case found if found is ALONE:
            assert not any(held[1:]), copy.name


def _whole(copy: Copy, states: list[State]) -> set[Row]:
    if copy.placement is EVERYWHERE:
        return set(states[-1].relations[copy.name])
    return {row for state in states for row in state.relations[copy.name]}
