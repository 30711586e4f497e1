"""The dialects that programs are written in, and which one a file is in."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from whence.syntax.ndlog import SUFFIX, parse_ndlog
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse

DIALECTS: Final = ("souffle", "ndlog")
"""The names of the dialects; a file is in the first unless its name says otherwise."""


def dialect_of(name: str) -> str:
    """Return the dialect of a file.

    >>> dialect_of("chord.ndlog"), dialect_of("routes.dl"), dialect_of("-")
    ('ndlog', 'souffle', 'souffle')
    """
    return "ndlog" if PurePath(name).suffix == SUFFIX else "souffle"


def parse_as(dialect: str, text: str, name: str) -> Program:
    """Return the program of a text in this dialect."""
    return parse_ndlog(text, name) if dialect == "ndlog" else parse(text, name=name)
