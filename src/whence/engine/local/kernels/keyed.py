"""Keyed relations: one row per key, the best value stays."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import inline, kernel
from whence.engine.local.kernels.hashing import FINGER, GOLDEN, Flags, Ints, Rows, Small, mix


@inline
def _rank(v: np.int64, kind: int) -> np.int64:
    """Map a code to an int64 of the same order: kind 0 is signed, 1 unsigned, 2 float."""
    if kind == 0:
        return v
    if kind == 1:
        return v ^ np.int64(-0x8000000000000000)
    return v ^ ((v >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))


@inline
def _improve(
    cand: Rows,
    i: int,
    r: np.int64,
    value: int,
    kind: int,
    greatest: bool,
    round_: int,
    rows: Rows,
    stamp: Small,
    frontier: Small,
    nf: int,
) -> int:
    new = _rank(cand[i, value], kind)
    old = _rank(rows[r, value], kind)
    if new > old if greatest else new < old:
        for c in range(cand.shape[1]):
            rows[r, c] = cand[i, c]
        if stamp[r] != round_:
            stamp[r] = round_
            frontier[nf] = r
            nf += 1
    return nf


@kernel
def sample_frontier(
    rows: Rows, value: int, kind: int, greatest: bool, frontier: Small, n: int, out: Ints
) -> None:
    """Write how good the values of some rows of the frontier are, the best being the least."""
    stride = max(1, n // max(1, out.shape[0]))
    for i in range(min(n, out.shape[0])):
        rank = _rank(rows[frontier[i * stride], value], kind)
        out[i] = ~rank if greatest else rank


@kernel
def take_near(
    rows: Rows,
    value: int,
    kind: int,
    greatest: bool,
    bound: int,
    frontier: Small,
    n: int,
    stamp: Small,
    taken: Small,
) -> tuple[int, int]:
    """Move the rows that are as good as the bound from the frontier to `taken`."""
    m = 0
    left = 0
    for i in range(n):
        r = frontier[i]
        rank = _rank(rows[r, value], kind)
        if (~rank if greatest else rank) <= bound:
            taken[m] = r
            stamp[r] = 0
            m += 1
        else:
            frontier[left] = r
            left += 1
    return m, left


@kernel
def merge_dense(
    cand: Rows,
    begin: int,
    end: int,
    columns: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    table: Small,
    value: int,
    kind: int,
    greatest: bool,
    round_: int,
    rows: Rows,
    size: int,
    stamp: Small,
    frontier: Small,
    nf: int,
) -> tuple[int, int, int]:
    """Insert or improve; `frontier` collects the rows that changed in this round, once each."""
    for i in range(begin, end):
        key = np.int64(0)
        for c in range(columns.shape[0]):
            d = cand[i, columns[c]] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                return i, size, nf
            key += d * stride[c]
        r = table[key]
        if r == 0:
            for c in range(cand.shape[1]):
                rows[size, c] = cand[i, c]
            table[key] = size + 1
            stamp[size] = round_
            frontier[nf] = size
            nf += 1
            size += 1
        else:
            nf = _improve(
                cand, i, np.int64(r - 1), value, kind, greatest, round_, rows, stamp, frontier, nf
            )
    return end, size, nf


@kernel
def merge_hashed(
    cand: Rows,
    begin: int,
    end: int,
    columns: Ints,
    table: Ints,
    shift: int,
    room: int,
    value: int,
    kind: int,
    greatest: bool,
    round_: int,
    rows: Rows,
    size: int,
    stamp: Small,
    frontier: Small,
    nf: int,
) -> tuple[int, int, int]:
    """As `merge_dense`, with the key's row found by hashing; stops when `room` rows are new."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    last = size + room
    k = columns.shape[0]
    for i in range(begin, end):
        h = GOLDEN
        for c in range(k):
            h = mix(h, cand[i, columns[c]])
        h = h * GOLDEN
        slot = np.int64(h >> down)
        finger = (np.int64(h) & FINGER) << np.int64(32)
        r = np.int64(-1)
        while True:
            have = table[slot]
            if have == 0:
                break
            if (have >> np.int64(32)) << np.int64(32) == finger:
                q = (have & np.int64(0xFFFFFFFF)) - 1
                same = True
                for c in range(k):
                    if rows[q, columns[c]] != cand[i, columns[c]]:
                        same = False
                        break
                if same:
                    r = q
                    break
            slot = (slot + 1) & mask
        if r < 0:
            if size == last:
                return i, size, nf
            for c in range(cand.shape[1]):
                rows[size, c] = cand[i, c]
            table[slot] = finger | (size + 1)
            stamp[size] = round_
            frontier[nf] = size
            nf += 1
            size += 1
        else:
            nf = _improve(cand, i, r, value, kind, greatest, round_, rows, stamp, frontier, nf)
    return end, size, nf


@kernel
def fill_keys(rows: Rows, size: int, columns: Ints, table: Ints, shift: int) -> None:
    """Enter every row by the hash of its key columns; all differ there."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for i in range(size):
        h = GOLDEN
        for c in range(columns.shape[0]):
            h = mix(h, rows[i, columns[c]])
        h = h * GOLDEN
        slot = np.int64(h >> down)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = ((np.int64(h) & FINGER) << np.int64(32)) | (i + 1)


@kernel
def judge_pairs(worse: Ints, better: Ints, dead: Flags) -> None:
    """Let living rows kill those they dominate, the pairs being in order of their newest row.

    Among the pairs of one newest row, those that may kill it come before those it may kill by.
    """
    for i in range(worse.shape[0]):
        if not dead[better[i]]:
            dead[worse[i]] = 1
