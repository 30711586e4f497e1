"""How a command ends: every error a user can cause becomes a message and an exit code.

0 done, 1 the program is wrong, 2 usage, 3 the data is wrong, 4 a limit was reached,
130 interrupted, 141 the reader of our output went away, 143 terminated.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import typer

from whence.app.cli.terminal import report
from whence.diagnostics import DataError, Diagnostic, LimitError, WhenceError

INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors inside the block into their message on stderr and their exit code."""
    try:
        yield
        sys.stdout.flush()
    except WhenceError as error:
        report(error.diagnostics)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _settle_stdout()
        raise typer.Exit(BROKEN_PIPE) from None
    except MemoryError:
        report([Diagnostic("W0703", "the machine has no more memory for this")])
        raise typer.Exit(LimitError.exit_code) from None
    except OSError as error:
        what = f"`{error.filename}`: " if error.filename else ""
        _settle_stdout()
        report([Diagnostic("W0612", f"{what}{(error.strerror or str(error)).lower()}")])
        raise typer.Exit(DataError.exit_code) from None


def _settle_stdout() -> None:
    """Let what is left in the buffer of a stdout that takes no more go nowhere.

    The interpreter flushes stdout once more at exit, and would end with a message of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
