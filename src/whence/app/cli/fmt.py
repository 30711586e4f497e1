"""`whence fmt`: a program in the one layout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli.options import Dialect
from whence.app.cli.outcome import reported
from whence.app.cli.program import dialect_named, program_text


def fmt(
    programs: Annotated[
        list[Path], typer.Argument(metavar="PROGRAM...", help="Programs; - is stdin.")
    ],
    write: Annotated[
        bool, typer.Option("--write", "-w", help="Change the files instead of printing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say which files would change; exit 1 if any.")
    ] = False,
    dialect: Dialect = None,
) -> None:
    """Print programs in the one layout; comments stay where they are.

    Example:  whence fmt --write routes.dl
    """
    with reported():
        from whence.facts.outputs import Outputs
        from whence.syntax.format import format_source

        changed: list[Path] = []
        with Outputs() as outputs:
            for path in programs:
                text = program_text(path)
                formatted = format_source(text, str(path), dialect=dialect_named(path, dialect))
                if text != formatted:
                    changed.append(path)
                if write and text != formatted and str(path) != "-":
                    with outputs.open(path) as out:
                        out.write(formatted.encode())
                elif not check and not (write and str(path) != "-"):
                    sys.stdout.write(formatted)
            outputs.commit()
        if check:
            for path in changed:
                print(f"would change {path}", file=sys.stderr)
    if check and changed:
        raise typer.Exit(1)
