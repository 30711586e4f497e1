"""What commands that ask a repository share: which entities, which runs, how answers are shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage.working import Working, remark
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.lineage.repository.entities import Entities
    from whence.lineage.repository.repository import Repository
    from whence.lineage.repository.walk import Answer


class AnswerForm(StrEnum):
    """How an answer is printed."""

    text = "text"
    json = "json"
    prov_json = "prov-json"
    prov_n = "prov-n"
    dot = "dot"
    openlineage = "openlineage"


Place: TypeAlias = Annotated[
    Path, typer.Argument(metavar="REPOSITORY", help="The folder of the repository.")
]
Names: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="What to ask for, as tweets/17."),
]
Table: TypeAlias = Annotated[
    str | None,
    typer.Option("--table", metavar="TABLE", help="Ask for rows of this table instead."),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FILE", help="The table itself: Parquet, CSV, Arrow or JSON lines."
    ),
]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option("--where", metavar="EXPRESSION", help="Only rows for which this SQL is true."),
]
IdColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Its column of row ids; # is a row's place."),
]
Job: TypeAlias = Annotated[
    str | None,
    typer.Option("--job", metavar="NAME", help="Only this job: its own inputs and outputs."),
]
Workflow: TypeAlias = Annotated[
    str | None, typer.Option("--workflow", metavar="NAME", help="Only jobs of this workflow.")
]


def parse_time(text: str) -> datetime:
    """Return a time; one without a zone is in UTC.

    >>> parse_time("2026-03-01").isoformat()
    '2026-03-01T00:00:00+00:00'
    """
    from whence.lineage.repository import faults

    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise faults.no_time(text) from None


Since: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only jobs at work then or later.")
]
Until: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only jobs that began before.")
]
Everything: TypeAlias = Annotated[
    bool, typer.Option("--all", help="All that was reached, not only where it ends.")
]
Limit: TypeAlias = Annotated[
    int | None,
    typer.Option("--limit", min=0, metavar="N", help="Names to print of each table; 20 in text."),
]
Form: TypeAlias = Annotated[AnswerForm, typer.Option("--format", help="How to print the answer.")]

SHOWN = 20


def asked_for(
    repository: Repository,
    names: list[str] | None,
    table: str | None,
    data: Path | None,
    where: str | None,
    id: str | None,
) -> Entities:
    """Return the entities that arguments and options name."""
    from whence.lineage.repository.entities import entities_of

    if bool(names) == bool(table):
        message = "names and `--table` exclude each other" if names else "nothing is asked for"
        hint = "a name such as `tweets/17`, or `--table tweets --data tweets.parquet --where …`"
        raise UsageError(Diagnostic("W1159", message, hint=hint))
    if names:
        for option, given in (("--data", data), ("--where", where), ("--id", id)):
            if given is not None:
                message = f"`{option}` belongs to `--table`"
                raise UsageError(Diagnostic("W1159", message))
        return entities_of(names)
    if data is None:
        message = "the rows of a table are in its data"
        raise UsageError(Diagnostic("W1159", message, hint="`--data tweets.parquet`"))
    assert table is not None
    return repository.find(table, data, where, id=id)


def ask(
    path: Path,
    names: list[str] | None,
    table: str | None,
    data: Path | None,
    where: str | None,
    id: str | None,
    *,
    backward: bool,
    job: str | None,
    workflow: str | None,
    since: str | None,
    until: str | None,
    quiet: bool,
) -> tuple[Repository, Answer]:
    """Return the repository and its answer; what nobody knows is an error, or else told."""
    from whence.lineage.repository import faults
    from whence.lineage.repository.repository import Repository

    repository = Repository(path, create=False)
    begin, end = (None if text is None else parse_time(text) for text in (since, until))
    with Working(enabled=False if quiet else None) as working:
        working.say("choosing rows")
        entities = asked_for(repository, names, table, data, where, id)
        working.say("following lineage")
        question = repository.backward if backward else repository.forward
        answer = question(entities, job=job, workflow=workflow, since=begin, until=end)
    if len(answer.unknown):
        gone = answer.unknown.meet(repository.deleted())
        strange = answer.unknown.minus(gone)
        spaces = {s for run in repository.runs for s in (*run.inputs, *run.outputs)}
        shown = (strange if len(strange) else gone).names(4)
        fault = faults.unknown(shown, spaces, deleted=not len(strange))
        if not len(answer.asked):
            raise fault
        if not quiet:
            told = fault.diagnostics[0]
            message = f"{len(answer.unknown):,} of {len(entities):,}: {told.message}"
            report([Diagnostic(told.code, message, hint=told.hint, severity="warning")])
    return repository, answer


def show(
    repository: Repository, answer: Answer, form: AnswerForm, *, everything: bool, limit: int | None
) -> None:
    """Print the answer."""
    found = answer.entities if everything else answer.ends
    if form is AnswerForm.text:
        print_lines(as_text(found, SHOWN if limit is None else limit))
        left = len(answer.entities) - len(found)
        if left:
            remark(f"on the way: {left:,} more, which `--all` shows")
    elif form is AnswerForm.json:
        print_lines([json.dumps(as_json(answer, found, limit), ensure_ascii=False)])
    else:
        from whence.lineage.repository.exported import export_answer

        for piece in export_answer(repository, answer, form.value):
            print_piece(piece)


def print_piece(text: str) -> None:
    """Print a piece of a document without what stdout cannot say."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end="")


def as_text(found: Entities, limit: int) -> Iterator[str]:
    """Give a line for each table with its count, and the names of its first rows."""
    from whence.explain.text import harmless

    if not len(found):
        yield "nothing"
    for space, numbers in found.by_space.items():
        count = len(numbers)
        yield harmless(f"{space}: {count:,} row{'' if count == 1 else 's'}")
        for number in numbers[:limit].tolist():
            yield harmless(f"  {space}" if number < 0 else f"  {space}/{number}")
        if limit and count > limit:
            yield f"  … and {count - limit:,} more"


def as_json(answer: Answer, found: Entities, limit: int | None) -> dict[str, object]:
    """Return the answer as `--format json` prints it."""
    from whence.lineage.names import print_name

    tables = [
        {
            "table": space,
            "count": len(numbers),
            "names": [print_name(space, n) for n in numbers[:limit].tolist()],
        }
        for space, numbers in found.by_space.items()
    ]
    return {
        "direction": "backward" if answer.backward else "forward",
        "level": "workflow" if answer.steps is None else "job",
        "asked": answer.asked.names(),
        "unknown": answer.unknown.names(),
        "count": len(found),
        "reached": len(answer.entities),
        "tables": tables,
        "runs": [{"workflow": r.workflow, "job": r.job, "run": r.run} for r in answer.runs],
    }
