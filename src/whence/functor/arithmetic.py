"""Arithmetic, bitwise and logical functors on numbers, unsigned numbers and floats.

Each comes twice: on Python values, which defines it, and on NumPy arrays of one length.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from whence.functor.values import (
    Array,
    Bools,
    Floats,
    FunctorFault,
    Ints,
    Uints,
    canonical_float,
    canonical_floats,
    wrap_number,
    wrap_unsigned,
)

_BY_ZERO = "division by zero"
_ZERO_TO_NEGATIVE = "zero to the power of a negative number"

A = TypeVar("A", bound=Array)


def quiet(function: Callable[..., A]) -> Callable[..., A]:
    """Compute with IEEE results and wrap-around instead of NumPy's warnings."""

    @functools.wraps(function)
    def inner(*arrays: Array) -> A:
        with np.errstate(all="ignore"):
            return function(*arrays)

    return inner


# ── numbers ──────────────────────────────────────────────────────────────────────────


def divide_number(a: int, b: int) -> int:
    """Return the quotient rounded toward zero."""
    if b == 0:
        raise FunctorFault(_BY_ZERO)
    quotient = abs(a) // abs(b)
    return wrap_number(-quotient if (a < 0) != (b < 0) else quotient)


def modulo_number(a: int, b: int) -> int:
    """Return the remainder of `divide_number`; it has the sign of the dividend."""
    if b == 0:
        raise FunctorFault(_BY_ZERO)
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def power_number(a: int, b: int) -> int:
    """Return the power, wrapped; a negative exponent gives the quotient 1 / power toward zero."""
    if b >= 0:
        return wrap_number(pow(a, b, 1 << 64))
    if a == 0:
        raise FunctorFault(_ZERO_TO_NEGATIVE)
    if a in (1, -1):
        return a if b % 2 else 1
    return 0


@quiet
def divide_numbers(a: Ints, b: Ints) -> Ints:
    if not b.all():
        raise FunctorFault(_BY_ZERO)
    # Python's floor division never rounds once the C remainder is taken off.
    return (a - np.fmod(a, b)) // b


@quiet
def modulo_numbers(a: Ints, b: Ints) -> Ints:
    if not b.all():
        raise FunctorFault(_BY_ZERO)
    return np.fmod(a, b)


def power_numbers(a: Ints, b: Ints) -> Ints:
    negative = b < 0
    out = _power(a.view(np.uint64), np.where(negative, 0, b).view(np.uint64)).view(np.int64)
    if negative.any():
        if (negative & (a == 0)).any():
            raise FunctorFault(_ZERO_TO_NEGATIVE)
        unit = np.where((a == 1) | (b % 2 == 0), 1, -1)
        out = np.where(negative, np.where(np.abs(a) == 1, unit, 0), out)
    return out


def _power(base: Uints, exponent: Uints) -> Uints:
    """Square and multiply: 64 rounds at most, and wrap-around comes for free."""
    out = np.ones_like(base)
    while exponent.any():
        out = np.where(exponent & np.uint64(1), out * base, out)
        base = base * base
        exponent = exponent >> np.uint64(1)
    return out


def shift_left_number(a: int, b: int) -> int:
    return wrap_number(a << (b & 63))


def shift_right_number(a: int, b: int) -> int:
    return a >> (b & 63)


def shift_right_number_unsigned(a: int, b: int) -> int:
    return wrap_number(wrap_unsigned(a) >> (b & 63))


def shift_left_numbers(a: Ints, b: Ints) -> Ints:
    return a << (b & 63)


def shift_right_numbers(a: Ints, b: Ints) -> Ints:
    return a >> (b & 63)


def shift_right_numbers_unsigned(a: Ints, b: Ints) -> Ints:
    return (a.view(np.uint64) >> (b & 63).view(np.uint64)).view(np.int64)


# ── unsigned ─────────────────────────────────────────────────────────────────────────


def divide_unsigned(a: int, b: int) -> int:
    if b == 0:
        raise FunctorFault(_BY_ZERO)
    return a // b


def modulo_unsigned(a: int, b: int) -> int:
    if b == 0:
        raise FunctorFault(_BY_ZERO)
    return a % b


def power_unsigned(a: int, b: int) -> int:
    return pow(a, b, 1 << 64)


