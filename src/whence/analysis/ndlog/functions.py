"""Functions that are there, with the arguments that they take."""

from __future__ import annotations

from whence.diagnostics import Diagnostic, nearest
from whence.functor.ndlog import FUNCTIONS, NODE_FUNCTIONS, OPERATORS, arity_of
from whence.syntax.nodes import Call, Program, walk


def check_functions(program: Program) -> list[Diagnostic]:
    """Report calls of unknown functions, and calls with too few or too many arguments."""
    found: list[Diagnostic] = []
    for rule in program.rules:
        for part in (*rule.heads, *rule.body):
            for node in walk(part):
                if isinstance(node, Call) and node.functor not in OPERATORS:
                    found += _check(node)
    return found


def _check(call: Call) -> list[Diagnostic]:
    arity = arity_of(call.functor)
    if arity is None:
        near = nearest(call.functor, [*FUNCTIONS, *NODE_FUNCTIONS])
        return [
            Diagnostic(
                "W1321",
                f"there is no function `{call.functor}`",
                call.span,
                hint=f"did you mean `{near}`?" if near else "",
            )
        ]
    least, most = arity
    if len(call.args) >= least and (most is None or len(call.args) <= most):
        return []
    takes = str(least) if most == least else f"at least {least}"
    return [
        Diagnostic(
            "W1322",
            f"`{call.functor}` is given {len(call.args)} arguments",
            call.span,
            f"takes {takes}",
        )
    ]
