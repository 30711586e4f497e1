"""A rule plan made runnable: its steps compiled back to front into one function over chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np

from whence.engine.local import live_operators, operators
from whence.engine.local.expressions import Context
from whence.engine.local.folds import Folds
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.live import LiveRelation
from whence.engine.local.operators import Chunks, CodeOf, Push
from whence.engine.local.projection import project
from whence.engine.local.relation import Relation
from whence.engine.local.values import NIL
from whence.functor.aggregate import AGGREGATES
from whence.plan.nodes import (
    Bind,
    Exists,
    Fold,
    Gather,
    Probe,
    RulePlan,
    Scan,
    Step,
    Test,
    Unpack,
    Version,
)
from whence.syntax.nodes import Atom, Constant, Kind, Nil, Term, Variable, variables

Sink: TypeAlias = Callable[[Rows, int], None]

_UNIT: Rows = np.zeros((1, 1), dtype=np.int64)
"""One binding of nothing, for rules that do not start with a scan."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the rules of a stratum are compiled against."""

    relations: Mapping[str, Relation]
    context: Context
    code: CodeOf
    folds: Folds
    guard: Guard


@dataclass(frozen=True, slots=True)
class Runner:
    """A compiled rule: where its first bindings come from, and what to push them into."""

    plan: RulePlan
    scanned: Relation | None
    version: Version
    only_one: bool
    push: Push

    def source(self) -> Rows:
        """Return the rows that the rule starts from now."""
        relation = self.scanned
        if relation is None:
            return _UNIT
        if self.version is Version.DELTA:
            rows = relation.delta()
            first = relation.old
        else:
            first, rows = 0, relation.rows[: relation.mark]
        if relation.dead.shape[0]:
            rows = rows[relation.dead[first : first + rows.shape[0]] == 0]
        return rows[:1] if self.only_one else rows


def compile_plan(plan: RulePlan, scope: Scope, chunks: Chunks, sink: Sink) -> Runner:
    """Return the rule as a function over chunks; what it derives goes to the sink."""
    steps = plan.steps
    scan = steps[0] if steps and isinstance(steps[0], Scan) else None
    push = compile_steps(steps, plan.head, {}, scope, chunks, sink)
    scanned = scope.relations[scan.relation] if scan else None
    only_one = scan is not None and not scan.takes and not scan.key
    return Runner(plan, scanned, scan.version if scan else Version.ALL, only_one, push)


def compile_steps(
    steps: Sequence[Step],
    head: Atom,
    start: Mapping[str, int],
    scope: Scope,
    chunks: Chunks,
    sink: Sink,
) -> Push:
    """Return the steps as one function over chunks whose slots are `start`."""
    slots, outputs = _layouts(steps, head, start)
    direct = _direct_outputs(steps, head, scope)
    if direct is not None:
        push: Push = sink
        outputs[-1] = direct
    else:
        push = project(head.args, head.relation, slots[-1], scope.context, scope.code, sink)
    for i in reversed(range(len(steps))):
        step, names = steps[i], outputs[i]
        if isinstance(step, Gather):
            push = gather(step, slots[i], names, scope, push)
        else:
            buffer = chunks.at(i, len(names))
            push = _compile_step(step, slots[i], names, scope, buffer, push)
    return push


def gather(
    step: Gather,
    slots: Mapping[str, int],
    outputs: Sequence[str | int],
    scope: Scope,
    after: Push,
) -> Push:
    """Add the aggregate over what the inner steps make of each binding."""
    names = [name for name in outputs if isinstance(name, str) and name != step.variable]
    kind = Kind.NUMBER if step.function == "count" else step.kind
    function, values = AGGREGATES[step.function, kind], scope.context.values
    found: list[Rows] = []
    width = max(slots.values(), default=-1) + 1
    target: Term = Variable(step.target) if step.target is not None else Nil()
    head = Atom("@gather", (Variable("@binding"), target))
    inner = compile_steps(
        step.steps,
        head,
        {**slots, "@binding": width},
        scope,
        Chunks(),
        lambda rows, n: found.append(rows[:n].copy()),
    )

    def push(binding: Rows, n: int) -> None:
        found.clear()
        inner(np.column_stack([binding[:n, :width], np.arange(n)]), n)
        pairs = np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)
        of = np.ascontiguousarray(pairs[:, 0])
        inside = values.decode(np.ascontiguousarray(pairs[:, 1]), kind)
        codes = values.encode(function.array(inside, of, n), function.result)
        keep = np.bincount(of, minlength=n) > 0
        if function.total:
            keep[:] = True
        if not keep.any():
            return
        columns = {name: binding[:n, slots[name]] for name in names} | {step.variable: codes}
        chosen = [columns[name][keep] for name in outputs if isinstance(name, str)]
        rows = np.empty((int(keep.sum()), len(chosen)), dtype=np.int64)
        for i, column in enumerate(chosen):
            rows[:, i] = column
        after(rows, rows.shape[0])

    return push


