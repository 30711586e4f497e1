"""`whence query`: the answers to one goal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli import options
from whence.app.cli.options import BadRow, EngineName, Form
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.progress import Progress
from whence.app.cli.terminal import report


def query(
    program: options.ProgramFile,
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What to ask, as 'path(1, x)'.")],
    facts: options.FactsDir = Path(),
    format: options.Format = Form.text,
    engine: options.Engine = EngineName.local,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    on_bad_row: options.OnBadRow = BadRow.stop,
    threads: options.Threads = None,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    quiet: options.Quiet = False,
) -> None:
    """Answer one goal; only what the goal needs is derived.

    Example:  whence query routes.dl 'path(1, x)' -F facts
    """
    with reported():
        compiled = compile_program(
            open_program(program), goal, quiet=quiet, semiring=semiring, annotate=annotate
        )
        assert compiled.goal is not None
        from whence import session
        from whence.answers import match_goal, print_facts
        from whence.engine.base import Limits
        from whence.facts.directives import load_inputs

        inputs = load_inputs(
            compiled.reading,
            facts,
            on_bad_row=on_bad_row.value,
            warn=lambda warning: None if quiet else report([warning]),
        )
        with Progress(enabled=False if quiet else None) as progress:
            evaluation = session.evaluate(
                compiled,
                inputs,
                engine=engine.value,
                limits=Limits(max_memory, timeout, max_tuples),
                threads=threads,
                observer=progress,
            )
        answers = match_goal(compiled.source, evaluation, compiled.goal)
        if format is Form.json:
            shown = {
                "goal": str(goal),
                "columns": answers.column_names,
                "count": answers.num_rows,
                "rows": [list(row.values()) for row in answers.to_pylist()],
            }
            print(json.dumps(shown, ensure_ascii=False))
            return
        for fact in print_facts(compiled.source, compiled.goal.relation, answers):
            print(fact)
        if not answers.num_rows and not quiet:
            print("no answers", file=sys.stderr)
