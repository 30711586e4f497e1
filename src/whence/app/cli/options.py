"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from whence.diagnostics import Diagnostic, UsageError


class Form(StrEnum):
    """How an answer is printed."""

    text = "text"
    json = "json"


class DialectName(StrEnum):
    """In which language a program is written."""

    souffle = "souffle"
    ndlog = "ndlog"


class BadRow(StrEnum):
    """What to do with a row that does not fit its relation."""

    stop = "stop"
    skip = "skip"


class EngineName(StrEnum):
    """Which engine evaluates."""

    local = "local"
    spark = "spark"


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_size(text: str) -> int:
    """Return a number of bytes.

    >>> parse_size("2G"), parse_size("512 MiB"), parse_size("100")
    (2147483648, 536870912, 100)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"`{text}` is not a size such as 512M or 2G")
    number, unit, _ = found.groups()
    size = float(number) * 1024 ** " kmgt".index(unit.lower() or " ")
    return int(min(size, 2.0**62))  # more than any machine has


def parse_duration(text: str) -> float:
    """Return a number of seconds.

    >>> parse_duration("30s"), parse_duration("2m"), parse_duration("1.5")
    (30.0, 120.0, 1.5)
    """
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"`{text}` is not a duration such as 30s, 5m or 500ms")
    number, unit = found.groups()
    return float(number) * _SECONDS[(unit or "s").lower()]


def parse_annotations(given: list[str] | None) -> dict[str, int | float | str]:
    """Return the annotation of each relation that is given as RELATION=VALUE.

    >>> parse_annotations(["edge=1", "link=0.5", "doc=secret"])
    {'edge': 1, 'link': 0.5, 'doc': 'secret'}
    """
    found: dict[str, int | float | str] = {}
    for text in given or []:
        name, mark, value = text.partition("=")
        if not (name and mark and value):
            message = f"`--annotate {text}` is not of the form RELATION=VALUE"
            raise UsageError(Diagnostic("W0818", message, hint="such as `--annotate edge=1`"))
        found[name] = _cell(value)
    return found


def _cell(text: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return text


ProgramFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PROGRAM", help="The program, in Soufflé's syntax; - is stdin.")
]
AnyProgramFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PROGRAM", help="The program, in any dialect; - is stdin.")
]
Dialect: TypeAlias = Annotated[
    DialectName | None,
    typer.Option("--dialect", help="The language of the program, if not by its name (.ndlog)."),
]
FactsDir: TypeAlias = Annotated[
    Path, typer.Option("--fact-dir", "-F", metavar="DIR", help="Where facts files are.")
]
Format: TypeAlias = Annotated[Form, typer.Option("--format", help="How to print the answer.")]
Engine: TypeAlias = Annotated[EngineName, typer.Option("--engine", help="Where to evaluate.")]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--threads", "-j", min=1, metavar="N", help="Threads to use; all cores if not given."
    ),
]
MaxMemory: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        parser=parse_size,
        help="Stop above this memory, such as 2G.",
    ),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="TIME",
        parser=parse_duration,
        help="Stop after this time, such as 30s.",
    ),
]
MaxTuples: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-tuples", min=0, metavar="N", help="Stop above this many tuples in all."),
]
OnBadRow: TypeAlias = Annotated[
    BadRow,
    typer.Option("--on-bad-row", help="Stop at a malformed row, or skip, count and report it."),
]
Semiring: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--semiring",
        metavar="NAME",
        help="Annotate facts in this semiring; `plain` not at all. Else `@prov:NAME` decides.",
    ),
]
Annotate: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--annotate",
        metavar="RELATION=VALUE",
        help="The annotation of its facts that come without one.",
    ),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="No warnings and no progress, only errors.")
]