def _compile_step(
    step: Scan | Probe | Exists | Test | Bind | Unpack | Fold,
    slots: Mapping[str, int],
    outputs: Sequence[str | int],
    scope: Scope,
    buffer: Rows,
    after: Push,
) -> Push:
    names = [name for name in outputs if isinstance(name, str)]
    match step:
        case Scan():
            return operators.scan_filter(step, scope.relations[step.relation], scope.code, after)
        case Probe():
            relation = scope.relations[step.relation]
            if isinstance(relation, LiveRelation):
                return live_operators.probe(
                    step, slots, outputs, relation, scope.code, scope.guard, buffer, after
                )
            return operators.probe(
                step, slots, outputs, relation, scope.code, scope.guard, buffer, after
            )
        case Exists():
            relation = scope.relations[step.relation]
            if isinstance(relation, LiveRelation):
                return live_operators.exists(step, slots, relation, scope.code, after)
            return operators.exists(step, slots, relation, scope.code, after)
        case Test():
            return operators.test(step, slots, scope.context, after)
        case Bind():
            return operators.bind(step, slots, names, scope.context, after)
        case Unpack():
            return operators.unpack(step, slots, names, scope.context, after)
        case Fold():
            relation = scope.relations[step.relation]
            return operators.fold(step, slots, names, relation, scope.code, scope.folds, after)
    assert_never(step)


def reads(step: Step) -> set[str]:
    """Return the variables that a step needs."""
    match step:
        case Scan():
            return set()
        case Probe(key=key, below=below) | Exists(key=key, below=below):
            limit = set() if below is None else {below}
            return limit | {o.name for _, o in key if isinstance(o, Variable)}
        case Fold(key=key):
            return {o.name for _, o in key if isinstance(o, Variable)}
        case Test(constraint=constraint):
            return set(variables(constraint))
        case Bind(term=term):
            return set(variables(term))
        case Unpack(record=record):
            return {record}
        case Gather(steps=steps):
            return set[str]().union(*map(reads, steps))
    assert_never(step)


def _gives(step: Step) -> list[str]:
    """Return the variables that a step adds."""
    match step:
        case Scan(takes=takes) | Probe(takes=takes) | Unpack(takes=takes):
            return [name for _, name in takes]
        case Bind(variable=variable) | Fold(variable=variable) | Gather(variable=variable):
            return [variable]
        case _:
            return []


def _layouts(
    steps: Sequence[Step], head: Atom, start: Mapping[str, int]
) -> tuple[list[dict[str, int]], list[Sequence[str | int]]]:
    """Return the slots of the variables before each step and after the last, and what each writes.

    Scanned rows are read where they lie, so their slots are columns; a step that only filters
    keeps the slots it gets; the others write what somebody still reads.
    """
    needed: list[set[str]] = [set(variables(*head.args))]
    for step in reversed(steps):
        needed.append(needed[-1] | reads(step))
    needed.reverse()
    slots: list[dict[str, int]] = [dict(start)]
    outputs: list[Sequence[str | int]] = []
    for i, step in enumerate(steps):
        names: list[str] = []
        if isinstance(step, Scan):
            slots.append({name: column for column, name in step.takes})
        elif isinstance(step, Exists | Test):
            slots.append(slots[-1])
        else:
            names = [n for n in (*slots[-1], *_gives(step)) if n in needed[i + 1]]
            slots.append(operators.layout(names))
        outputs.append(names)
    return slots, outputs


def _direct_outputs(steps: Sequence[Step], head: Atom, scope: Scope) -> list[str | int] | None:
    """Return the head's columns when the last step is a probe that can write them itself."""
    if not steps or not isinstance(steps[-1], Probe):
        return None
    outputs: list[str | int] = []
    for column, term in enumerate(head.args):
        match term:
            case Variable(name=name):
                outputs.append(name)
            case Constant():
                outputs.append(scope.code(head.relation, column, term))
            case Nil():
                outputs.append(NIL)
            case _:
                return None
    return outputs
