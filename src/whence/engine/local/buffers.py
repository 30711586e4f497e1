"""Memory that seldom moves as it grows: small arrays double, large ones live in a reserved mapping.

A mapping is reserved far larger than needed and costs memory only where it is touched, so a
relation grows sixteenfold before it has to be copied.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE = 1 << 20
"""Bytes from which an array moves into a mapping of its own."""

_RESERVE = 16
"""A mapping is this many times larger than what made it necessary; then it doubles by copying."""


def reserve(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros that takes memory only where it is written."""
    count = int(np.prod(shape))
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    if size < LARGE:
        return np.zeros(shape, dtype=kind)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        block = mmap.mmap(-1, size, flags=flags)
    except (OSError, ValueError, OverflowError) as error:
        raise MemoryError(f"cannot reserve {size} bytes") from error
    return np.frombuffer(block, dtype=kind, count=count).reshape(shape)


def advise_huge(array: NDArray[Any]) -> None:
    """Ask for huge pages below an array from `reserve`: it will be filled from front to back."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    block = base.obj if isinstance(base, memoryview) else base
    if isinstance(block, mmap.mmap) and hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            block.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # not offered by this kernel: ordinary pages do
            return


def grown(array: NDArray[Any], used: int, need: int) -> NDArray[Any]:
    """Return an array with room for `need` rows whose first `used` rows are those of `array`."""
    room = int(array.shape[0])
    if need <= room:
        return array
    rest = array.shape[1:]
    row_bytes = array.dtype.itemsize * int(np.prod(rest, dtype=np.int64))
    want = max(need, 2 * room, 16)
    if want * max(row_bytes, 1) >= LARGE:
        wide = max(want, min(want * _RESERVE, (1 << 33) // max(row_bytes, 1)))
        try:
            fresh = reserve((wide, *rest), array.dtype)
        except MemoryError:  # an address-space limit or strict overcommit: take only what is needed
            fresh = reserve((want, *rest), array.dtype)
        advise_huge(fresh)
    else:
        fresh = np.empty((want, *rest), dtype=array.dtype)
    fresh[:used] = array[:used]
    return fresh
