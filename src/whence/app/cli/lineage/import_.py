"""`whence lineage import`: PROV of others into a repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.working import Working, remark
from whence.app.cli.options import BadRow, Form
from whence.app.cli.outcome import reported
from whence.app.cli.terminal import report

if TYPE_CHECKING:
    from whence.lineage.repository.importing import Imported
    from whence.lineage.repository.repository import Repository


def import_(
    repository: asking.Place,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="PROV-JSON, -XML, -N or -RDF, JSON lines, a log, a trace."
        ),
    ],
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="The format, if the name does not tell."),
    ] = None,
    workflow: Annotated[
        str, typer.Option("--workflow", metavar="NAME", help="The workflow of the jobs.")
    ] = "imported",
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="NAME", help="All files are one run of this job."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="Its name; one of that name is replaced."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="TABLE", help="Its rows are inputs, even if generated."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="TABLE", help="Its rows are outputs, even if used."),
    ] = None,
    on_bad_row: options.OnBadRow = BadRow.stop,
    format: options.Format = Form.text,
    quiet: options.Quiet = False,
) -> None:
    """Read lineage, reduce it exactly and add it to a repository; each file is a job of its own.

    Example:  whence lineage import lineage trace.json --workflow seismology
    """
    with reported():
        from whence.lineage.repository.importing import Source, add_sources, sources
        from whence.lineage.repository.repository import Repository

        kept = Repository(repository)
        chosen = {"inputs": inputs or (), "outputs": outputs or ()}
        with Working(enabled=False if quiet else None) as working:
            read: list[Source] = []
            for path in files:
                working.say(f"reading {path}")
                read += sources(path, form=from_, on_bad_row=on_bad_row.value)
            together = [read] if job is not None else [[each] for each in read]
            found = []
            for several in together:
                working.say(f"reducing {', '.join(each.name for each in several)}")
                found.append(
                    add_sources(kept, several, workflow=workflow, job=job, run=run, **chosen)
                )
        _show(kept, found, format, quiet=quiet)


def _show(repository: Repository, found: list[Imported], form: Form, *, quiet: bool) -> None:
    if not quiet:
        report(w for each in found for w in each.warnings)
    if form is Form.json:
        runs = [
            {
                "workflow": each.run.workflow,
                "job": each.run.job,
                "run": each.run.run,
                "read": each.edges,
                "filtered": dict(each.filtered),
                "skipped": each.skipped,
                "edges": each.run.edges,
                "inputs": list(each.run.inputs),
                "outputs": list(each.run.outputs),
            }
            for each in found
        ]
        print_lines([json.dumps({"runs": runs}, ensure_ascii=False)])
        return
    from whence.explain.text import harmless

    for each in found:
        name = f"{each.run.workflow}/{each.run.job}"
        print_lines([harmless(f"{name}: {each.edges:,} edges reduced to {each.run.edges:,}")])
        if each.filtered and not quiet:
            what = ", ".join(f"{count:,} {kind}" for kind, count in sorted(each.filtered.items()))
            remark(f"left out: {what}")
        if each.skipped and not quiet:
            remark(f"skipped {each.skipped:,} bad lines")
