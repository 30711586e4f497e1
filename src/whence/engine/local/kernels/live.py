"""Relations whose tuples come and go: the row of a tuple, its rank, and joins that look at both.

The last column of such rows is the rank. A tuple's row is found in a dense table over the box of
all tuples, or, where that would be too large, in a hash table of row numbers; one of the two
tables is empty. `flags` say which rows a join may not see.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import inline, kernel
from whence.engine.local.kernels.hashing import FINGER, GOLDEN, Flags, Ints, Rows, Small, mix
from whence.engine.local.kernels.joins import find_group

PENDING = np.uint8(2)
"""The flag of a row that will be seen from the next wave on."""


@inline
def _locate(
    binding: Rows,
    i: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
    rows: Rows,
) -> np.int64:
    """Return the row of a tuple whose columns are slots of a binding, or constants; else -1."""
    k = slots.shape[0]
    found = np.int64(-1)
    if dense.shape[0] > 0:
        key = np.int64(0)
        inside = True
        for c in range(k):
            v = binding[i, slots[c]] if slots[c] >= 0 else consts[c]
            d = v - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                inside = False
            key += d * stride[c]
        if inside:
            found = np.int64(dense[key]) - np.int64(1)
    elif hashed.shape[0] > 0:
        mask = hashed.shape[0] - 1
        h = GOLDEN
        for c in range(k):
            v = binding[i, slots[c]] if slots[c] >= 0 else consts[c]
            h = mix(h, v)
        h = h * GOLDEN
        slot = np.int64(h >> np.uint64(shift))
        finger = (np.int64(h) & FINGER) << np.int64(32)
        while True:
            have = hashed[slot]
            if have == 0:
                break
            if (have >> np.int64(32)) << np.int64(32) == finger:
                q = (have & np.int64(0xFFFFFFFF)) - np.int64(1)
                same = True
                for c in range(k):
                    v = binding[i, slots[c]] if slots[c] >= 0 else consts[c]
                    if rows[q, c] != v:
                        same = False
                        break
                if same:
                    found = q
                    break
            slot = (slot + 1) & mask
    return found


@kernel
def find_rows(
    cand: Rows,
    n: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
    rows: Rows,
    out: Ints,
) -> None:
    """Write the row of each tuple, -1 where it has none."""
    for i in range(n):
        out[i] = _locate(cand, i, slots, consts, lo, span, stride, dense, hashed, shift, rows)


@kernel
def fill_rows(
    rows: Rows,
    size: int,
    k: int,
    lo: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
) -> None:
    """Enter all rows into an empty table; all differ and lie in the box."""
    if dense.shape[0] > 0:
        for i in range(size):
            key = np.int64(0)
            for c in range(k):
                key += (rows[i, c] - lo[c]) * stride[c]
            dense[key] = i + 1
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
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
    room: int,
    rows: Rows,
    size: int,
    dead: Flags,
    was: Flags,
    seen: Flags,
    rank: int,
    pending: Ints,
    waiting: int,
) -> tuple[int, int, int, int]:
    """Make the candidates that are not there pending, each with the next rank.

    Stops at one outside the dense table's box, or when `room` rows are new to the hash table.
    Returns how far it got, the size, the next rank, and how many rows are pending.
    """
    k = slots.shape[0]
    last = size + room
    mask = hashed.shape[0] - 1
    for i in range(begin, end):
        r = _locate(cand, i, slots, consts, lo, span, stride, dense, hashed, shift, rows)
        if r >= 0:
            if dead[r] != 1:
                continue
        else:
            if dense.shape[0] > 0:
                key = np.int64(0)
                inside = True
                for c in range(k):
                    d = cand[i, c] - lo[c]
                    if np.uint64(d) >= np.uint64(span[c]):
                        inside = False
                    key += d * stride[c]
                if not inside:
                    return i, size, rank, waiting
                dense[key] = size + 1
            else:
                if size == last:
                    return i, size, rank, waiting
                h = GOLDEN
                for c in range(k):
                    h = mix(h, cand[i, c])
                h = h * GOLDEN
                slot = np.int64(h >> np.uint64(shift))
                while hashed[slot] != 0:
                    slot = (slot + 1) & mask
                hashed[slot] = ((np.int64(h) & FINGER) << np.int64(32)) | (size + 1)
            r = np.int64(size)
            for c in range(k):
                rows[r, c] = cand[i, c]
            was[r] = 1
            seen[r] = 0
            size += 1
        dead[r] = PENDING
        rows[r, k] = rank
        rank += 1
        pending[waiting] = r
        waiting += 1
    return end, size, rank, waiting


@kernel
def revive_rows(ids: Ints, dead: Flags, rows: Rows, rank: int, pending: Ints, waiting: int) -> int:
    """Make dead rows pending, each with the next rank; return how many are pending."""
    last = rows.shape[1] - 1
    for i in range(ids.shape[0]):
        r = ids[i]
        if dead[r] == 1:
            dead[r] = PENDING
            rows[r, last] = rank
            rank += 1
            pending[waiting] = r
            waiting += 1
    return waiting


@kernel
def lost_heads(
    cand: Rows,
    n: int,
    premises: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
    rows: Rows,
    dead: Flags,
    seen: Flags,
    out: Ints,
    m: int,
) -> int:
    """Collect, once each, the living heads that a lost instance may have supported.

    A candidate is a head followed by the ranks of the instance's premises: it supported the
    head only if all of them are below the head's.
    """
    k = slots.shape[0]
    for i in range(n):
        r = _locate(cand, i, slots, consts, lo, span, stride, dense, hashed, shift, rows)
        if r < 0 or dead[r] != 0 or seen[r] != 0:
            continue
        supported = True
        for p in range(k, k + premises):
            if cand[i, p] >= rows[r, k]:
                supported = False
        if supported:
            seen[r] = 1
            out[m] = r
            m += 1
    return m


@kernel
def probe_row(
    binding: Rows,
    n: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
    rows: Rows,
    flags: Flags,
    below: int,
    kept: Ints,
    kept_to: Ints,
    taken: Ints,
    taken_to: Ints,
    out: Rows,
) -> int:
    """Join each binding with the one row that it names, if that is there and below its limit."""
    nk = kept.shape[0]
    nt = taken.shape[0]
    last = rows.shape[1] - 1
    m = 0
    for i in range(n):
        r = _locate(binding, i, slots, consts, lo, span, stride, dense, hashed, shift, rows)
        if r < 0 or flags[r] != 0 or (below >= 0 and rows[r, last] >= binding[i, below]):
            continue
        for c in range(nk):
            out[m, kept_to[c]] = binding[i, kept[c]]
        for c in range(nt):
            out[m, taken_to[c]] = rows[r, taken[c]]
        m += 1
    return m


@kernel
def exists_row(
    binding: Rows,
    n: int,
    slots: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Small,
    hashed: Ints,
    shift: int,
    rows: Rows,
    flags: Flags,
    below: int,
    found: Flags,
) -> None:
    """Say for each binding whether the one row that it names is there and below its limit."""
    last = rows.shape[1] - 1
    for i in range(n):
        r = _locate(binding, i, slots, consts, lo, span, stride, dense, hashed, shift, rows)
        found[i] = r >= 0 and flags[r] == 0 and (below < 0 or rows[r, last] < binding[i, below])


@inline
def _group(
    binding: Rows,
    i: int,
    key: Ints,
    consts: Ints,
    columns: Ints,
    table: Small,
    first: Small,
    shift: int,
    direct: bool,
    lo: int,
    start: Ints,
    rows: Rows,
) -> np.int64:
    """Return the group of the binding's key in an index, -1 for none."""
    g = np.int64(-1)
    if direct:
        d = np.int64(binding[i, key[0]] if key[0] >= 0 else consts[0]) - np.int64(lo)
        if np.uint64(d) < np.uint64(start.shape[0]):
            g = d
    else:
        g = np.int64(find_group(binding, i, key, consts, columns, rows, table, first, shift))
    return g


