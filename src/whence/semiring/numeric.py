"""Numbers in cells: what the numeric semirings share in reading and showing annotations."""

from __future__ import annotations

import math

from whence.semiring.base import Cell, Law

Number = int | float

OF_CHAINS = Law.IDEMPOTENT | Law.ABSORPTIVE | Law.SELECTIVE | Law.STABLE
"""What every totally ordered absorptive semiring may claim."""


def number(cell: Cell) -> Number:
    """Return the number in a cell; whole numbers come as `int`, so that sums of them stay exact.

    >>> number(2.0), number("0.5"), number("∞")
    (2, 0.5, inf)
    """
    if isinstance(cell, str):
        cell = _parsed(cell)
    if hasattr(cell, "item"):
        cell = cell.item()  # a scalar of NumPy's
    if isinstance(cell, bool):
        return int(cell)
    if not isinstance(cell, int | float):
        raise ValueError(f"`{cell}` is no number")
    if isinstance(cell, int):
        return cell
    if math.isnan(cell):
        raise ValueError("NaN is no annotation")
    # Floats are whole beyond 2^53, too, but no longer exact: those stay floats.
    return int(cell) if cell.is_integer() and abs(cell) <= 2**53 else cell


def _parsed(text: str) -> Number:
    text = text.strip()
    if text.isdecimal():
        return _whole(text)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float("inf" if text == "∞" else text)
    except ValueError:
        raise ValueError(f"`{text}` is no number") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        from decimal import Decimal

        return int(Decimal(text))


def at_least_zero(cell: Cell) -> Number:
    """Return the number in a cell, which must not be negative.

    Integers that no column of numbers holds become floats, so that they can be added to others.
    """
    value = number(cell)
    if value < 0:
        raise ValueError(f"`{cell}` is negative")
    if isinstance(value, int) and value >= 2**64:
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return value


def share(cell: Cell) -> float:
    """Return the number in a cell, which must be from 0 to 1."""
    value = number(cell)
    if not 0 <= value <= 1:
        raise ValueError(f"`{cell}` is not between 0 and 1")
    return float(value)


def digits(whole: int) -> str:
    """Return a whole number of any size in decimal; `str` refuses more than 4,300 digits."""
    try:
        return str(whole)
    except ValueError:
        from decimal import Decimal

        return format(Decimal(whole), "f")


def plain(value: Number) -> Number:
    """Return a number as it is shown: whole ones without a fraction."""
    return number(value)
