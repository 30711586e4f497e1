"""Joins of bindings with the rows of their keys."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import inline, kernel
from whence.engine.local.kernels.hashing import GOLDEN, Flags, Ints, Rows, Small, mix

NO_LIMIT = (1 << 31) - 1
"""A row limit above all rows: the whole list of a key is visible."""


@inline
def find_group(
    binding: Rows,
    i: int,
    key: Ints,
    consts: Ints,
    columns: Ints,
    rows: Rows,
    table: Small,
    first: Small,
    shift: int,
) -> np.int64:
    mask = table.shape[0] - 1
    k = columns.shape[0]
    h = GOLDEN
    for c in range(k):
        s = key[c]
        v = binding[i, s] if s >= 0 else consts[c]
        h = mix(h, v)
    slot = np.int64((h * GOLDEN) >> np.uint64(shift))
    g = np.int64(-1)
    while True:
        have = table[slot]
        if have == 0:
            break
        q = first[have - 1]
        same = True
        for c in range(k):
            s = key[c]
            v = binding[i, s] if s >= 0 else consts[c]
            if rows[q, columns[c]] != v:
                same = False
                break
        if same:
            g = np.int64(have - 1)
            break
        slot = (slot + 1) & mask
    return g


@inline
def _visible(pool: Small, s: int, e: np.int64, limit: int) -> np.int64:
    """Cut a list of e rows, in ascending order from s, before the first one at the limit."""
    if e == 0 or pool[s + e - 1] < limit:
        return e
    low = np.int64(0)
    high = e
    while low < high:
        mid = (low + high) >> 1
        if pool[s + mid] < limit:
            low = mid + 1
        else:
            high = mid
    return low


@kernel
def probe_dense(
    binding: Rows,
    n: int,
    cursor: Ints,
    key: int,
    const: int,
    lo: int,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    limit: int,
    dead: Flags,
    kept: Ints,
    kept_to: Ints,
    taken: Ints,
    taken_to: Ints,
    out: Rows,
) -> int:
    """Join each binding with the rows of its key; `cursor` says where to go on.

    A row of `out` has the kept slots of a binding and the taken columns of a row, each in the
    column that `kept_to` or `taken_to` names.
    """
    span = np.uint64(start.shape[0])
    room = out.shape[0]
    nk = kept.shape[0]
    nt = taken.shape[0]
    alive = dead.shape[0] == 0
    t = taken[0] if nt else 0
    xt = kept_to[0] if nk else 0
    tt = taken_to[0] if nt else 0
    i = cursor[0]
    p = cursor[1]
    m = 0
    while i < n:
        g = np.int64(binding[i, key] if key >= 0 else const) - np.int64(lo)
        if np.uint64(g) < span:
            s = start[g]
            e = np.int64(count[g])
            if limit < NO_LIMIT:
                e = _visible(pool, s, e, limit)
            stop = min(e, p + room - m)
            if nk == 1 and nt == 1 and alive:
                # The commonest shape (closure and its kin), with the loop over columns undone.
                x = binding[i, kept[0]]
                while p < stop:
                    out[m, xt] = x
                    out[m, tt] = rows[pool[s + p], t]
                    m += 1
                    p += 1
            else:
                for q in range(p, stop):
                    r = pool[s + q]
                    if alive or not dead[r]:
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
def probe_cell(
    binding: Rows,
    n: int,
    key: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    cells: Small,
    rows: Rows,
    kept: Ints,
    kept_to: Ints,
    taken: Ints,
    taken_to: Ints,
    out: Rows,
) -> int:
    """Join each binding with the one row of its key, if there is one: `cells` say which it is."""
    m = 0
    for i in range(n):
        at = np.int64(0)
        inside = True
        for c in range(key.shape[0]):
            s = key[c]
            d = (binding[i, s] if s >= 0 else consts[c]) - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                inside = False
                break
            at += d * stride[c]
        if not inside:
            continue
        r = cells[at]
        if r == 0:
            continue
        for c in range(kept.shape[0]):
            out[m, kept_to[c]] = binding[i, kept[c]]
        for c in range(taken.shape[0]):
            out[m, taken_to[c]] = rows[r - 1, taken[c]]
        m += 1
    return m


@kernel
def probe_hashed(
    binding: Rows,
    n: int,
    cursor: Ints,
    key: Ints,
    consts: Ints,
    columns: Ints,
    table: Small,
    first: Small,
    shift: int,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    limit: int,
    dead: Flags,
    kept: Ints,
    kept_to: Ints,
    taken: Ints,
    taken_to: Ints,
    out: Rows,
) -> int:
    """As `probe_dense`, for keys of any width; a key part below zero is a constant."""
    room = out.shape[0]
    nk = kept.shape[0]
    nt = taken.shape[0]
    alive = dead.shape[0] == 0
    i = cursor[0]
    p = cursor[1]
    m = 0
    while i < n:
        g = find_group(binding, i, key, consts, columns, rows, table, first, shift)
        if g >= 0:
            s = start[g]
            e = np.int64(count[g])
            if limit < NO_LIMIT:
                e = _visible(pool, s, e, limit)
            stop = min(e, p + room - m)
            for q in range(p, stop):
                r = pool[s + q]
                if alive or not dead[r]:
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
def exists_dense(
    binding: Rows,
    n: int,
    key: int,
    const: int,
    lo: int,
    start: Ints,
    count: Small,
    pool: Small,
    limit: int,
    dead: Flags,
    found: Flags,
) -> None:
    """Say for each binding whether its key has a row."""
    span = np.uint64(start.shape[0])
    alive = dead.shape[0] == 0
    for i in range(n):
        g = np.int64(binding[i, key] if key >= 0 else const) - np.int64(lo)
        hit = False
        if np.uint64(g) < span:
            s = start[g]
            for p in range(count[g]):
                r = pool[s + p]
                if r >= limit:
                    break
                if alive or not dead[r]:
                    hit = True
                    break
        found[i] = hit


@kernel
def exists_hashed(
    binding: Rows,
    n: int,
    key: Ints,
    consts: Ints,
    columns: Ints,
    table: Small,
    first: Small,
    shift: int,
    start: Ints,
    count: Small,
    pool: Small,
    rows: Rows,
    limit: int,
    dead: Flags,
    found: Flags,
) -> None:
    """Say for each binding whether its key has a row."""
    alive = dead.shape[0] == 0
    for i in range(n):
        g = find_group(binding, i, key, consts, columns, rows, table, first, shift)
        hit = False
        if g >= 0:
            s = start[g]
            for p in range(count[g]):
                r = pool[s + p]
                if r >= limit:
                    break
                if alive or not dead[r]:
                    hit = True
                    break
        found[i] = hit


@kernel
def group_of(
    binding: Rows,
    n: int,
    key: Ints,
    consts: Ints,
    columns: Ints,
    table: Small,
    first: Small,
    shift: int,
    rows: Rows,
    out: Ints,
) -> None:
    """Say for each binding which group its key is, -1 for none."""
    for i in range(n):
        out[i] = find_group(binding, i, key, consts, columns, rows, table, first, shift)
