"""Which task owns a value: the same answer in every process, whatever codes it uses inside.

Numbers, unsigned numbers and floats are hashed by their 64 bits, symbols and records by their text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def hash_bits(bits: npt.NDArray[np.int64]) -> Hashes:
    """Return the hashes of 64-bit values (the finalizer of SplitMix64)."""
    x = bits.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def hash_texts(texts: Iterable[str]) -> Hashes:
    """Return the hashes of texts."""
    found = np.fromiter((zlib.crc32(t.encode("utf-8", "surrogatepass")) for t in texts), np.int64)
    return hash_bits(found)


def owners(hashes: Hashes, tasks: int) -> npt.NDArray[np.int64]:
    """Return the number of the task that owns each value."""
    return (hashes % np.uint64(tasks)).astype(np.int64)
