"""`whence why`: how a fact is derived."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.explaining import AskedFact, Explanation, ExplanationForm
from whence.app.cli.outcome import reported
from whence.app.cli.progress import Progress
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.database import Database
    from whence.syntax.nodes import Atom


def why(
    program: options.ProgramFile,
    fact: AskedFact,
    facts: options.FactsDir = Path(),
    format: Explanation = ExplanationForm.text,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=0, metavar="N", help="Leave out what is more steps away."),
    ] = None,
    minimal: Annotated[
        bool, typer.Option("--minimal", help="Search for a proof of least height.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="All derivations, as one graph with shared parts.")
    ] = False,
    witnesses: Annotated[
        int | None,
        typer.Option(
            "--witnesses",
            min=1,
            metavar="K",
            help="Up to K minimal sets of base facts from which it follows.",
        ),
    ] = None,
    polynomial: Annotated[
        bool, typer.Option("--polynomial", help="The provenance polynomial over base facts.")
    ] = False,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Say why a fact holds: a proof by the program's own rules, down to facts that were given.

    Example:  whence why routes.dl 'path(1, 3)' -F facts --format mermaid
    """
    with reported():
        ways = {"--all": everything, "--polynomial": polynomial, "--witnesses": bool(witnesses)}
        _check(ways, format)
        from whence.app.cli.explaining import open_database, print_diagram
        from whence.app.explain import asked, derivation
        from whence.engine.base import Limits

        goal = asked(fact)
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
        if witnesses is not None:
            _print_witnesses(db, goal, witnesses, format, quiet=quiet)
        elif polynomial:
            _print_polynomial(db, goal, format)
        else:
            found, show = derivation(db, goal, depth=depth, minimal=minimal, everything=everything)
            print_diagram(found, format.value, show)


def _check(ways: dict[str, bool], form: ExplanationForm) -> None:
    given = [name for name, wanted in ways.items() if wanted]
    if len(given) > 1:
        raise UsageError(Diagnostic("W0823", f"`{given[0]}` and `{given[1]}` exclude each other"))
    if given and given[0] != "--all" and form not in ("text", "json"):
        message = f"there is no format `{form.value}` of `{given[0]}`"
        raise UsageError(Diagnostic("W0823", message, hint="`text` and `json` are there"))


def _print_witnesses(
    db: Database, goal: Atom, count: int, form: ExplanationForm, *, quiet: bool
) -> None:
    from whence.app.cli.explaining import print_lines
    from whence.explain.text import harmless
    from whence.syntax.printer import print_literal

    found = [[str(base) for base in each] for each in islice(db.witnesses(goal), count)]
    if form is ExplanationForm.json:
        shown = {"fact": print_literal(goal), "witnesses": found, "complete": len(found) < count}
        print_lines([json.dumps(shown, ensure_ascii=False)])
        return
    print_lines(harmless(", ".join(each)) or "nothing: it follows from no fact" for each in found)
    if len(found) == count and not quiet:
        print("there may be more", file=sys.stderr)


def _print_polynomial(db: Database, goal: Atom, form: ExplanationForm) -> None:
    from whence.app.cli.explaining import print_lines
    from whence.explain.text import harmless
    from whence.syntax.printer import print_literal

    text = db.polynomial(goal)
    if form is ExplanationForm.json:
        print_lines(
            [json.dumps({"fact": print_literal(goal), "polynomial": text}, ensure_ascii=False)]
        )
    else:
        print_lines([harmless(text)])
