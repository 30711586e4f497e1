"""NDlog, the dialect of networks: text in, syntax tree out, or every syntax error at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from whence.diagnostics import Diagnostic, ProgramError, Source, by_place
from whence.syntax.lalr import run
from whence.syntax.ndlog_builder import NdlogBuilder, Statement
from whence.syntax.ndlog_include import included
from whence.syntax.ndlog_slips import explain, resume
from whence.syntax.nodes import Atom, Materialize, Pragma, Program, Query, Rule, Watch
from whence.syntax.scanner import Scan, Token, scan
from whence.syntax.table import load
from whence.syntax.view import View

GRAMMAR: Final = "ndlog"
SUFFIX: Final = ".ndlog"
"""How the names of files in this dialect end."""
MAX_ERRORS: Final = 20


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
    scanned = scan(builder.source, GRAMMAR)
    scanned.tokens = _closed_aggregates(scanned.tokens)
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
    refuse([*scanned.diagnostics, *slips, *builder.diagnostics])
    return value, scanned, begins


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


def _without_end_mark(tokens: list[Token]) -> list[Token]:
    marked = len(tokens) > 1 and tokens[-2].text in (".", "?")
    return [*tokens[:-2], tokens[-1]] if marked else tokens


def refuse(diagnostics: list[Diagnostic]) -> None:
    """Raise what is wrong, if anything, with no more than a screen can hold."""
    if diagnostics:
        shown = by_place(diagnostics)[:MAX_ERRORS]
        if len(shown) == MAX_ERRORS:
            note = f"no more than {MAX_ERRORS} errors are shown"
            shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, note))
        raise ProgramError(*shown)


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
