"""Soufflé's dialect: text in, syntax tree out, or every syntax error at once."""

from __future__ import annotations

from typing import Final

from whence.diagnostics import Diagnostic, ProgramError, Source
from whence.syntax.builder import Builder
from whence.syntax.driver import drive, refuse
from whence.syntax.nodes import Atom, Constant, Nil, Program, Record, walk
from whence.syntax.recovery import resume
from whence.syntax.scanner import Scan
from whence.syntax.slips import explain

GRAMMAR: Final = "souffle"


def parse(text: str, *, name: str = "<text>") -> Program:
    """Return the program; ProgramError lists all that is wrong with its syntax.

    >>> parse(".decl a(x: number)  a(1).").rules[0].head.relation
    'a'
    """
    builder = Builder(Source(name, text))
    _run(builder, "program")
    return builder.build()


def parse_goal(text: str, name: str = "<goal>") -> Atom:
    """Return the atom of a query such as `path(1, x)`, which may end in `.` or `?`."""
    builder = Builder(Source(name, text))
    goal, *_ = _run(builder, "goal")
    assert isinstance(goal, Atom)
    builder.check_depth((goal,))
    refuse(builder.diagnostics)
    return goal


def parse_fact(text: str, name: str = "<fact>") -> Atom:
    """Return the atom of a fact such as `edge(1, 2)`, whose terms are all constants."""
    fact = parse_goal(text, name)
    for arg in fact.args:
        for node in walk(arg):
            if not isinstance(node, Constant | Nil | Record):
                hint = 'write numbers, `"strings"`, `nil` and records of them'
                message = f"fact of `{fact.relation}` is not made of constants"
                raise ProgramError(Diagnostic("W0112", message, node.span, hint=hint))
    return fact


def statements(text: str, *, name: str = "<text>") -> tuple[Scan, list[int]]:
    """Return the tokens and comments of a well-formed program, and where its statements begin."""
    _, scanned, begins = _run(Builder(Source(name, text)), "program")
    return scanned, begins


def _run(builder: Builder, start: str) -> tuple[object, Scan, list[int]]:
    return drive(builder, GRAMMAR, start, explain, resume)
