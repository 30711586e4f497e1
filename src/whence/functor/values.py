"""What functors compute with: 64-bit integers, floats with one zero and one NaN, and text.

A number is signed and an unsigned is not; both wrap around, as two's complement does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from whence.syntax.nodes import Kind

Value: TypeAlias = int | float | str
Array: TypeAlias = npt.NDArray[np.generic]
Ints: TypeAlias = npt.NDArray[np.int64]
Uints: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float64]
Texts: TypeAlias = npt.NDArray[np.object_]
Bools: TypeAlias = npt.NDArray[np.bool_]

MIN_NUMBER: Final = -(1 << 63)
MAX_NUMBER: Final = (1 << 63) - 1
MAX_UNSIGNED: Final = (1 << 64) - 1

DTYPES: Final[Mapping[Kind, np.dtype[np.generic]]] = MappingProxyType(
    {
        Kind.NUMBER: np.dtype(np.int64),
        Kind.UNSIGNED: np.dtype(np.uint64),
        Kind.FLOAT: np.dtype(np.float64),
        Kind.SYMBOL: np.dtype(np.object_),
        Kind.RECORD: np.dtype(np.int64),
    }
)
"""The element type of an array of values of each kind; a record is its code."""


class FunctorFault(Exception):
    """A functor has no value for these arguments, such as a quotient by zero."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def wrap_number(value: int) -> int:
    """Return the signed 64-bit integer congruent to `value`.

    >>> wrap_number(2**63)
    -9223372036854775808
    """
    value &= MAX_UNSIGNED
    return value - (1 << 64) if value > MAX_NUMBER else value


def wrap_unsigned(value: int) -> int:
    """Return the unsigned 64-bit integer congruent to `value`."""
    return value & MAX_UNSIGNED


def canonical_float(value: float) -> float:
    """Return the value with one zero and one NaN, so that equal floats have equal bits.

    >>> canonical_float(-0.0)
    0.0
    """
    return math.nan if value != value else value + 0.0


def canonical_floats(values: Floats) -> Floats:
    """Return the values with one zero and one NaN, so that equal floats have equal bits."""
    out = values + 0.0
    out[np.isnan(out)] = math.nan
    return out


def text_array(values: list[str]) -> Texts:
    """Return a one-dimensional object array of the strings."""
    out = np.empty(len(values), dtype=np.object_)
    out[:] = values
    return out
