"""The command `whence`: one module per command, listed here.

Commands import what they need when they run, so that `whence --help` and short runs stay quick.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from whence import __version__
from whence.app.cli.check import check
from whence.app.cli.fmt import fmt
from whence.app.cli.lineage import group
from whence.app.cli.net import group as net_group
from whence.app.cli.outcome import TERMINATED, reported
from whence.app.cli.plan import plan
from whence.app.cli.query import query
from whence.app.cli.repl import repl
from whence.app.cli.run import run
from whence.app.cli.sql import sql
from whence.app.cli.watch import watch
from whence.app.cli.whatif import whatif
from whence.app.cli.why import why
from whence.app.cli.whynot import whynot

COMMANDS: Final[tuple[Callable[..., None], ...]] = (
    run,
    check,
    fmt,
    plan,
    query,
    sql,
    repl,
    why,
    whynot,
    whatif,
    watch,
)


class _Group(TyperGroup):
    """The commands, when an interrupt while the command line is read ends as any other does."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        with reported():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        with reported():
            return super().invoke(ctx)


app = typer.Typer(
    name="whence",
    cls=_Group,
    help="Datalog in Soufflé's syntax: evaluate, check, query, explain and watch programs.",
    epilog="Exit codes: 0 done, 1 the program is wrong, 2 usage, 3 the data is wrong, "
    "4 a limit was reached, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for _command in COMMANDS:
    app.command()(_command)
app.add_typer(group)
app.add_typer(net_group)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"whence {__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    verbose: Annotated[
        int,
        typer.Option("--verbose", "-v", count=True, help="Log what is done; twice for more."),
    ] = 0,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    if verbose:
        logging.basicConfig(
            stream=sys.stderr,
            level=logging.INFO if verbose == 1 else logging.DEBUG,
            format="%(relativeCreated)8.0f ms  %(name)s  %(message)s",
        )
        # Numba logs every pass of its compiler, which is nobody's question here.
        logging.getLogger("numba").setLevel(logging.WARNING)
        logging.getLogger("py4j").setLevel(logging.WARNING)  # every call to Spark's JVM


def main() -> None:
    """Run the command line."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        with reported():
            try:
                app()
            finally:
                sys.stdout.flush()
    except typer.Exit as end:
        sys.exit(end.exit_code)
