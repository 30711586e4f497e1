"""`whence check`: errors and warnings, without running anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli.options import Form, Format
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, WhenceError


def check(
    programs: Annotated[
        list[Path], typer.Argument(metavar="PROGRAM...", help="Programs; - is stdin.")
    ],
    format: Format = Form.text,
) -> None:
    """Report all errors and warnings of programs; exit 1 when there are errors.

    Example:  whence check routes.dl
    """
    with reported():
        found: list[Diagnostic] = []
        for path in programs:
            found.extend(_diagnose(path))
        failed = any(d.severity == "error" for d in found)
        if format is Form.json:
            shown = {"ok": not failed, "diagnostics": [d.as_json() for d in found]}
            print(json.dumps(shown, indent=2, ensure_ascii=False))
        else:
            report(found)
    if failed:
        raise typer.Exit(1)


def _diagnose(path: Path) -> list[Diagnostic]:
    from whence import session

    found: list[Diagnostic] = []
    try:
        program = open_program(path)
        found = list(session.check(program))
        if all(d.severity == "warning" for d in found):
            found = list(compile_program(program, quiet=True).warnings)
    except WhenceError as error:
        if error.exit_code != 1:
            raise
        found.extend(error.diagnostics)
    return found
