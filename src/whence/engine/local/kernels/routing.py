"""Which task owns a row? Kernels that take rows apart by the owners of one column.

Owners of values from `lo` on are in a table; of others they are computed, as
`whence.engine.spark.owner` does.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import inline, kernel
from whence.engine.local.kernels.hashing import (
    GOLDEN,
    LOW6,
    ONE,
    S6,
    ZERO,
    Ints,
    Rows,
    Small,
    Words,
)

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@inline
def owner_of(value: np.int64, table: Small, lo: int, tasks: int) -> np.int64:
    """Return the task that owns a value."""
    at = value - lo
    if np.uint64(at) < np.uint64(table.shape[0]):
        return np.int64(table[at])
    x = np.uint64(value) + GOLDEN
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    x = x ^ (x >> S31)
    return np.int64(x % np.uint64(tasks))


@kernel
def split_rows(
    cand: Rows,
    n: int,
    column: int,
    table: Small,
    lo: int,
    tasks: int,
    me: int,
    own: Rows,
    foreign: Rows,
) -> tuple[int, int]:
    """Copy the rows that a task owns to `own`, the others to `foreign`; return how many."""
    width = cand.shape[1]
    mine = 0
    others = 0
    for i in range(n):
        if owner_of(cand[i, column], table, lo, tasks) == me:
            for c in range(width):
                own[mine, c] = cand[i, c]
            mine += 1
        else:
            for c in range(width):
                foreign[others, c] = cand[i, c]
            others += 1
    return mine, others


@kernel
def count_owners(rows: Rows, column: int, table: Small, lo: int, tasks: int, counts: Ints) -> None:
    """Count the rows of each task."""
    for i in range(rows.shape[0]):
        counts[owner_of(rows[i, column], table, lo, tasks)] += 1


@kernel
def scatter_rows(
    rows: Rows, column: int, table: Small, lo: int, tasks: int, starts: Ints, out: Rows
) -> None:
    """Copy rows to where those of their owner begin; `starts` moves on to where they end."""
    width = rows.shape[1]
    for i in range(rows.shape[0]):
        task = owner_of(rows[i, column], table, lo, tasks)
        at = starts[task]
        starts[task] = at + 1
        for c in range(width):
            out[at, c] = rows[i, c]


@kernel
def insert_share(
    cand: Rows,
    begin: int,
    end: int,
    column: int,
    ranks: Small,
    ranked: int,
    lo: Ints,
    span: Ints,
    stride: Ints,
    bits: Words,
    rows: Rows,
    size: int,
) -> tuple[int, int, int]:
    """Append the candidates whose bit is clear; stop at the first one outside the box.

    In one column it is not values that are numbered in the bitmap but their ranks: only those that
    occur get one. Return how far it got, the new size, and how many values have a rank.
    """
    width = cand.shape[1]
    most = span[column]
    if width == 2:
        # Most relations are binary: the same with the loop over columns undone.
        other = 1 - column
        lo0, lo1 = lo[column], lo[other]
        span1 = np.uint64(span[other])
        stride0, stride1 = stride[column], stride[other]
        values = np.uint64(ranks.shape[0])
        for i in range(begin, end):
            a = cand[i, column] - lo0
            b = cand[i, other] - lo1
            if np.uint64(a) >= values or np.uint64(b) >= span1:
                return i, size, ranked
            rank = np.int64(ranks[a])
            if rank == 0:
                if ranked == most:
                    return i, size, ranked
                ranked += 1
                ranks[a] = ranked
                rank = np.int64(ranked)
            key = (rank - 1) * stride0 + b * stride1
            word = key >> S6
            bit = ONE << np.uint64(key & LOW6)
            have = bits[word]
            if have & bit == ZERO:
                bits[word] = have | bit
                rows[size, 0] = cand[i, 0]
                rows[size, 1] = cand[i, 1]
                size += 1
        return end, size, ranked
    for i in range(begin, end):
        key = np.int64(0)
        for c in range(width):
            d = cand[i, c] - lo[c]
            if c == column:
                if np.uint64(d) >= np.uint64(ranks.shape[0]):
                    return i, size, ranked
                rank = np.int64(ranks[d])
                if rank == 0:
                    if ranked == most:
                        return i, size, ranked
                    ranked += 1
                    ranks[d] = ranked
                    rank = np.int64(ranked)
                key += (rank - 1) * stride[c]
            else:
                if np.uint64(d) >= np.uint64(span[c]):
                    return i, size, ranked
                key += d * stride[c]
        word = key >> S6
        bit = ONE << np.uint64(key & LOW6)
        have = bits[word]
        if have & bit == ZERO:
            bits[word] = have | bit
            for c in range(width):
                rows[size, c] = cand[i, c]
            size += 1
    return end, size, ranked


@kernel
def fill_share(
    rows: Rows,
    size: int,
    column: int,
    ranks: Small,
    ranked: int,
    lo: Ints,
    stride: Ints,
    bits: Words,
) -> int:
    """Set the bit of every row, and return how many values have a rank; all lie in the box."""
    width = rows.shape[1]
    for i in range(size):
        key = np.int64(0)
        for c in range(width):
            d = rows[i, c] - lo[c]
            if c == column:
                rank = np.int64(ranks[d])
                if rank == 0:
                    ranked += 1
                    ranks[d] = ranked
                    rank = np.int64(ranked)
                key += (rank - 1) * stride[c]
            else:
                key += d * stride[c]
        bits[key >> S6] |= ONE << np.uint64(key & LOW6)
    return ranked
