"""`whence run`: evaluate a program, read its inputs, write its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli import options, spark
from whence.app.cli.options import BadRow, EngineName
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.progress import Progress
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic


def run(
    program: options.ProgramFile,
    facts: Annotated[
        str,
        typer.Option(
            "--fact-dir", "-F", metavar="DIR", help="Where facts files are; on Spark also a URI."
        ),
    ] = ".",
    output: Annotated[
        str,
        typer.Option(
            "--output-dir",
            "-D",
            metavar="DIR",
            help="Where outputs go; - is stdout; on Spark also a URI.",
        ),
    ] = ".",
    engine: options.Engine = EngineName.local,
    master: spark.Master = None,
    strategy: spark.Strategy = None,
    tasks: spark.Tasks = None,
    conf: spark.Conf = None,
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

    Example:  whence run routes.dl -F facts -D out --engine spark --master 'local[4]'
    """
    with reported():
        on_spark = spark.spark_options(engine, master, strategy, tasks, conf)
        compiled = compile_program(
            open_program(program), quiet=quiet, semiring=semiring, annotate=annotate
        )
        from whence.engine.base import Limits

        limits = Limits(max_memory, timeout, max_tuples)

        def warn(warning: Diagnostic) -> None:
            if not quiet:
                report([warning])

        with Progress(enabled=False if quiet else None) as progress:
            if on_spark is not None:
                from whence.app.run_spark import run_on_spark

                on_spark.run(
                    lambda sessions, interrupt: run_on_spark(
                        compiled,
                        facts=facts,
                        out=None if output == "-" else output,
                        sessions=sessions,
                        interrupt=interrupt,
                        strategy=on_spark.strategy,
                        tasks=on_spark.tasks,
                        limits=limits,
                        on_bad_row=on_bad_row.value,
                        stats_file=stats,
                        observer=progress,
                        follow=progress.follow,
                        warn=warn,
                    )
                )
                return
            from whence.app.run import run_program

            run_program(
                compiled,
                facts_dir=spark.here(facts, "-F"),
                out_dir=None if output == "-" else spark.here(output, "-D"),
                engine=engine.value,
                limits=limits,
                threads=threads,
                on_bad_row=on_bad_row.value,
                stats_file=stats,
                observer=progress,
                warn=warn,
            )
