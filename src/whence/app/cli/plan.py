"""`whence plan`: how a program will be evaluated."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from whence.app.cli import options
from whence.app.cli.options import Form, Format, ProgramFile
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program


def plan(
    program: ProgramFile,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="GOAL", help="Plan for this goal only.")
    ] = None,
    maintain: Annotated[
        str | None,
        typer.Option(
            "--maintain", metavar="STRATEGY", help="Also how each stratum is kept current."
        ),
    ] = None,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    format: Format = Form.text,
) -> None:
    """Print the program after each rewrite, its strata, delta rules and indexes.

    Example:  whence plan routes.dl --goal 'path(1, x)'
    """
    with reported():
        from whence import session

        compiled = compile_program(
            open_program(program), goal, quiet=True, semiring=semiring, annotate=annotate
        )
        if format is Form.json:
            found = compiled.as_json()
            if maintain is not None:
                found["maintenance"] = session.maintenance(compiled, maintain)
            print(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            print(session.explain_plan(compiled))
            if maintain is not None:
                text = session.explain_maintenance(compiled, maintain)
                print(f"\n── maintenance\n{text}")
