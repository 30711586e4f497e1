"""What the property tests compare, and how often: `quick` in every run, `long` where marked slow;
WHENCE_EXAMPLES says how many programs the long ones try."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from whence.analysis.check import check
from whence.diagnostics import raise_errors
from whence.engine.naive import evaluate
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import Program

Facts = dict[str, set[tuple[object, ...]]]

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
