"""`whence run`: evaluate a program, read its inputs, write its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli import options
from whence.app.cli.options import BadRow, EngineName
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.progress import Progress
from whence.app.cli.terminal import report


def run(
    program: options.ProgramFile,
    facts: options.FactsDir = Path(),
    output: Annotated[
        Path,
        typer.Option("--output-dir", "-D", metavar="DIR", help="Where outputs go; - is stdout."),
    ] = Path(),
    engine: options.Engine = EngineName.local,
    stats: Annotated[
        Path | None,
        typer.Option("--stats", metavar="FILE", help="Write times, memory and sizes as JSON."),
    ] = None,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    on_bad_row: options.OnBadRow = BadRow.stop,
    threads: options.Threads = None,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate a program: read its inputs, derive everything, write its outputs.

    Outputs are written together at the end, or not at all. With a semiring, facts are annotated,
    and outputs have one more last column.

    Example:  whence run routes.dl -F facts -D out
    """
    with reported():
        compiled = compile_program(
            open_program(program), quiet=quiet, semiring=semiring, annotate=annotate
        )
        from whence.app.run import run_program
        from whence.engine.base import Limits

        with Progress(enabled=False if quiet else None) as progress:
            run_program(
                compiled,
                facts_dir=facts,
                out_dir=None if str(output) == "-" else output,
                engine=engine.value,
                limits=Limits(max_memory, timeout, max_tuples),
                threads=threads,
                on_bad_row=on_bad_row.value,
                stats_file=stats,
                observer=progress,
                warn=lambda warning: None if quiet else report([warning]),
            )
