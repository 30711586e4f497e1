"""The hash functions that kernels share, and the array types they take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.compile import inline

Ints = NDArray[np.int64]
Rows = NDArray[np.int64]
Small = NDArray[np.int32]
Words = NDArray[np.uint64]
Flags = NDArray[np.uint8]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xD6E8FEB86659FD93)
S32 = np.uint64(32)
S6 = np.int64(6)
LOW6 = np.int64(63)
ONE = np.uint64(1)
ZERO = np.uint64(0)
FINGER = np.int64(0x7FFFFFFF)


@inline
def mix(h: np.uint64, v: np.int64) -> np.uint64:
    """Return the hash with one more value mixed in."""
    h = (h ^ np.uint64(v)) * MIX
    return h ^ (h >> S32)


@inline
def hash_row(rows: Rows, i: int, width: int) -> np.uint64:
    """Return the hash of the first columns of a row."""
    h = GOLDEN
    for c in range(width):
        h = mix(h, rows[i, c])
    return h * GOLDEN
