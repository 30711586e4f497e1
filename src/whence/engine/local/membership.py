"""The duplicate check of a relation: which candidates are new?

Three ways, chosen from the ranges of the columns and the number of rows, and chosen again as
they change: a bitmap over the box of all possible tuples; a table of tuples packed into one
64-bit key; a table of row numbers. All of them append what is new to the relation's rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from whence.engine.local.buffers import advise_huge, reserve
from whence.engine.local.kernels import membership as kernels
from whence.engine.local.kernels.dictionary import intern_rows
from whence.engine.local.kernels.hashing import Ints, Rows, Words

BITMAP_FLOOR = 4 << 20
"""A bitmap of this many bytes is taken however few the rows are."""

BITMAP_BYTES_PER_ROW = 24
"""Beyond the floor a bitmap may cost this much a row, about what a hash table costs."""

BITMAP_ADVANCE = 64 << 20, 256
"""Up to so many bytes it may cost this much a row: relations that grow fast soon fill it."""

_PACKABLE = 1 << 62
MAX_LOAD = 0.7


@dataclass(frozen=True, slots=True)
class Box:
    """The ranges of all columns, and the strides that number the tuples inside."""

    lo: Ints
    span: Ints
    stride: Ints
    volume: int

    @staticmethod
    def around(lo: Ints, hi: Ints, fastest: int | None = None) -> Box:
        """Return the smallest box from `lo` to `hi`, both included.

        Tuples that differ only in the column `fastest`, else in the last, are numbered in turn.
        """
        spans = [int(h) - int(low) + 1 for low, h in zip(lo, hi, strict=True)]
        order = list(range(len(spans)))[::-1]
        if fastest is not None:
            order.remove(fastest)
            order.insert(0, fastest)
        strides, volume = [0] * len(spans), 1
        for column in order:
            strides[column] = volume
            volume *= spans[column]
        if volume >= _PACKABLE:  # too large to number: the strides are never used
            strides = [0] * len(spans)
        return Box(
            np.array(lo, dtype=np.int64),
            np.array([min(s, (1 << 63) - 1) for s in spans], dtype=np.int64),
            np.array(strides, dtype=np.int64),
            volume,
        )


class Membership(Protocol):
    """A duplicate check; `name` is what `whence plan` and the statistics call it."""

    name: str
    box: Box

    def insert(self, cand: Rows, begin: int, end: int, rows: Rows, size: int) -> tuple[int, int]:
        """Append new candidates to rows; return how far it got, and the new size."""
        ...

    def unseen(self, cand: Rows, n: int, out: Rows) -> int:
        """Copy the candidates that may be new to `out` and return how many there are.

        Safe while another thread inserts: a tuple just inserted may still be called new.
        """
        ...


@dataclass(slots=True)
class Bitmap:
    box: Box
    bits: Words
    name: str = "bitmap"

    @staticmethod
    def of(box: Box, rows: Rows, size: int) -> Bitmap:
        bits = reserve(box.volume // 64 + 1, np.uint64)
        advise_huge(bits)
        kernels.fill_bitmap(rows, size, box.lo, box.stride, bits)
        return Bitmap(box, bits)

    def insert(self, cand: Rows, begin: int, end: int, rows: Rows, size: int) -> tuple[int, int]:
        b = self.box
        return kernels.insert_bitmap(
            cand, begin, end, b.lo, b.span, b.stride, self.bits, rows, size
        )

    def unseen(self, cand: Rows, n: int, out: Rows) -> int:
        b = self.box
        return kernels.unseen_bitmap(cand, n, b.lo, b.span, b.stride, self.bits, out)


def table_bits(rows: int) -> int:
    """Return the binary logarithm of the size of a hash table for that many rows."""
    return max(6, int(rows / MAX_LOAD).bit_length())


@dataclass(slots=True)
class Packed:
    box: Box
    table: Words
    name: str = "packed keys"

    @staticmethod
    def of(box: Box, rows: Rows, size: int, room: int) -> Packed:
        bits = table_bits(room)
        table = reserve(1 << bits, np.uint64)
        kernels.fill_packed(rows, size, box.lo, box.stride, table, 64 - bits)
        return Packed(box, table)

    def insert(self, cand: Rows, begin: int, end: int, rows: Rows, size: int) -> tuple[int, int]:
        b = self.box
        shift = 65 - self.table.shape[0].bit_length()
        room = int(self.table.shape[0] * MAX_LOAD) - size
        return kernels.insert_packed(
            cand, begin, end, b.lo, b.span, b.stride, self.table, shift, max(room, 0), rows, size
        )

    def unseen(self, cand: Rows, n: int, out: Rows) -> int:
        b = self.box
        table = self.table
        shift = 65 - table.shape[0].bit_length()
        return kernels.unseen_packed(cand, n, b.lo, b.span, b.stride, table, shift, out)


@dataclass(slots=True)
class Hashed:
    box: Box
    table: Ints
    name: str = "hashed rows"

    @staticmethod
    def of(box: Box, rows: Rows, size: int, room: int) -> Hashed:
        bits = table_bits(room)
        table = reserve(1 << bits, np.int64)
        kernels.fill_hashed(rows, size, table, 64 - bits)
        return Hashed(box, table)

    def insert(self, cand: Rows, begin: int, end: int, rows: Rows, size: int) -> tuple[int, int]:
        shift = 65 - self.table.shape[0].bit_length()
        room = int(self.table.shape[0] * MAX_LOAD) - size
        found = np.empty(end, dtype=np.int64)
        return intern_rows(cand, begin, end, self.table, shift, max(room, 0), rows, size, found)

    def unseen(self, cand: Rows, n: int, out: Rows) -> int:
        # A slot may become visible before its row is, so a concurrent look would not be safe.
        out[:n] = cand[:n]
        return n


def bitmap_bytes(room: int) -> int:
    """Return how many bytes a bitmap for that many rows may take."""
    cap, advance = BITMAP_ADVANCE
    return max(BITMAP_FLOOR, BITMAP_BYTES_PER_ROW * room, min(cap, advance * room))


def choose(box: Box, rows: Rows, size: int, room: int) -> Membership:
    """Return the check for these rows that will serve until there are `room` of them."""
    if box.volume // 8 <= bitmap_bytes(room):
        return Bitmap.of(box, rows, size)
    if box.volume < _PACKABLE:
        return Packed.of(box, rows, size, room)
    return Hashed.of(box, rows, size, room)
