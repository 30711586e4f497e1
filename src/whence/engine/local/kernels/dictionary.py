"""Rows to numbers, by hashing: for dictionaries, and for relations that nothing else fits."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import FINGER, Ints, Rows, hash_row


@kernel
def intern_rows(
    cand: Rows,
    begin: int,
    end: int,
    table: Ints,
    shift: int,
    room: int,
    rows: Rows,
    size: int,
    ids: Ints,
) -> tuple[int, int]:
    """Find or append each row and write its number; stops when `room` rows are new.

    Slots of the table hold a fingerprint of the hash and the number of a row.
    """
    width = cand.shape[1]
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    last = size + room
    for i in range(begin, end):
        h = hash_row(cand, i, width)
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
                for c in range(width):
                    if rows[q, c] != cand[i, c]:
                        same = False
                        break
                if same:
                    r = q
                    break
            slot = (slot + 1) & mask
        if r < 0:
            if size == last:
                return i, size
            for c in range(width):
                rows[size, c] = cand[i, c]
            table[slot] = finger | (size + 1)
            r = np.int64(size)
            size += 1
        ids[i] = r
    return end, size
