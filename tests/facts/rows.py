"""Facts as text: read bytes into rows, and rows into bytes."""

from __future__ import annotations

from typing import Any

from whence.facts.badrows import BadRows
from whence.facts.content import Content
from whence.facts.formats import FORMATS
from whence.facts.schema import Column, Layout
from whence.syntax.nodes import Kind

LETTERS = {
    "n": Kind.NUMBER,
    "u": Kind.UNSIGNED,
    "f": Kind.FLOAT,
    "s": Kind.SYMBOL,
    "r": Kind.RECORD,
}


def columns(kinds: str) -> list[Column]:
    """`columns("ns")` is a number `a` and a symbol `b`."""
    return [Column(chr(ord("a") + i), LETTERS[k]) for i, k in enumerate(kinds)]


def read_rows(
    data: bytes, kinds: str, *, form: str = "file", bad: BadRows | None = None, **layout: Any
) -> list[tuple[Any, ...]]:
    settings = Layout(relation="r", **layout)
    bad = bad if bad is not None else BadRows("r.facts", settings)
    table = FORMATS[form].read(Content("r.facts", data), columns(kinds), settings, bad)
    return [tuple(row.values()) for row in table.to_pylist()]
