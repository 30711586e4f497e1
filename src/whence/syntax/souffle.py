"""Soufflé's dialect: text in, syntax tree out, or every syntax error at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from whence.diagnostics import Diagnostic, ProgramError, Source, by_place
from whence.syntax.builder import Builder
from whence.syntax.lalr import run
from whence.syntax.nodes import Atom, Constant, Nil, Program, Record, walk
from whence.syntax.recovery import resume
from whence.syntax.scanner import Scan, Token, scan
from whence.syntax.slips import explain
from whence.syntax.table import load
from whence.syntax.view import View

GRAMMAR: Final = "souffle"
MAX_ERRORS: Final = 20


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
    _refuse(builder.diagnostics)
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
    scanned = scan(builder.source, GRAMMAR)
    table = load(GRAMMAR)
    tokens = scanned.tokens if start == "program" else _without_end_mark(scanned.tokens)
    begins: list[int] = []
    resumed = [0]
    slips: list[Diagnostic] = []

    def recover(index: int, expected: frozenset[str]) -> int:
        begin = max(begins[-1] if begins else 0, resumed[-1])
        view = View(builder.source, table, tokens, begin, index, expected)
        slips.append(explain(view))
        if len(slips) == MAX_ERRORS or start != "program":
            return len(tokens)
        # Each resumption is further on than the last, so that no text keeps the parser for ever.
        resumed.append(max(resume(view), resumed[-1] + 1))
        return resumed[-1]

    value = run(table, tokens, builder, start, recover, begins)
    _refuse([*scanned.diagnostics, *slips, *builder.diagnostics])
    return value, scanned, begins


def _without_end_mark(tokens: list[Token]) -> list[Token]:
    marked = len(tokens) > 1 and tokens[-2].text in (".", "?")
    return [*tokens[:-2], tokens[-1]] if marked else tokens


def _refuse(diagnostics: list[Diagnostic]) -> None:
    if diagnostics:
        shown = by_place(diagnostics)[:MAX_ERRORS]
        if len(shown) == MAX_ERRORS:
            note = f"no more than {MAX_ERRORS} errors are shown"
            shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, note))
        raise ProgramError(*shown)
