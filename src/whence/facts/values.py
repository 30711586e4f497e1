"""One field of text as a value, the way Soufflé reads and prints it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from whence.syntax.nodes import Kind

_INTEGER: Final = re.compile(r"\s*([+-]?)(?:0x([0-9a-fA-F]+)|0b([01]+)|([0-9]+))\s*", re.ASCII)
_FLOAT: Final = re.compile(
    r"\s*[+-]?(?:inf(?:inity)?|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
    r"|(0x[0-9a-f]+\.?[0-9a-f]*(?:p[+-]?[0-9]+)?))\s*",
    re.ASCII | re.IGNORECASE,
)
# Longer texts are out of range in any base, and Python refuses to convert very long ones.
_LONGEST: Final = 80


class NotAValue(ValueError):
    """The text is no value of the kind."""


class OutOfRange(ValueError):
    """The text is a number that 64 bits cannot hold."""


def _parse_integer(text: str, low: int, high: int) -> int:
    found = _INTEGER.fullmatch(text)
    if found is None:
        raise NotAValue(text)
    sign, hexadecimal, binary, decimal = found.groups()
    base, digits = (16, hexadecimal) if hexadecimal else (2, binary) if binary else (10, decimal)
    digits = digits.lstrip("0") or "0"
    if len(digits) > _LONGEST:
        raise OutOfRange(text)
    value = int(digits, base)
    value = -value if sign == "-" else value
    if not low <= value <= high:
        raise OutOfRange(text)
    return value


def parse_number(text: str) -> int:
    """Return a signed 64-bit integer; decimal, `0x…` and `0b…` are read.

    >>> parse_number("-0x10"), parse_number("007")
    (-16, 7)
    """
    return _parse_integer(text, -(2**63), 2**63 - 1)


def parse_unsigned(text: str) -> int:
    """Return an unsigned 64-bit integer; decimal, `0x…` and `0b…` are read."""
    return _parse_integer(text, 0, 2**64 - 1)


def parse_float(text: str) -> float:
    """Return a double; `inf`, `nan` and hexadecimal floats are read."""
    found = _FLOAT.fullmatch(text)
    if found is None:
        raise NotAValue(text)
    if not found.group(1):
        return float(text)
    try:
        return float.fromhex(text.strip())
    except OverflowError:
        raise OutOfRange(text) from None


def parse_text(text: str) -> str:
    """Return the text itself: symbols are raw, and records are read by the engine."""
    return text


PARSE: Final[dict[Kind, Callable[[str], int | float | str]]] = {
    Kind.NUMBER: parse_number,
    Kind.UNSIGNED: parse_unsigned,
    Kind.FLOAT: parse_float,
    Kind.SYMBOL: parse_text,
    Kind.RECORD: parse_text,
}


def format_float(value: float) -> str:
    """Return a double with 17 significant digits, enough to read the same bits back.

    >>> format_float(0.1), format_float(2.0), format_float(1e100)
    ('0.10000000000000001', '2', '1e+100')
    """
    return f"{value:.17g}"
