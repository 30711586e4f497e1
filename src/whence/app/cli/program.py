"""The program of a command line: read, compiled, its warnings shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, UsageError, nearest

if TYPE_CHECKING:
    from whence.session import Compiled
    from whence.syntax.nodes import Program


def program_text(path: Path) -> str:
    """Return the text of a program, from standard input when the path is `-`."""
    from whence import session

    if str(path) != "-":
        return session.read_text(path)
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UsageError(Diagnostic("W0803", "standard input is not UTF-8 text")) from None


def dialect_named(path: Path, asked: str | None) -> str:
    """Return the dialect of a program: the one that is asked for, else that of its name."""
    from whence.syntax.dialects import dialect_of

    return asked or dialect_of(str(path))


def open_program(path: Path, dialect: str | None = None) -> Program:
    """Return the program in a file, or on standard input when the path is `-`."""
    from whence.syntax.dialects import parse_as

    name = "<stdin>" if str(path) == "-" else str(path)
    return parse_as(dialect_named(path, dialect), program_text(path), name)


def compile_program(
    program: Program,
    goal: str | None = None,
    *,
    quiet: bool = False,
    semiring: str | None = None,
    annotate: list[str] | None = None,
) -> Compiled:
    """Return the compiled program; its warnings go to stderr unless `quiet`."""
    from whence import session
    from whence.app.cli.options import parse_annotations
    from whence.syntax.souffle import parse_goal

    compiled = session.compile(
        program,
        goal=None if goal is None else parse_goal(goal),
        inputs={d.relation for d in program.directives if d.action == "input"},
        semiring=semiring,
        annotations=parse_annotations(annotate),
    )
    if not quiet:
        report(compiled.warnings)
    return compiled


def printed_relations(program: Program, given: list[str]) -> list[str]:
    """Return the relations to print: those asked for, else the outputs, else what has rules."""
    for name in given:
        check_relation(program, name)
    outputs = [d.relation for d in program.directives if d.action in ("output", "printsize")]
    ruled = {head.relation for r in program.rules if r.body for head in r.heads}
    names = given or outputs or [d.name for d in program.relations if d.name in ruled]
    return list(dict.fromkeys(names))


def check_relation(program: Program, name: str) -> None:
    """Refuse a relation that the program does not have."""
    known = [decl.name for decl in program.relations]
    if name not in known:
        like = nearest(name, known)
        hint = f"did you mean `{like}`?" if like else ""
        raise UsageError(Diagnostic("W0804", f"the program has no relation `{name}`", hint=hint))
