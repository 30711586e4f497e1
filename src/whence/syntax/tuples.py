"""Facts and values as a program writes them, on one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from whence.syntax.nodes import Constant, Kind
from whence.syntax.printer import print_constant

Value: TypeAlias = "int | float | str | tuple[Value, ...] | None"
"""A number, a symbol, a record (nil is None)."""


def tuple_text(relation: str, row: Sequence[Value]) -> str:
    """Return a tuple of a relation as text.

    >>> tuple_text("p", (1, 2.0, "a b", ("c", None)))
    'p(1, 2.0, "a b", ["c", nil])'
    """
    return f"{relation}({', '.join(map(value_text, row))})"


def value_text(value: Value) -> str:
    """Return a value as text; records nest deeply, so without recursion."""
    if not isinstance(value, tuple):
        return _scalar(value)
    parts: list[str] = []
    pending: list[tuple[bool, Value]] = [(False, value)]  # whether it is punctuation, and what
    while pending:
        mark, item = pending.pop()
        if isinstance(item, tuple):
            parts.append("[")
            pending.append((True, "]"))
            for place in range(len(item) - 1, -1, -1):
                pending.append((False, item[place]))
                if place:
                    pending.append((True, ", "))
        else:
            parts.append(str(item) if mark else _scalar(item))
    return "".join(parts)


def _scalar(value: int | float | str | None) -> str:
    match value:
        case None:
            return "nil"
        case str():
            return print_constant(Constant(value, Kind.SYMBOL))
        case float():
            return print_constant(Constant(value, Kind.FLOAT))
        case _:
            return str(value)
