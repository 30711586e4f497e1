"""`whence whynot`: what is missing for a fact that does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli import options
from whence.app.cli.explaining import AskedFact, Explanation, ExplanationForm
from whence.app.cli.outcome import reported
from whence.app.cli.progress import Progress


def whynot(
    program: options.ProgramFile,
    fact: AskedFact,
    facts: options.FactsDir = Path(),
    format: Explanation = ExplanationForm.text,
    depth: Annotated[
        int,
        typer.Option(
            "--depth", min=0, metavar="N", help="Go on so many times with what is missing."
        ),
    ] = 0,
    nearest: Annotated[
        int,
        typer.Option("--nearest", min=1, metavar="N", help="Failed instances told of each rule."),
    ] = 3,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Say why a fact does not hold: for each rule the nearest failures, and what they lack.

    Example:  whence whynot routes.dl 'path(3, 1)' -F facts --depth 1
    """
    with reported():
        from whence.app.cli.explaining import open_database, print_diagram
        from whence.app.explain import asked
        from whence.engine.base import Limits

        goal = asked(fact)
        with Progress(enabled=False if quiet else None) as progress:
            db = open_database(
                program,
                facts,
                limits=Limits(max_memory, timeout, max_tuples),
                threads=threads,
                observer=progress,
                quiet=quiet,
            )
        from whence.explain.diagram import diagram
        from whence.explain.words import annotation_cell

        found = db.why_not(goal, depth=depth, nearest=nearest)
        print_diagram(diagram(found), format.value, annotation_cell)
