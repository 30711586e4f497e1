"""Facts of NDlog programs in files: one a line, tabs between columns, as Soufflé has them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from whence.diagnostics import DataError, Diagnostic, ProgramError, Source, Span
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.ndlog_printer import print_value
from whence.syntax.nodes import Call, Constant, Record, Term

Row = tuple[Any, ...]

_WHOLE: Final = re.compile(r"-?[0-9]+")
_FLOAT: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Final = {
    "true": True,
    "false": False,
    "infinity": float("inf"),
    "-infinity": float("-inf"),
}


def read_value(text: str) -> Any:
    """Return the value in a cell: a number, a truth value, a list, and else the text itself.

    >>> [read_value(cell) for cell in ("a", "12", "2.5", "true", "[a, [1]]", "10.0.0.1:7")]
    ['a', 12, 2.5, True, ('a', (1,)), '10.0.0.1:7']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text) and len(text) <= 160:
        return int(text)
    if _FLOAT.fullmatch(text) and not _WHOLE.fullmatch(text):
        return float(text)
    if text.startswith("[") and text.endswith("]"):
        try:
            return _value(parse_ndlog(f"p({text}).").rules[0].head.args[0])
        except (ProgramError, _NoValue):
            return text
    return text


class _NoValue(Exception):
    """A list has terms in it that are no values."""


def _value(term: Term) -> Any:
    match term:
        case Constant(value=value):
            return value
        case Record(items=items):
            return tuple(map(_value, items))
        case Call(functor="neg", args=(inner,)):
            return -_value(inner)
        case _:
            raise _NoValue


def write_value(value: Any) -> str:
    """Return a value as a cell; text stands as it is."""
    return value if isinstance(value, str) else print_value(value)


def read_rows(path: Path, arity: int) -> set[Row]:
    """Return the facts in a file; each line has as many cells as the relation has columns."""
    rows: set[Row] = set()
    text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != arity:
            raise DataError(
                Diagnostic(
                    "W1343",
                    f"a fact of {arity} columns has {len(cells)} here",
                    Span(number, 1, number, len(line) + 1, Source(str(path), text)),
                    hint="columns are separated by tabs",
                )
            )
        rows.add(tuple(map(read_value, cells)))
    return rows


def write_rows(rows: Iterable[Row]) -> str:
    """Return facts as the text of a file, in order."""
    lines = sorted("\t".join(map(write_value, row)) for row in rows)
    return "".join(f"{line}\n" for line in lines)
