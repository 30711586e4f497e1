"""`whence lineage export`: a repository, or some of its runs, for others to read."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.working import Working, remark
from whence.app.cli.outcome import reported
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.lineage.repository.manifest import Run
    from whence.lineage.repository.snapshot import Snapshot


class ExportForm(StrEnum):
    """What runs can be written as."""

    jsonl = "jsonl"
    prov_json = "prov-json"
    prov_n = "prov-n"
    dot = "dot"
    openlineage = "openlineage"
    facts = "facts"


def export(
    repository: asking.Place,
    format: Annotated[
        ExportForm, typer.Option("--format", help="What to write; `facts` are for rules.")
    ] = ExportForm.jsonl,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="Where; stdout if not given."),
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", metavar="NAME", help="Only runs of this job.")
    ] = None,
    workflow: asking.Workflow = None,
    since: asking.Since = None,
    until: asking.Until = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the runs of a repository in a format of others; answers have `--format` themselves.

    Example:  whence lineage export lineage --format openlineage -o events.jsonl
    """
    with reported():
        from whence.lineage.repository.repository import Repository

        snapshot = Repository(repository, create=False).snapshot()
        runs = snapshot.select(
            job=job,
            workflow=workflow,
            since=None if since is None else asking.parse_time(since),
            until=None if until is None else asking.parse_time(until),
        )
        if format is ExportForm.facts and output is None:
            message = "facts are several files"
            raise UsageError(Diagnostic("W1159", message, hint="name a folder with `-o`"))
        enabled = False if quiet or output is None else None
        with Working(enabled=enabled) as working:
            working.say(f"writing {len(runs):,} runs")
            _write(snapshot, runs, format, output)
        if output is not None and not quiet:
            edges = sum(run.edges for run in runs)
            remark(f"{len(runs):,} runs with {edges:,} edges written to {output}")


def _write(snapshot: Snapshot, runs: Sequence[Run], form: ExportForm, output: Path | None) -> None:
    from whence.lineage.repository import exported

    if form is ExportForm.facts:
        assert output is not None
        exported.write_facts(snapshot, output, runs)
        return
    with _whole(output) as file:
        if form is ExportForm.jsonl:
            exported.write_json_lines(snapshot, runs, file)
        else:
            for piece in exported.export_runs(snapshot, runs, form.value):
                file.write(piece.encode("utf-8", "replace"))


@contextlib.contextmanager
def _whole(path: Path | None) -> Iterator[IO[bytes]]:
    """Give a file that stands in its place when all of it is written; stdout if there is none."""
    if path is None:
        yield sys.stdout.buffer
        return
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
