"""Smaller failures: rules, batches, facts and literals are left out while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from whence.syntax.nodes import Program

T = TypeVar("T")
SECONDS = 20.0
"""How long a failure may be made smaller."""

Row = tuple[object, ...]
Facts = Mapping[str, Iterable[Row]]
Step = Mapping[str, tuple[Sequence[Row] | None, Sequence[Row] | None]]
"""A batch as rows: by relation, what comes and what goes; None is no table, () an empty one."""


@dataclass(frozen=True)
class Failure:
    """A program, its facts, and batches of which one goes wrong."""

    program: Program
    facts: Facts
    steps: Sequence[Step]


def reduce(failure: Failure, fails: Callable[[Failure], bool]) -> Failure:
    """Return a failure from which no part can be left out, or what there is when time is up."""
    end = time.monotonic() + SECONDS
    while True:
        for smaller in _smaller(failure):
            if time.monotonic() > end:
                return failure
            if fails(smaller):
                failure = smaller
                break
        else:
            return failure


def _smaller(failure: Failure) -> Iterator[Failure]:
    """Large parts first."""
    program, facts, steps = failure.program, failure.facts, failure.steps
    for i in reversed(range(len(steps))):
        yield replace(failure, steps=[*steps[:i], *steps[i + 1 :]])
    for relation in program.relations:
        if smaller := _without(failure, relation.name):
            yield smaller
    for i in range(len(program.rules)):
        yield replace(failure, program=replace(program, rules=_left_out(program.rules, i)))
    for i in range(len(program.subsumptions)):
        rest = _left_out(program.subsumptions, i)
        yield replace(failure, program=replace(program, subsumptions=rest))
    for i, step in enumerate(steps):
        for smaller_step in _smaller_steps(step):
            yield replace(failure, steps=[*steps[:i], smaller_step, *steps[i + 1 :]])
    for name, rows in facts.items():
        held = list(rows)
        if len(held) > 3:
            yield replace(failure, facts={**facts, name: held[: len(held) // 2]})
        for i in range(len(held)):
            yield replace(failure, facts={**facts, name: held[:i] + held[i + 1 :]})
    for i, rule in enumerate(program.rules):
        for heads, body in [
            *((_left_out(rule.heads, j), rule.body) for j in range(len(rule.heads))),
            *((rule.heads, _left_out(rule.body, j)) for j in range(len(rule.body))),
        ]:
            if heads and body:
                changed = replace(rule, heads=heads, body=body)
                rules = (*program.rules[:i], changed, *program.rules[i + 1 :])
                yield replace(failure, program=replace(program, rules=rules))


def _without(failure: Failure, relation: str) -> Failure | None:
    """The failure without a relation that no rule names, nor a batch."""
    program = failure.program
    text = str(replace(program, relations=()))
    used = any(relation in step for step in failure.steps) or f"{relation}(" in text
    if used:
        return None
    kept = tuple(decl for decl in program.relations if decl.name != relation)
    facts = {name: rows for name, rows in failure.facts.items() if name != relation}
    return replace(failure, program=replace(program, relations=kept), facts=facts)


def _smaller_steps(step: Step) -> Iterator[Step]:
    for name, (comes, goes) in step.items():
        yield {n: change for n, change in step.items() if n != name}
        if comes and goes:
            yield {**step, name: (comes, None)}
            yield {**step, name: (None, goes)}
        for i in range(len(comes or ())):
            yield {**step, name: (_left_out(tuple(comes or ()), i) or None, goes)}
        for i in range(len(goes or ())):
            yield {**step, name: (comes, _left_out(tuple(goes or ()), i) or None)}


def _left_out(items: tuple[T, ...], place: int) -> tuple[T, ...]:
    return items[:place] + items[place + 1 :]
