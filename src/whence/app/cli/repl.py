"""`whence repl`: a conversation with a program."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.outcome import reported
from whence.app.cli.terminal import report
from whence.diagnostics import WhenceError

if TYPE_CHECKING:
    from whence.app.repl import Repl


def repl(
    program: Annotated[
        Path | None, typer.Argument(metavar="[PROGRAM]", help="A program to begin with.")
    ] = None,
    facts: options.FactsDir = Path(),
    max_memory: options.MaxMemory = None,
    timeout: options.Timeout = None,
    max_tuples: options.MaxTuples = None,
    threads: options.Threads = None,
    semiring: options.Semiring = None,
) -> None:
    """Declare, state and ask, one line at a time; errors do not end it.

    Example:  whence repl routes.dl
    """
    with reported():
        from whence.app.repl import Repl
        from whence.engine.base import Limits

        limits = Limits(max_memory, timeout, max_tuples)
        shell = Repl(facts_dir=facts, limits=limits, threads=threads, semiring=semiring)
        if program is not None:
            shell.load(program)
        interactive = sys.stdin.isatty()
        if interactive:
            print("Whence. Rules and facts end with `.`, goals with `?`; `.help` says more.")
        with _history(interactive):
            _converse(shell, interactive)


def _converse(shell: Repl, interactive: bool) -> None:
    while not shell.ended:
        try:
            line = input(shell.prompt) if interactive else _next_line()
        except EOFError:
            if interactive:
                print()
            return
        except KeyboardInterrupt:
            print()
            shell.forget_line()
            continue
        try:
            for text in shell.read_line(line):
                print(text)
        except WhenceError as error:
            report(error.diagnostics)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)


def _next_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


@contextlib.contextmanager
def _history(interactive: bool) -> Iterator[None]:
    """Keep the typed lines for the next time, where the system allows it."""
    try:
        import readline
    except ImportError:
        interactive = False
    if not interactive:
        yield
        return
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if not os.path.isabs(state):  # in a container the user may have no home
        yield
        return
    file = Path(state) / "whence" / "history"
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        readline.read_history_file(file)
    try:
        yield
    finally:
        readline.set_history_length(1000)
        with contextlib.suppress(OSError):
            readline.write_history_file(file)
