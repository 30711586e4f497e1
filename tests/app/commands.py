"""The command line in this process: what it printed, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from typer.testing import CliRunner

from whence.app.cli import app


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def whence(*args: object, stdin: str | bytes | None = None) -> Ended:
    result = CliRunner().invoke(app, [str(a) for a in args], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)
