"""`whence run`: evaluate a program, read its inputs, write its outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options, spark
from whence.app.cli.options import BadRow, EngineName
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.progress import Progress
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.session import Compiled
    from whence.syntax.nodes import Program


def run(
    program: options.AnyProgramFile,
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
    dialect: options.Dialect = None,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate a program: read its inputs, derive everything, write its outputs.

    Outputs are written together at the end, or not at all. With a semiring, facts are annotated,
    and outputs have one more last column. Of an NDlog program the hard state is evaluated, in one
    place; `whence net run` runs it on a network.

    Example:  whence run routes.dl -F facts -D out

    Example:  whence run routes.dl -F facts -D out --engine spark --master 'local[4]'
    """
    with reported():
        on_spark = spark.spark_options(engine, master, strategy, tasks, conf)
        from whence.engine.base import Limits

        limits = Limits(max_memory, timeout, max_tuples)

        def warn(warning: Diagnostic) -> None:
            if not quiet:
                report([warning])

        opened = open_program(program, dialect)
        if opened.dialect == "ndlog":
            found = _hard_state(opened, facts, semiring, annotate, on_spark is not None, warn)
            if found is None:
                from whence.app.run_ndlog import run_by_definition

                here = None if output == "-" else spark.here(output, "-D")
                folder = spark.here(facts, "-F")
                run_by_definition(
                    opened, facts_dir=folder, out_dir=here, limits=limits, stats_file=stats
                )
                return
            compiled = found
        else:
            compiled = compile_program(opened, quiet=quiet, semiring=semiring, annotate=annotate)
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


def _hard_state(
    program: Program,
    facts: str,
    semiring: str | None,
    annotate: list[str] | None,
    on_spark: bool,
    warn: Callable[[Diagnostic], None],
) -> Compiled | None:
    """Return the hard state of an NDlog program compiled; None if only its definition can do it."""
    from whence.app.run_ndlog import check_program, compile_hard_state

    check_program(program, warn)
    compiled, why = compile_hard_state(
        program,
        spark.here(facts, "-F"),
        semiring=semiring,
        annotations=options.parse_annotations(annotate),
    )
    if compiled is None and (on_spark or semiring not in (None, "plain") or annotate):
        raise UsageError(
            Diagnostic(
                "W1345",
                f"this NDlog program cannot be evaluated so: it has {why}",
                hint="leave out `--engine`, `--semiring` and `--annotate`",
            )
        )
    return compiled
