"""NDlog, the dialect of networks: text in, syntax tree out, or every syntax error at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from whence.diagnostics import Source
from whence.syntax.driver import drive
from whence.syntax.ndlog_builder import NdlogBuilder, Statement
from whence.syntax.ndlog_include import included
from whence.syntax.ndlog_slips import explain, resume
from whence.syntax.nodes import Atom, Materialize, Pragma, Program, Query, Rule, Watch
from whence.syntax.scanner import Scan, Token

GRAMMAR: Final = "ndlog"
SUFFIX: Final = ".ndlog"
"""How the names of files in this dialect end."""


def parse_ndlog(text: str, name: str = "<text>", *, folder: Path | None = None) -> Program:
    """Return the program; ProgramError lists all that is wrong with its syntax.

    `#include` finds files from `folder` on: by default, that of the file called `name`.

    >>> program = parse_ndlog("sp1 path(@S, D, C) :- #link(@S, D, C).")
    >>> program.rules[0].name, program.rules[0].head.location
    ('sp1', 0)
    """
    if folder is None and name.endswith(SUFFIX):
        folder = Path(name).parent
    own = statements_of(text, name)

    def read(path: Path) -> list[Statement]:
        return statements_of(path.read_bytes().decode("utf-8"), str(path))

    return _program(included(own, folder, read, name))


def parse_ndlog_goal(text: str, name: str = "<goal>") -> Atom:
    """Return the atom of a goal such as `path(@a, D, C)`, which may end in `.` or `?`."""
    builder = NdlogBuilder(Source(name, text))
    goal, *_ = _run(builder, "goal")
    assert isinstance(goal, Atom)
    return goal


def statements_of(text: str, name: str) -> list[Statement]:
    """Return the statements of a text in order, with `#include` as it stands."""
    builder = NdlogBuilder(Source(name, text))
    _run(builder, "program")
    return builder.statements


def ndlog_statements(text: str, *, name: str = "<text>") -> tuple[Scan, list[int]]:
    """Return the tokens and comments of a well-formed program, and where its statements begin."""
    _, scanned, begins = _run(NdlogBuilder(Source(name, text)), "program")
    return scanned, begins


def _run(builder: NdlogBuilder, start: str) -> tuple[object, Scan, list[int]]:
    return drive(builder, GRAMMAR, start, explain, resume, _closed_aggregates)


def _closed_aggregates(tokens: list[Token]) -> list[Token]:
    """Tell the `>` of `min<C>` from a comparison, which no scanner can that sees one word."""
    found = list(tokens)
    opened: int | None = None
    for index, token in enumerate(tokens):
        if token.type == "FOLD":
            opened = index
        elif token.type in ("IF", "DOT"):
            opened = None
        elif opened is not None and token.text == ">":
            found[index] = token._replace(type="RANGLE")
            opened = None
    return found


def _program(statements: Iterable[Statement]) -> Program:
    rules: list[Rule] = []
    tables: list[Materialize] = []
    watches: list[Watch] = []
    queries: list[Query] = []
    pragmas: list[Pragma] = []
    for statement in statements:
        match statement:
            case Rule():
                rules.append(statement)
            case Materialize():
                tables.append(statement)
            case Watch():
                watches.append(statement)
            case Query():
                queries.append(statement)
            case Pragma():
                pragmas.append(statement)
    return Program(
        rules=tuple(rules),
        pragmas=tuple(pragmas),
        tables=tuple(tables),
        watches=tuple(watches),
        queries=tuple(queries),
        dialect=GRAMMAR,
    )
