"""`whence whatif`: what a change of facts would do, while nothing is changed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.options import Form
from whence.app.cli.outcome import reported
from whence.app.cli.progress import Progress
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.database import Database
    from whence.view.base import Changes


def whatif(
    program: options.ProgramFile,
    delete: Annotated[
        list[str] | None,
        typer.Option("--delete", "-d", metavar="FACT", help="A fact that goes; may be repeated."),
    ] = None,
    insert: Annotated[
        list[str] | None,
        typer.Option("--insert", "-i", metavar="FACT", help="A fact that comes; may be repeated."),
    ] = None,
    facts: options.FactsDir = Path(),
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            "-r",
            metavar="NAME",
            help="Print the changes of this relation; may be repeated. The outputs if not given.",
        ),
    ] = None,
    format: options.Format = Form.text,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Print what would change if facts went and came; nothing does.

    Example:  whence whatif routes.dl --delete 'link(1, 2)' --insert 'link(1, 3)'
    """
    with reported():
        goes, comes = delete or [], insert or []
        if not goes and not comes:
            hint = "say what goes with `--delete FACT`, and what comes with `--insert FACT`"
            raise UsageError(Diagnostic("W0822", "there is no change to suppose", hint=hint))
        from whence.app.cli.explaining import open_database
        from whence.app.cli.program import printed_relations
        from whence.app.explain import without_effect
        from whence.engine.base import Limits

        with Progress(enabled=False if quiet else None) as progress:
            db = open_database(
                program,
                facts,
                limits=Limits(max_memory, timeout, max_tuples),
                threads=threads,
                observer=progress,
                quiet=quiet,
                semiring=semiring,
                annotate=annotate,
            )
            names = printed_relations(db.program, relation or [])
            for name in names:  # refuses relations whose changes are not told
                db.subscribe(name, lambda _: None).cancel()
            changes = db.what_if(delete=goes, insert=comes)
        if not quiet:
            report(without_effect(db, goes, comes))
        if format is Form.json:
            found = {"delete": goes, "insert": comes, "changes": as_data(changes, names)}
            print(json.dumps(found, ensure_ascii=False, allow_nan=False))
            return
        _print(db, changes, names, quiet=quiet)


def as_data(changes: Changes, names: list[str]) -> dict[str, dict[str, object]]:
    """Return the changes of these relations as JSON has them, in order."""
    from whence.explain.json_form import plain
    from whence.rows import tuples_of

    data: dict[str, dict[str, object]] = {}
    for name in names:
        if name in changes:
            rows = {"deleted": changes[name].deleted, "inserted": changes[name].inserted}
            data[name] = {
                kind: [[plain(v) for v in row] for row in sorted(tuples_of(table))]
                for kind, table in rows.items()
            }
    return data


def _print(db: Database, changes: Changes, names: list[str], *, quiet: bool) -> None:
    from whence.facts.schema import shown_columns
    from whence.view.written import write_change

    changed = [name for name in names if name in changes]
    for name in changed:
        data = write_change(changes[name], shown_columns(db.program, name))
        if sys.stdout.isatty():
            sys.stdout.write(data.decode())
        else:
            sys.stdout.buffer.write(data)
    sys.stdout.flush()
    if not changed and not quiet:
        print("nothing would change", file=sys.stderr)
