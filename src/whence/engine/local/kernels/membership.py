"""Is this tuple new? Kernels of the duplicate checks."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import (
    FINGER,
    GOLDEN,
    LOW6,
    ONE,
    S6,
    ZERO,
    Ints,
    Rows,
    Words,
    hash_row,
)


@kernel
def insert_bitmap(
    cand: Rows,
    begin: int,
    end: int,
    lo: Ints,
    span: Ints,
    stride: Ints,
    bits: Words,
    rows: Rows,
    size: int,
) -> tuple[int, int]:
    """Append the candidates whose bit is clear; stop at the first one outside the box."""
    width = cand.shape[1]
    if width == 2:
        # Most relations are binary: the same with the loop over columns undone.
        lo0, lo1 = lo[0], lo[1]
        span0, span1 = np.uint64(span[0]), np.uint64(span[1])
        stride0 = stride[0]
        for i in range(begin, end):
            a = cand[i, 0]
            b = cand[i, 1]
            d0 = a - lo0
            d1 = b - lo1
            if np.uint64(d0) >= span0 or np.uint64(d1) >= span1:
                return i, size
            key = d0 * stride0 + d1
            word = key >> S6
            bit = ONE << np.uint64(key & LOW6)
            have = bits[word]
            if have & bit == ZERO:
                bits[word] = have | bit
                rows[size, 0] = a
                rows[size, 1] = b
                size += 1
        return end, size
    for i in range(begin, end):
        key = np.int64(0)
        for c in range(width):
            d = cand[i, c] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                return i, size
            key += d * stride[c]
        word = key >> S6
        bit = ONE << np.uint64(key & LOW6)
        have = bits[word]
        if have & bit == ZERO:
            bits[word] = have | bit
            for c in range(width):
                rows[size, c] = cand[i, c]
            size += 1
    return end, size


@kernel
def insert_packed(
    cand: Rows,
    begin: int,
    end: int,
    lo: Ints,
    span: Ints,
    stride: Ints,
    table: Words,
    shift: int,
    room: int,
    rows: Rows,
    size: int,
) -> tuple[int, int]:
    """Append the candidates whose packed key is not in the table; stop when `room` are new."""
    width = cand.shape[1]
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    last = size + room
    for i in range(begin, end):
        key = np.int64(0)
        for c in range(width):
            d = cand[i, c] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                return i, size
            key += d * stride[c]
        mark = np.uint64(key) + ONE
        slot = np.int64((mark * GOLDEN) >> down)
        have = table[slot]
        while have != ZERO and have != mark:
            slot = (slot + 1) & mask
            have = table[slot]
        if have == ZERO:
            if size == last:
                return i, size
            table[slot] = mark
            for c in range(width):
                rows[size, c] = cand[i, c]
            size += 1
    return end, size


@kernel
def fill_bitmap(rows: Rows, size: int, lo: Ints, stride: Ints, bits: Words) -> None:
    """Set the bit of every row; all lie in the box."""
    for i in range(size):
        key = np.int64(0)
        for c in range(rows.shape[1]):
            key += (rows[i, c] - lo[c]) * stride[c]
        bits[key >> S6] |= ONE << np.uint64(key & LOW6)


@kernel
def fill_packed(rows: Rows, size: int, lo: Ints, stride: Ints, table: Words, shift: int) -> None:
    """Enter the packed key of every row; all differ and lie in the box."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for i in range(size):
        key = np.int64(0)
        for c in range(rows.shape[1]):
            key += (rows[i, c] - lo[c]) * stride[c]
        mark = np.uint64(key) + ONE
        slot = np.int64((mark * GOLDEN) >> down)
        while table[slot] != ZERO:
            slot = (slot + 1) & mask
        table[slot] = mark


@kernel
def fill_hashed(rows: Rows, size: int, table: Ints, shift: int) -> None:
    """Enter every row by its hash; all differ."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for i in range(size):
        h = hash_row(rows, i, rows.shape[1])
        slot = np.int64(h >> down)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = ((np.int64(h) & FINGER) << np.int64(32)) | (i + 1)


@kernel
def unseen_bitmap(
    cand: Rows, n: int, lo: Ints, span: Ints, stride: Ints, bits: Words, out: Rows
) -> int:
    """Copy the candidates that may be new; those outside the box may be."""
    width = cand.shape[1]
    m = np.int64(0)
    if width == 2:
        lo0, lo1 = lo[0], lo[1]
        span0, span1 = np.uint64(span[0]), np.uint64(span[1])
        stride0 = stride[0]
        for i in range(n):
            a = cand[i, 0]
            b = cand[i, 1]
            d0 = a - lo0
            d1 = b - lo1
            # Written always, counted only when new: a branch here is mispredicted too often.
            out[m, 0] = a
            out[m, 1] = b
            if np.uint64(d0) >= span0 or np.uint64(d1) >= span1:
                m += 1
            else:
                key = d0 * stride0 + d1
                seen = (bits[key >> S6] >> np.uint64(key & LOW6)) & ONE
                m += 1 - np.int64(seen)
        return int(m)
    for i in range(n):
        key = np.int64(0)
        inside = True
        for c in range(width):
            d = cand[i, c] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                inside = False
            key += d * stride[c]
        if not inside or (bits[key >> S6] >> np.uint64(key & LOW6)) & ONE == ZERO:
            for c in range(width):
                out[m, c] = cand[i, c]
            m += 1
    return int(m)


@kernel
def unseen_packed(
    cand: Rows, n: int, lo: Ints, span: Ints, stride: Ints, table: Words, shift: int, out: Rows
) -> int:
    """Copy the candidates that may be new; those outside the box may be."""
    width = cand.shape[1]
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    m = 0
    for i in range(n):
        key = np.int64(0)
        new = False
        for c in range(width):
            d = cand[i, c] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                new = True
            key += d * stride[c]
        if not new:
            mark = np.uint64(key) + ONE
            slot = np.int64((mark * GOLDEN) >> down)
            have = table[slot]
            while have != ZERO and have != mark:
                slot = (slot + 1) & mask
                have = table[slot]
            new = have == ZERO
        if new:
            for c in range(width):
                out[m, c] = cand[i, c]
            m += 1
    return m


@kernel
def bounds(rows: Rows, begin: int, end: int, lo: Ints, hi: Ints) -> None:
    """Widen `lo` and `hi` to hold every row from begin to end."""
    for i in range(begin, end):
        for c in range(rows.shape[1]):
            v = rows[i, c]
            if v < lo[c]:
                lo[c] = v
            if v > hi[c]:
                hi[c] = v
