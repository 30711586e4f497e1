"""`whence lineage compact`: many runs of a job become one, with the same answers."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.working import Working
from whence.app.cli.options import Form, Format
from whence.app.cli.outcome import reported


def compact(
    repository: asking.Place,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="TIME", help="Only runs that ended before; else all."),
    ] = None,
    format: Format = Form.text,
) -> None:
    """Make one run of the runs of each job: fewer files, quicker questions, the same answers.

    Example:  whence lineage compact lineage --before 2026-03-01
    """
    with reported():
        from whence.explain.text import harmless
        from whence.lineage.repository.repository import Repository

        kept = Repository(repository, create=False)
        time = None if before is None else asking.parse_time(before)
        with Working() as working:
            working.say("compacting")
            made = kept.compact(before=time)
        if format is Form.json:
            runs = [
                {"workflow": r.workflow, "job": r.job, "runs": len(r.compacted), "edges": r.edges}
                for r in made
            ]
            print_lines([json.dumps({"made": runs}, ensure_ascii=False)])
        else:
            for run in made:
                told = f"{len(run.compacted):,} runs are one of {run.edges:,} edges"
                print_lines([harmless(f"{run.workflow}/{run.job}: {told}")])
            if not made:
                print_lines(["no job has several runs"])
