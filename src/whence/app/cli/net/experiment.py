"""`whence net experiment`: a figure of the papers on networks, drawn again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from whence.app.cli.explaining import print_lines
from whence.app.cli.outcome import reported
from whence.app.net.needed import check_libraries
from whence.diagnostics import Diagnostic, UsageError


def experiment(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Which; without a name, all are listed."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where figures and pictures go.")
    ] = Path("experiments"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, for a first look.")
    ] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Measure nothing; draw what DIR holds.")
    ] = False,
) -> None:
    """Run an experiment of the papers on networks, and write its figures as JSON and pictures.

    Example:  whence net experiment figure7.2 --quick --out figures
    """
    with reported():
        check_libraries()
        from whence.app.net.experiments import find, listing, redrawn, run

        if name is None:
            print_lines(listing())
            return
        found, chosen = find(name)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot write into `{out}`: {(error.strerror or str(error)).lower()}"
            raise UsageError(Diagnostic("W1424", message)) from None
        if redraw:
            print_lines(redrawn(found, chosen, out))
        else:
            print_lines(run(found, chosen, out, quick, _say))


def _say(what: str) -> None:
    if sys.stderr.isatty():
        print(f"… {what}", file=sys.stderr, flush=True)
