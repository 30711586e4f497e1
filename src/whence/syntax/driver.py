"""How a dialect is parsed: tokens through the table of its grammar, every syntax error at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol

from whence.diagnostics import Diagnostic, ProgramError, Source, by_place
from whence.syntax.lalr import run
from whence.syntax.scanner import Scan, Token, scan
from whence.syntax.table import load
from whence.syntax.view import View

MAX_ERRORS: Final = 20


class TreeBuilder(Protocol):
    """What makes the tree of a dialect, rule of the grammar by rule."""

    source: Source
    diagnostics: list[Diagnostic]


def drive(
    builder: TreeBuilder,
    grammar: str,
    start: str,
    explain: Callable[[View], Diagnostic],
    resume: Callable[[View], int],
    prepare: Callable[[list[Token]], list[Token]] = list,
) -> tuple[object, Scan, list[int]]:
    """Return what the text is, its tokens, and where its statements begin.

    After a mistake, which `explain` tells, parsing of a program goes on where `resume` says.
    `prepare` may tell tokens apart that a scanner cannot.
    """
    scanned = scan(builder.source, grammar)
    scanned.tokens = prepare(scanned.tokens)
    table = load(grammar)
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

    actions: Any = builder
    value = run(table, tokens, actions, start, recover, begins)
    refuse([*scanned.diagnostics, *slips, *builder.diagnostics])
    return value, scanned, begins


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
