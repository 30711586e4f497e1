"""Conversions between kinds.

A symbol is read as C's strtoll and strtod read it: leading blanks are skipped and whatever
follows the longest readable prefix is ignored, but there must be such a prefix.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np

from whence.functor.arithmetic import quiet
from whence.functor.values import (
    MAX_NUMBER,
    MAX_UNSIGNED,
    MIN_NUMBER,
    Floats,
    FunctorFault,
    Ints,
    Texts,
    Uints,
    canonical_float,
    canonical_floats,
    text_array,
    wrap_unsigned,
)

_BLANK = r"[ \t\n\v\f\r]*"
_INTEGER = re.compile(
    rf"(?P<binary>-?0b)(?P<bits>[01]+)|(?P<hex>-?0x)(?P<nibbles>[0-9a-fA-F]+)"
    rf"|{_BLANK}(?P<decimal>[-+]?[0-9]+)"
)
_FLOAT = re.compile(
    rf"{_BLANK}(?P<sign>[-+]?)(?:(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)"
    r"(?:[pP][-+]?[0-9]+)?)"
    r"|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<inf>inf(?:inity)?)|(?P<nan>nan))",
    re.IGNORECASE,
)
_CLIP = 40


def _quote(text: str) -> str:
    return f'"{text[:_CLIP]}…"' if len(text) > _CLIP else f'"{text}"'


def _integer(text: str) -> int | None:
    found = _INTEGER.match(text)
    if found is None:
        return None
    if found["decimal"] is not None:
        # int() refuses very long digit strings; none of them fits 64 bits.
        digits = found["decimal"].lstrip("+-").lstrip("0")
        return int(found["decimal"]) if len(digits) <= 20 else MAX_UNSIGNED + 1
    sign = -1 if text.startswith("-") else 1
    return sign * (int(found["bits"], 2) if found["binary"] else int(found["nibbles"], 16))


def number_of_symbol(text: str) -> int:
    value = _integer(text)
    if value is None or not MIN_NUMBER <= value <= MAX_NUMBER:
        raise FunctorFault(f"{_quote(text)} is not a number")
    return value


def unsigned_of_symbol(text: str) -> int:
    value = _integer(text)
    if value is None or text.lstrip().startswith("-") or value > MAX_UNSIGNED:
        raise FunctorFault(f"{_quote(text)} is not an unsigned number")
    return value


def float_of_symbol(text: str) -> float:
    found = _FLOAT.match(text)
    if found is None:
        raise FunctorFault(f"{_quote(text)} is not a float")
    if found["nan"]:
        return canonical_float(float("nan"))
    try:
        value = float.fromhex(found["hex"]) if found["hex"] else float(found[0].strip())
    except OverflowError:
        value = float("inf")
    if value in (float("inf"), -float("inf")) and not found["inf"]:
        raise FunctorFault(f"{_quote(text)} is out of the range of floats")
    return canonical_float(-value if found["hex"] and found["sign"] == "-" else value)


def number_of_float(value: float) -> int:
    """Return the value without its fraction."""
    if not -(2.0**63) <= value < 2.0**63:
        raise FunctorFault(f"{value:g} does not fit a number")
    return int(value)


def unsigned_of_float(value: float) -> int:
    """Return the value without its fraction; a negative one wraps around."""
    if not -(2.0**63) <= value < 2.0**64:
        raise FunctorFault(f"{value:g} does not fit an unsigned number")
    return wrap_unsigned(int(value))


def symbol_of_float(value: float) -> str:
    """Return the value with six decimals, as C's `%f` prints it."""
    return f"{value:f}"


def ordinal_of_float(value: float) -> int:
    """Return the bits of the float as a number."""
    (bits,) = struct.unpack("<q", struct.pack("<d", canonical_float(value)))
    return int(bits)


# ── arrays ───────────────────────────────────────────────────────────────────────────


def numbers_of_symbols(texts: Texts) -> Ints:
    return np.fromiter(map(number_of_symbol, texts.tolist()), dtype=np.int64, count=len(texts))


def unsigneds_of_symbols(texts: Texts) -> Uints:
    return np.fromiter(map(unsigned_of_symbol, texts.tolist()), dtype=np.uint64, count=len(texts))


def floats_of_symbols(texts: Texts) -> Floats:
    return np.fromiter(map(float_of_symbol, texts.tolist()), dtype=np.float64, count=len(texts))


@quiet
def numbers_of_floats(values: Floats) -> Ints:
    bad = ~((values >= -(2.0**63)) & (values < 2.0**63))
    if bad.any():
        number_of_float(float(values[bad][0]))
    return values.astype(np.int64)


@quiet
def unsigneds_of_floats(values: Floats) -> Uints:
    bad = ~((values >= -(2.0**63)) & (values < 2.0**64))
    if bad.any():
        unsigned_of_float(float(values[bad][0]))
    negative = values < 0
    wrapped = np.where(negative, values, 0.0).astype(np.int64).view(np.uint64)
    return np.where(negative, wrapped, np.where(negative, 0.0, values).astype(np.uint64))


def _texts_of(write: Callable[[float], str]) -> Callable[[Ints | Uints | Floats], Texts]:
    def inner(values: Ints | Uints | Floats) -> Texts:
        return text_array([write(value) for value in values.tolist()])

    return inner


symbols_of_integers = _texts_of(str)
symbols_of_floats = _texts_of(symbol_of_float)


def ordinals_of_floats(values: Floats) -> Ints:
    return canonical_floats(values).view(np.int64)


def numbers_of_unsigneds(values: Uints) -> Ints:
    return values.view(np.int64)


def unsigneds_of_numbers(values: Ints) -> Uints:
    return values.view(np.uint64)


def floats_of_integers(values: Ints | Uints) -> Floats:
    return values.astype(np.float64)
