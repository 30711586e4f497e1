"""`whence watch`: relations kept current while updates come in."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from whence.app.cli import options
from whence.app.cli.options import BadRow, Form, parse_duration
from whence.app.cli.outcome import INTERRUPTED, TERMINATED, reported
from whence.app.cli.program import (
    check_relation,
    compile_program,
    open_program,
    printed_relations,
)
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.app.watch import Batching
    from whence.database import Database
    from whence.syntax.nodes import Program


class Strategy(StrEnum):
    """How views are maintained."""

    auto = "auto"
    ranked = "ranked"
    dred = "dred"
    counting = "counting"
    recompute = "recompute"


def watch(
    program: options.ProgramFile,
    updates: Annotated[
        Path,
        typer.Option(
            "--updates",
            "-u",
            metavar="FILE|DIR|-",
            help="Where updates come from; - is stdin.",
        ),
    ],
    facts: Annotated[
        Path | None,
        typer.Option(
            "--fact-dir",
            "-F",
            metavar="DIR",
            help="Begin with the facts of `.input` relations in this folder.",
        ),
    ] = None,
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation", "-r", metavar="NAME", help="Print its changes; outputs if not given."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state", metavar="DIR", help="Keep everything in this folder, and go on from there."
        ),
    ] = None,
    from_start: Annotated[
        bool,
        typer.Option("--from-start", help="Read all updates, also those in the state already."),
    ] = False,
    format: options.Format = Form.text,
    ttl: Annotated[
        list[str] | None,
        typer.Option("--ttl", metavar="NAME=TIME", help="Facts live so long after an insert."),
    ] = None,
    window: Annotated[
        list[str] | None,
        typer.Option(
            "--window", metavar="NAME=TIME", help="Only facts of the latest so much time."
        ),
    ] = None,
    last: Annotated[
        list[str] | None,
        typer.Option(
            "--last", metavar="NAME=N[:COLUMNS]", help="Only the last N facts, for each key."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="NAME=COLUMNS", help="What `~` replaces by."),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            metavar="N|TIME",
            help="Without `commit` in the input, commit after N updates, or TIME, or N,TIME.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more at the end of a file or folder.")
    ] = False,
    on_error: Annotated[
        BadRow, typer.Option("--on-error", help="Stop at a bad line, or skip and count it.")
    ] = BadRow.stop,
    maintain: Annotated[
        Strategy, typer.Option("--maintain", help="How views are kept current.")
    ] = Strategy.auto,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    threads: options.Threads = None,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    quiet: options.Quiet = False,
) -> None:
    """Keep relations current while updates come in, and print their changes.

    An update is a line: `+link(1, 2).`, `-link(1, 2).` or JSON; `commit.` ends a batch.

    Example:  whence watch routes.dl --updates - --ttl link=30s
    """
    with reported():
        if str(program) == "-" and str(updates) == "-":
            message = "program and updates cannot both come from standard input"
            raise UsageError(Diagnostic("W0815", message))
        parsed = open_program(program)
        compiled = compile_program(parsed, quiet=True, semiring=semiring, annotate=annotate)
        if not quiet:  # updates may come to any relation, and any may be printed
            report(w for w in compiled.warnings if w.code not in ("W0903", "W0904"))
        from whence.database import Database
        from whence.engine.base import Limits

        relations, windows = printed_relations(parsed, relation or []), _windows(ttl, window, last)
        with Database(
            state,
            limits=Limits(max_memory, timeout, max_tuples),
            threads=threads,
            maintain=maintain.value,
            semiring=semiring,
            annotations=compiled.annotations,
        ) as db:
            _load(db, parsed, facts)
            for name, asked in windows.items():
                db.window(name, **asked)
            ended = _watch(
                db,
                updates,
                relations=relations,
                keys=_keys(db, key),
                form=format,
                batching=_batching(batch),
                follow=follow,
                from_start=from_start,
                skip=on_error is BadRow.skip,
                quiet=quiet,
            )
    if ended:
        raise typer.Exit(ended)


def _watch(
    db: Database,
    updates: Path,
    *,
    relations: list[str],
    keys: dict[str, tuple[int, ...]],
    form: Form,
    batching: Batching | None,
    follow: bool,
    from_start: bool,
    skip: bool,
    quiet: bool,
) -> int:
    """Watch until the source ends or a signal comes, and return the exit code."""
    from whence.app.cli.live import LiveDisplay
    from whence.app.sources import open_source
    from whence.app.watch import Stopped, Watch, start_of, stopping
    from whence.facts.schema import columns_of
    from whence.view.updates import UpdateParser

    def tell(diagnostic: Diagnostic) -> None:
        if not quiet:
            report([diagnostic])

    terminal = sys.stderr.isatty() and not quiet
    display = LiveDisplay(relations, lambda name: len(db[name])) if terminal else None
    for name in relations:  # makes the view, and refuses relations whose changes are not told
        db.subscribe(name, lambda _: None).cancel()
    start = None if from_start else start_of(db.note)
    source = open_source(updates, follow=follow, start=start, stdin=_stdin, warn=tell)
    with stopping() as stop:
        parser = UpdateParser({n: columns_of(db.program, n) for n in db}, keys=keys)
        watching = Watch(
            db,
            source,
            parser,
            relations=relations,
            write=_write,
            form=form.value,
            batching=batching,
            skip_errors=skip,
            report=tell,
            display=display,
            stop=stop,
        )
        code = 0
        try:
            with display or nullcontext():
                watching.run()
        except Stopped as stopped:
            code = INTERRUPTED if stopped.signal == 2 else TERMINATED
    if code and not quiet:
        print("interrupted" if code == INTERRUPTED else "terminated", file=sys.stderr)
    if terminal or (code and not quiet):
        print(watching.progress.summary(), file=sys.stderr)
    return code


def _load(db: Database, program: Program, facts: Path | None) -> None:
    """Begin with the program and its facts, unless the state began with them before."""
    if not db.program.relations:
        db.load(program, facts=facts)
    elif str(db.program) != str(program):
        raise UsageError(
            Diagnostic(
                "W0816",
                "the state belongs to another program",
                hint="give another folder to `--state`, or the program it was made with",
            )
        )


def _write(data: bytes) -> None:
    """Print changes, each commit whole and at once."""
    if sys.stdout.isatty():  # above the live picture
        sys.stdout.write(data.decode())
    else:
        sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _stdin() -> int:
    try:
        return sys.stdin.fileno()
    except OSError:  # no file of the system, but what stands in for one
        with tempfile.TemporaryFile() as file:
            file.write(sys.stdin.buffer.read())
            file.seek(0)
            return os.dup(file.fileno())


def _pairs(option: str, given: list[str] | None) -> list[tuple[str, str]]:
    """Return the names and values of an option that is given as NAME=VALUE."""
    pairs = [text.partition("=") for text in given or []]
    for name, mark, value in pairs:
        if not (name and mark and value):
            raise typer.BadParameter(
                f"`{option} {name}{mark}{value}` is not of the form NAME=VALUE"
            )
    return [(name, value) for name, _, value in pairs]


class _Asked(TypedDict, total=False):
    ttl: float
    within: float
    last: int
    by: tuple[str, ...]


def _windows(
    ttl: list[str] | None, window: list[str] | None, last: list[str] | None
) -> dict[str, _Asked]:
    """Return the window of each relation that one or several options ask for."""
    asked: dict[str, _Asked] = {}
    for name, width in _pairs("--ttl", ttl):
        asked.setdefault(name, {})["ttl"] = parse_duration(width)
    for name, width in _pairs("--window", window):
        asked.setdefault(name, {})["within"] = parse_duration(width)
    for name, number in _pairs("--last", last):
        count, _, by = number.partition(":")
        if not count.isdecimal():
            raise typer.BadParameter(f"`--last {name}={number}` gives no number of facts")
        asked.setdefault(name, {})["last"] = int(count)
        if by:
            asked[name]["by"] = tuple(by.split(","))
    return asked


def _keys(db: Database, given: list[str] | None) -> dict[str, tuple[int, ...]]:
    from whence.facts.schema import columns_of
    from whence.transaction import key_columns

    pairs = _pairs("--key", given)
    for name, _ in pairs:
        check_relation(db.program, name)
    return {n: key_columns(n, columns_of(db.program, n), c.split(",")) for n, c in pairs}


def _batching(text: str | None) -> Batching | None:
    from whence.app.watch import Batching

    if text is None:
        return None
    lines, seconds = None, None
    for part in text.split(","):
        if part.strip().isdecimal() and int(part) > 0:
            lines = int(part)
        else:
            seconds = parse_duration(part)
    return Batching(lines, seconds)