@kernel
def probe_group(
    binding: Rows,
    n: int,
    cursor: Ints,
    key: Ints,
    consts: Ints,
    columns: Ints,
    table: Small,
    first: Small,
    shift: int,
    direct: bool,
    lo: int,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    flags: Flags,
    below: int,
    kept: Ints,
    kept_to: Ints,
    taken: Ints,
    taken_to: Ints,
    out: Rows,
) -> int:
    """Join each binding with the rows of its key; carries on from the cursor, stops when full."""
    room = out.shape[0]
    nk = kept.shape[0]
    nt = taken.shape[0]
    last = rows.shape[1] - 1
    i = cursor[0]
    p = cursor[1]
    m = 0
    while i < n:
        g = _group(binding, i, key, consts, columns, table, first, shift, direct, lo, start, rows)
        if g >= 0:
            s = start[g]
            e = np.int64(count[g])
            stop = min(e, p + room - m)
            for q in range(p, stop):
                r = pool[s + q]
                if flags[r] == 0 and (below < 0 or rows[r, last] < binding[i, below]):
                    for c in range(nk):
                        out[m, kept_to[c]] = binding[i, kept[c]]
                    for c in range(nt):
                        out[m, taken_to[c]] = rows[r, taken[c]]
                    m += 1
            p = max(p, stop)
            if p < e:
                break
        i += 1
        p = 0
    cursor[0] = i
    cursor[1] = p
    return m


@kernel
def exists_group(
    binding: Rows,
    n: int,
    key: Ints,
    consts: Ints,
    columns: Ints,
    table: Small,
    first: Small,
    shift: int,
    direct: bool,
    lo: int,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    flags: Flags,
    below: int,
    found: Flags,
) -> None:
    """Say for each binding whether its key has a row that is there and below its limit."""
    last = rows.shape[1] - 1
    for i in range(n):
        g = _group(binding, i, key, consts, columns, table, first, shift, direct, lo, start, rows)
        hit = False
        if g >= 0:
            s = start[g]
            for p in range(count[g]):
                r = pool[s + p]
                if flags[r] == 0 and (below < 0 or rows[r, last] < binding[i, below]):
                    hit = True
                    break
        found[i] = hit
