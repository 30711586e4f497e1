"""`whence sql`: tables, recursive views, updates and queries in SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.options import EngineName, Form
from whence.app.cli.outcome import reported
from whence.app.cli.program import program_text
from whence.app.cli.progress import Progress

if TYPE_CHECKING:
    from whence.table import Table


def sql(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A script; - is stdin.")],
    facts: Annotated[
        Path | None,
        typer.Option(
            "--fact-dir", "-F", metavar="DIR", help="Where TABLE.facts files are, if anywhere."
        ),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print the script as rules, and run nothing.")
    ] = False,
    format: options.Format = Form.text,
    engine: options.Engine = EngineName.local,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Run a script of SQL: recursive views are kept current while it changes tables.

    CREATE TABLE, CREATE VIEW, WITH RECURSIVE, INSERT, DELETE, UPDATE and SELECT; each SELECT prints
    its rows. Relations are sets, and there is no NULL.

    Example:  whence sql routes.sql -F facts

    Example:  whence sql routes.sql --rules > routes.dl
    """
    with reported():
        from whence.app.sql import as_rules, run_script
        from whence.engine.base import Limits
        from whence.sql import script

        text = program_text(file)
        said = script(text, name="<stdin>" if str(file) == "-" else str(file))
        if rules:
            print(as_rules(said), end="")
            return
        with Progress(enabled=False if quiet else None) as progress:
            answers = run_script(
                said,
                facts=facts,
                engine=engine.value,
                limits=Limits(max_memory, timeout, max_tuples),
                threads=threads,
                observer=progress,
            )
            for number, (_, table) in enumerate(answers):
                if format is Form.json:
                    print(_as_json(table), flush=True)
                else:
                    print(_as_text(table, first=number == 0), flush=True)


def _as_json(table: Table) -> str:
    rows = [list(row) for row in table]
    return json.dumps({"columns": list(table.columns), "rows": rows}, ensure_ascii=False)


def _as_text(table: Table, *, first: bool) -> str:
    """Return a table with a line of names; tables are apart by an empty line."""
    lines = [] if first else [""]
    lines.append("\t".join(table.columns))
    lines += ["\t".join(str(value) for value in row) for row in table]
    return "\n".join(lines)
