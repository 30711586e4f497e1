"""Relations whose tuples come and go: the row of a tuple, its rank, and joins that look at both.

The last column of such rows is the rank, negative for a row that is not there now, so that one
look tells both. A tuple's row is found in a dense table over the box of all tuples, or, where that
would be too large, in a hash table of row numbers; one of the two is empty. A cell of the dense
table holds row and rank, each more by one, so that an empty cell says that nothing is there.

Looking tuples up waits for memory, so the rows of all bindings are found first and looked at in a
second loop: both have iterations that do not depend on each other, and their misses overlap.
Loops are written out, not shared: Numba counts references to each array that it hands to an inlined
function, which costs ten times the look itself.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import FINGER, GOLDEN, Flags, Ints, Rows, mix

PENDING = np.uint8(2)
"""The flag of a row that will be seen from the next wave on."""

ANY_RANK = np.uint64(0x7FFFFFFFFFFFFFFF)
"""Above all ranks; a negative rank, read as unsigned, is above it."""

IDLE = np.int64(0x4000000000000000)
"""Added to the rank of a row that its recursion does not follow."""

FOLLOWED = np.uint64(0x4000000000000000)
"""Above the ranks of all rows that their recursion follows."""

UNKNOWN = np.int64(-1)
FROM_BELOW = np.int64(-2)
"""What stands for the witness of a tuple, if it is not the rank of a premise: none is known, or an
instance whose premises all lie below the stratum."""

NO_PREMISE, FIRST_PREMISE, SECOND_PREMISE, OTHER_PREMISE = 0, 1, 2, 3
"""Which row of an instance is its premise in the stratum: none, one of two, or one not at hand."""

ALL_ROWS = -1
FOLLOWED_ROWS = -2
"""What `below` is when it is no slot: joins see all rows, or those that are followed."""


@kernel
def find_rows(
    cand: Rows,
    n: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Rows,
    hashed: Ints,
    shift: int,
    rows: Rows,
    out: Ints,
) -> None:
    """Write the row of each tuple, whose columns are slots or constants; -1 where it has none."""
    k = slots.shape[0]
    if dense.shape[0] > 0:
        for i in range(n):
            key = np.int64(0)
            inside = np.uint8(1)
            for c in range(k):
                d = (cand[i, slots[c]] if slots[c] >= 0 else consts[c]) - lo[c]
                inside &= np.uint8(np.uint64(d) < np.uint64(span[c]))
                key += d * stride[c]
            out[i] = dense[key, 0] - np.int64(1) if inside else np.int64(-1)
        return
    if hashed.shape[0] == 0:
        out[:n] = -1
        return
    mask = hashed.shape[0] - 1
    for i in range(n):
        h = GOLDEN
        for c in range(k):
            h = mix(h, cand[i, slots[c]] if slots[c] >= 0 else consts[c])
        h = h * GOLDEN
        slot = np.int64(h >> np.uint64(shift))
        finger = (np.int64(h) & FINGER) << np.int64(32)
        found = np.int64(-1)
        while True:
            have = hashed[slot]
            if have == 0:
                break
            if (have >> np.int64(32)) << np.int64(32) == finger:
                q = (have & np.int64(0xFFFFFFFF)) - np.int64(1)
                same = True
                for c in range(k):
                    if rows[q, c] != (cand[i, slots[c]] if slots[c] >= 0 else consts[c]):
                        same = False
                        break
                if same:
                    found = q
                    break
            slot = (slot + 1) & mask
        out[i] = found


@kernel
def fill_rows(
    rows: Rows,
    size: int,
    k: int,
    lo: Ints,
    stride: Ints,
    dense: Rows,
    hashed: Ints,
    shift: int,
) -> None:
    """Enter all rows into an empty table; all differ and lie in the box."""
    if dense.shape[0] > 0:
        for i in range(size):
            key = np.int64(0)
            for c in range(k):
                key += (rows[i, c] - lo[c]) * stride[c]
            dense[key, 0] = i + 1
            dense[key, 1] = rows[i, k] + 1
        return
    mask = hashed.shape[0] - 1
    for i in range(size):
        h = GOLDEN
        for c in range(k):
            h = mix(h, rows[i, c])
        h = h * GOLDEN
        slot = np.int64(h >> np.uint64(shift))
        while hashed[slot] != 0:
            slot = (slot + 1) & mask
        hashed[slot] = ((np.int64(h) & FINGER) << np.int64(32)) | (i + 1)


@kernel
def admit_rows(
    cand: Rows,
    begin: int,
    end: int,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Rows,
    hashed: Ints,
    shift: int,
    room: int,
    rows: Rows,
    size: int,
    dead: Flags,
    was: Flags,
    witness: Ints,
    pending: Ints,
    waiting: int,
) -> tuple[int, int, int]:
    """Make the candidates that are not there pending.

    Stops at one outside the dense table's box, or when `room` rows are new to the hash table.
    Returns how far it got, the size, and how many rows are pending.
    """
    k = lo.shape[0]
    last = size + room
    mask = hashed.shape[0] - 1
    for i in range(begin, end):
        key = np.int64(0)
        r = np.int64(-1)
        finger = np.int64(0)
        if dense.shape[0] > 0:
            inside = np.uint8(1)
            for c in range(k):
                d = cand[i, c] - lo[c]
                inside &= np.uint8(np.uint64(d) < np.uint64(span[c]))
                key += d * stride[c]
            if not inside:
                return i, size, waiting
            r = dense[key, 0] - np.int64(1)
        else:
            h = GOLDEN
            for c in range(k):
                h = mix(h, cand[i, c])
            h = h * GOLDEN
            key = np.int64(h >> np.uint64(shift))
            finger = (np.int64(h) & FINGER) << np.int64(32)
            while True:
                have = hashed[key]
                if have == 0:
                    break
                if (have >> np.int64(32)) << np.int64(32) == finger:
                    q = (have & np.int64(0xFFFFFFFF)) - np.int64(1)
                    same = True
                    for c in range(k):
                        if rows[q, c] != cand[i, c]:
                            same = False
                            break
                    if same:
                        r = q
                        break
                key = (key + 1) & mask
        if r >= 0:
            if dead[r] != 1:
                continue
        else:
            if dense.shape[0] > 0:
                dense[key, 0] = size + 1
                dense[key, 1] = 0
            else:
                if size == last:
                    return i, size, waiting
                hashed[key] = finger | (size + 1)
            r = np.int64(size)
            for c in range(k):
                rows[r, c] = cand[i, c]
            rows[r, k] = -1
            was[r] = 1
            size += 1
        dead[r] = PENDING
        if witness.shape[0] > 0:
            witness[r] = UNKNOWN
        pending[waiting] = r
        waiting += 1
    return end, size, waiting


@kernel
def revive_rows(ids: Ints, dead: Flags, pending: Ints, waiting: int) -> int:
    """Make dead rows pending; return how many are pending."""
    for i in range(ids.shape[0]):
        r = ids[i]
        if dead[r] == 1:
            dead[r] = PENDING
            pending[waiting] = r
            waiting += 1
    return waiting


@kernel
def find_ranks(
    cand: Rows,
    n: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Rows,
    rows: Rows,
    at: Ints,
    ranks: Ints,
) -> None:
    """Write the row and the rank of each tuple, -1 for both where it is not there.

    With no dense table the rows are in `at` already.
    """
    k = slots.shape[0]
    if dense.shape[0] == 0:
        last = rows.shape[1] - 1
        for i in range(n):
            r = at[i]
            rank = rows[max(r, 0), last]
            ranks[i] = rank if r >= 0 else np.int64(-1)
        return
    if k == 2 and slots[0] >= 0 and slots[1] >= 0:
        # Most relations are binary: the same with the loop over columns undone.
        s0, s1, lo0, lo1 = slots[0], slots[1], lo[0], lo[1]
        span0, span1, stride0, stride1 = (
            np.uint64(span[0]),
            np.uint64(span[1]),
            stride[0],
            stride[1],
        )
        for i in range(n):
            d0 = cand[i, s0] - lo0
            d1 = cand[i, s1] - lo1
            here = np.int64((np.uint64(d0) < span0) & (np.uint64(d1) < span1))
            cell = (d0 * stride0 + d1 * stride1) * here
            at[i] = dense[cell, 0] * here - np.int64(1)
            ranks[i] = dense[cell, 1] * here - np.int64(1)
        return
    for i in range(n):
        key = np.int64(0)
        inside = np.uint8(1)
        for c in range(k):
            d = (cand[i, slots[c]] if slots[c] >= 0 else consts[c]) - lo[c]
            inside &= np.uint8(np.uint64(d) < np.uint64(span[c]))
            key += d * stride[c]
        key = key if inside else np.int64(0)
        at[i] = dense[key, 0] * np.int64(inside) - np.int64(1)
        ranks[i] = dense[key, 1] * np.int64(inside) - np.int64(1)


@kernel
def sync_ranks(ids: Ints, lo: Ints, stride: Ints, dense: Rows, rows: Rows) -> None:
    """Copy the ranks of rows into the dense table."""
    k = rows.shape[1] - 1
    for i in range(ids.shape[0]):
        r = ids[i]
        key = np.int64(0)
        for c in range(k):
            key += (rows[r, c] - lo[c]) * stride[c]
        dense[key, 1] = rows[r, k] + 1
