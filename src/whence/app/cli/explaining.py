"""What the commands that explain share: a database of the program, and how answers are printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from whence.app.cli.options import parse_annotations
from whence.app.cli.program import compile_program, open_program
from whence.app.cli.terminal import report, wants_colour

if TYPE_CHECKING:
    from whence.database import Database
    from whence.engine.base import Limits, Observer
    from whence.explain.diagram import Diagram
    from whence.explain.outline import Show


class ExplanationForm(StrEnum):
    """How an explanation is printed."""

    text = "text"
    json = "json"
    dot = "dot"
    mermaid = "mermaid"
    prov_json = "prov-json"


AskedFact: TypeAlias = Annotated[
    str, typer.Argument(metavar="FACT", help="What to explain, as 'path(1, 2)'.")
]
Explanation: TypeAlias = Annotated[
    ExplanationForm, typer.Option("--format", help="How to print the explanation.")
]


def open_database(
    program: Path,
    facts: Path,
    *,
    limits: Limits,
    threads: int | None,
    observer: Observer | None,
    quiet: bool,
    semiring: str | None = None,
    annotate: list[str] | None = None,
) -> Database:
    """Return a database of the program and its facts; warnings go to stderr unless `quiet`."""
    parsed = open_program(program)
    compiled = compile_program(parsed, quiet=True, semiring=semiring, annotate=annotate)
    if not quiet:  # any relation may be asked about
        report(w for w in compiled.warnings if w.code not in ("W0903", "W0904"))
    from whence.database import Database

    db = Database(
        limits=limits,
        threads=threads,
        observer=observer,
        semiring=semiring,
        annotations=parse_annotations(annotate),
    )
    db.load(parsed, facts=facts)
    return db


def print_diagram(diagram: Diagram, form: str, show: Show) -> None:
    """Print an explanation, in colour where a terminal wants it."""
    from whence.explain.forms import FORMS

    if form != "text" or not wants_colour(sys.stdout):
        print_lines([FORMS[form](diagram, show)])
        return
    from rich.console import Console

    from whence.explain.text import as_rich

    console = Console(file=sys.stdout, force_terminal=True, highlight=False, soft_wrap=True)
    for line in as_rich(diagram, show):
        console.print(line)


def print_lines(lines: Iterable[str]) -> None:
    """Print text without what stdout cannot say."""
    encoding = sys.stdout.encoding or "utf-8"
    for line in lines:
        print(line.encode(encoding, "replace").decode(encoding))
