"""Joins with relations whose tuples come and go: which rows they see depends on ranks and flags."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import GOLDEN, Flags, Ints, Rows, Small, mix
from whence.engine.local.kernels.live import ANY_RANK, FOLLOWED, FOLLOWED_ROWS


@kernel
def probe_row(
    binding: Rows,
    n: int,
    at: Ints,
    rows: Rows,
    was: Flags,
    before: bool,
    below: int,
    kept: Ints,
    kept_to: Ints,
    taken: Ints,
    taken_to: Ints,
    out: Rows,
) -> int:
    """Join each binding with the row `at`, if that is there and below the binding's limit."""
    nk = kept.shape[0]
    nt = taken.shape[0]
    last = rows.shape[1] - 1
    anyway = FOLLOWED if below == FOLLOWED_ROWS else ANY_RANK
    m = 0
    for i in range(n):
        r = at[i]
        if r < 0:
            continue
        if before:
            if was[r] != 0:
                continue
        else:
            limit = np.uint64(binding[i, below]) if below >= 0 else anyway
            if np.uint64(rows[r, last]) >= limit:
                continue
        for c in range(nk):
            out[m, kept_to[c]] = binding[i, kept[c]]
        for c in range(nt):
            out[m, taken_to[c]] = rows[r, taken[c]]
        m += 1
    return m


@kernel
def exists_row(
    binding: Rows, n: int, at: Ints, rows: Rows, was: Flags, before: bool, below: int, found: Flags
) -> None:
    """Say for each binding whether the row `at` is there and below the binding's limit."""
    last = rows.shape[1] - 1
    if before:
        for i in range(n):
            r = at[i]
            found[i] = (r >= 0) & (was[max(r, 0)] == 0)
    elif below >= 0:
        for i in range(n):
            r = at[i]
            rank = np.uint64(rows[max(r, 0), last])
            found[i] = (r >= 0) & (rank < np.uint64(binding[i, below]))
    else:
        anyway = FOLLOWED if below == FOLLOWED_ROWS else ANY_RANK
        for i in range(n):
            r = at[i]
            found[i] = (r >= 0) & (np.uint64(rows[max(r, 0), last]) < anyway)


@kernel
def find_groups(
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
    rows: Rows,
    out: Ints,
) -> None:
    """Write the group of each binding's key in an index, -1 for none."""
    k = columns.shape[0]
    if direct:
        span = np.uint64(start.shape[0])
        for i in range(n):
            d = np.int64(binding[i, key[0]] if key[0] >= 0 else consts[0]) - np.int64(lo)
            out[i] = d if np.uint64(d) < span else np.int64(-1)
        return
    mask = table.shape[0] - 1
    for i in range(n):
        h = GOLDEN
        for c in range(k):
            h = mix(h, binding[i, key[c]] if key[c] >= 0 else consts[c])
        slot = np.int64((h * GOLDEN) >> np.uint64(shift))
        g = np.int64(-1)
        while True:
            have = table[slot]
            if have == 0:
                break
            q = first[have - 1]
            same = True
            for c in range(k):
                if rows[q, columns[c]] != (binding[i, key[c]] if key[c] >= 0 else consts[c]):
                    same = False
                    break
            if same:
                g = np.int64(have - 1)
                break
            slot = (slot + 1) & mask
        out[i] = g


@kernel
def probe_group(
    binding: Rows,
    n: int,
    cursor: Ints,
    groups: Ints,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    was: Flags,
    before: bool,
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
    anyway = FOLLOWED if below == FOLLOWED_ROWS else ANY_RANK
    i = cursor[0]
    p = cursor[1]
    m = 0
    while i < n:
        g = groups[i]
        if g >= 0:
            s = start[g]
            e = np.int64(count[g])
            stop = min(e, p + room - m)
            limit = np.uint64(binding[i, below]) if below >= 0 else anyway
            for q in range(p, stop):
                r = pool[s + q]
                if was[r] == 0 if before else np.uint64(rows[r, last]) < limit:
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
    groups: Ints,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    was: Flags,
    before: bool,
    below: int,
    found: Flags,
) -> None:
    """Say for each binding whether its key has a row that is there and below its limit."""
    last = rows.shape[1] - 1
    anyway = FOLLOWED if below == FOLLOWED_ROWS else ANY_RANK
    for i in range(n):
        g = groups[i]
        hit = False
        if g >= 0:
            s = start[g]
            limit = np.uint64(binding[i, below]) if below >= 0 else anyway
            for p in range(count[g]):
                r = pool[s + p]
                if was[r] == 0 if before else np.uint64(rows[r, last]) < limit:
                    hit = True
                    break
        found[i] = hit
