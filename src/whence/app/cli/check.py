"""`whence check`: errors and warnings, without running anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli.options import Dialect, Form, Format
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, WhenceError

if TYPE_CHECKING:
    from whence.analysis.ndlog.describe import Description


def check(
    programs: Annotated[
        list[Path], typer.Argument(metavar="PROGRAM...", help="Programs; - is stdin.")
    ],
    format: Format = Form.text,
    dialect: Dialect = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Of NDlog also what kind of state and rule each is."),
    ] = False,
) -> None:
    """Report all errors and warnings of programs; exit 1 when there are errors.

    Example:  whence check routes.dl
    """
    with reported():
        found: list[Diagnostic] = []
        described: list[Description] = []
        for path in programs:
            diagnostics, description = _diagnose(path, dialect)
            found.extend(diagnostics)
            if verbose and description is not None:
                described.append(description)
        failed = any(d.severity == "error" for d in found)
        if format is Form.json:
            shown: dict[str, object] = {"ok": not failed}
            shown["diagnostics"] = [d.as_json() for d in found]
            if verbose:
                shown["described"] = [description.as_json() for description in described]
            print(json.dumps(shown, indent=2, ensure_ascii=False))
        else:
            report(found)
            for description in described:
                print(description.text())
    if failed:
        raise typer.Exit(1)


def _diagnose(path: Path, dialect: str | None) -> tuple[list[Diagnostic], Description | None]:
    from whence import session

    found: list[Diagnostic] = []
    description = None
    try:
        program = open_program(path, dialect)
        found = list(session.check(program))
        if program.dialect == "ndlog":
            from whence.analysis.ndlog.describe import describe

            description = describe(program)
        elif all(d.severity == "warning" for d in found):
            found = list(compile_program(program, quiet=True).warnings)
    except WhenceError as error:
        if error.exit_code != 1:
            raise
        found.extend(error.diagnostics)
    return found, description
