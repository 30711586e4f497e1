"""What the property tests compare, and how often: `quick` in every run, `long` where marked slow;
WHENCE_EXAMPLES says how many programs the long ones try."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from whence.analysis.check import check
from whence.diagnostics import raise_errors
from whence.engine.naive import evaluate
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import Atom, Constant, Program, Wildcard

Rows = set[tuple[object, ...]]
Facts = dict[str, Rows]

_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
quick = settings(max_examples=60, deadline=None, suppress_health_check=_CHECKS)
long = settings(
    max_examples=int(os.environ.get("WHENCE_EXAMPLES", "500")),
    deadline=None,
    suppress_health_check=_CHECKS,
)


def resolved(program: Program) -> Program:
    """Return the program with its types resolved; it must be without errors."""
    raise_errors(check(program))
    return resolve_types(program)


def answers(program: Program, given: Facts) -> Facts:
    """Return the relations by the definition, given facts for some that are declared."""
    declared = {decl.name for decl in program.relations}
    return evaluate(program, {name: rows for name, rows in given.items() if name in declared})


def derived_relation(data: st.DataObject, program: Program) -> str:
    names = {head.relation for rule in program.rules for head in rule.heads}
    return data.draw(st.sampled_from(sorted(names)))


def goal_of(data: st.DataObject, program: Program, relation: str, rows: Rows) -> Atom:
    """A goal with constants, mostly one that has answers."""
    attributes = program.relation(relation).attributes
    row = data.draw(st.sampled_from(sorted(rows, key=repr) or [(0,) * len(attributes)]))
    args = [
        Constant(value, None) if a.type == "number" and data.draw(st.booleans()) else Wildcard()
        for a, value in zip(attributes, row, strict=True)
    ]
    return Atom(relation, tuple(args))


def matching(rows: Rows, goal: Atom) -> Rows:
    return {
        row
        for row in rows
        if all(
            not isinstance(arg, Constant) or arg.value == value
            for arg, value in zip(goal.args, row, strict=True)
        )
    }