def divide_unsigneds(a: Uints, b: Uints) -> Uints:
    if not b.all():
        raise FunctorFault(_BY_ZERO)
    return a // b


def modulo_unsigneds(a: Uints, b: Uints) -> Uints:
    if not b.all():
        raise FunctorFault(_BY_ZERO)
    return a % b


def power_unsigneds(a: Uints, b: Uints) -> Uints:
    return _power(a, b)


def shift_left_unsigned(a: int, b: int) -> int:
    return wrap_unsigned(a << (b & 63))


def shift_left_unsigneds(a: Uints, b: Uints) -> Uints:
    return a << (b & np.uint64(63))


def shift_right_unsigneds(a: Uints, b: Uints) -> Uints:
    return a >> (b & np.uint64(63))


# ── floats ───────────────────────────────────────────────────────────────────────────


def divide_float(a: float, b: float) -> float:
    """Return the quotient; by zero it is an infinity or NaN, as IEEE 754 says."""
    if b == 0.0:
        return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a)
    return canonical_float(a / b)


def power_float(a: float, b: float) -> float:
    # NumPy's power may differ from the C library's in the last bit, so both forms use NumPy's.
    return float(power_floats(np.array([a]), np.array([b]))[0])


@quiet
def add_floats(a: Floats, b: Floats) -> Floats:
    return canonical_floats(a + b)


@quiet
def subtract_floats(a: Floats, b: Floats) -> Floats:
    return canonical_floats(a - b)


@quiet
def multiply_floats(a: Floats, b: Floats) -> Floats:
    return canonical_floats(a * b)


@quiet
def divide_floats(a: Floats, b: Floats) -> Floats:
    return canonical_floats(a / b)


@quiet
def power_floats(a: Floats, b: Floats) -> Floats:
    return canonical_floats(np.power(a, b))


def negate_floats(a: Floats) -> Floats:
    return canonical_floats(-a)


def bounded(a: float, b: float) -> float:
    """Return max(0, a + b - 1), rounded once, so that it is never above a or b in [0, 1].

    The larger of two numbers with a sum above 1 is at least a half, and 1 minus that is exact.
    """
    low, high = (b, a) if b < a else (a, b)
    found = low - (1.0 - high)
    return found if found > 0.0 else 0.0


@quiet
def bounded_each(a: Floats, b: Floats) -> Floats:
    less = b < a
    found = np.where(less, b, a) - (1.0 - np.where(less, a, b))
    return np.where(found > 0.0, found, 0.0)


# ── any integer ──────────────────────────────────────────────────────────────────────


def both(a: int, b: int) -> int:
    return int(a != 0 and b != 0)


def either(a: int, b: int) -> int:
    return int(a != 0 or b != 0)


def one_of(a: int, b: int) -> int:
    return int((a != 0) != (b != 0))


def neither(a: int) -> int:
    return int(a == 0)


def _as_like(truth: Bools, model: A) -> A:
    """Return the truth values as ones and zeros of the model's type."""
    return truth.astype(model.dtype)  # type: ignore[return-value]


def both_of_each(a: A, b: A) -> A:
    return _as_like(a.astype(np.bool_) & b.astype(np.bool_), a)


def either_of_each(a: A, b: A) -> A:
    return _as_like(a.astype(np.bool_) | b.astype(np.bool_), a)


def one_of_each(a: A, b: A) -> A:
    return _as_like(a.astype(np.bool_) ^ b.astype(np.bool_), a)


def neither_of_each(a: A) -> A:
    return _as_like(~a.astype(np.bool_), a)


# ── order ────────────────────────────────────────────────────────────────────────────

V = TypeVar("V", int, float, str)


def least(*values: V) -> V:
    """Return the first of the least values; a NaN is not less than anything."""
    out = values[0]
    for value in values[1:]:
        if value < out:
            out = value
    return out


def greatest(*values: V) -> V:
    """Return the first of the greatest values; nothing is less than a NaN."""
    out = values[0]
    for value in values[1:]:
        if out < value:
            out = value
    return out


def least_of_each(*arrays: A) -> A:
    out = arrays[0]
    for array in arrays[1:]:
        out = np.where(array < out, array, out)  # type: ignore[operator, assignment]
    return out


def greatest_of_each(*arrays: A) -> A:
    out = arrays[0]
    for array in arrays[1:]:
        out = np.where(out < array, array, out)  # type: ignore[operator, assignment]
    return out
