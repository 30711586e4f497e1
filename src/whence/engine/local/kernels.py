"""The inner loops, generic in arity: rows are 2-D int64 arrays, columns are named by small arrays.

Nothing here allocates. A kernel that can run out of room or range says how far it got, and its
caller makes room and calls it again from there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.compile import inline, kernel

Ints = NDArray[np.int64]
Rows = NDArray[np.int64]
Small = NDArray[np.int32]
Words = NDArray[np.uint64]
Flags = NDArray[np.uint8]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_S32 = np.uint64(32)
_S6 = np.int64(6)
_LOW6 = np.int64(63)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_FINGER = np.int64(0x7FFFFFFF)


@inline
def _mix(h, v):  # type: ignore[no-untyped-def]
    h = (h ^ np.uint64(v)) * _MIX
    return h ^ (h >> _S32)


@inline
def _hash_row(rows, i, width):  # type: ignore[no-untyped-def]
    h = _GOLDEN
    for c in range(width):
        h = _mix(h, rows[i, c])
    return h * _GOLDEN


# ── membership: is this tuple new? ───────────────────────────────────────────────────


@kernel
def insert_bitmap(
    cand: Rows, begin: int, end: int, lo: Ints, span: Ints, stride: Ints, bits: Words, rows: Rows, size: int
) -> tuple[int, int]:
    """Append the candidates whose bit is clear; stop at the first one outside the box."""
    width = cand.shape[1]
    for i in range(begin, end):
        key = np.int64(0)
        for c in range(width):
            d = cand[i, c] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                return i, size
            key += d * stride[c]
        word = key >> _S6
        bit = _ONE << np.uint64(key & _LOW6)
        have = bits[word]
        if have & bit == _ZERO:
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
        mark = np.uint64(key) + _ONE
        slot = np.int64((mark * _GOLDEN) >> down)
        have = table[slot]
        while have != _ZERO and have != mark:
            slot = (slot + 1) & mask
            have = table[slot]
        if have == _ZERO:
            if size == last:
                return i, size
            table[slot] = mark
            for c in range(width):
                rows[size, c] = cand[i, c]
            size += 1
    return end, size


@kernel
def insert_hashed(
    cand: Rows, begin: int, end: int, table: Ints, shift: int, room: int, rows: Rows, size: int
) -> tuple[int, int]:
    """Append the candidates that no row equals; table slots hold a fingerprint and a row number."""
    width = cand.shape[1]
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    last = size + room
    for i in range(begin, end):
        h = _hash_row(cand, i, width)
        slot = np.int64(h >> down)
        finger = (np.int64(h) & _FINGER) << np.int64(32)
        new = True
        while True:
            have = table[slot]
            if have == 0:
                break
            if (have >> np.int64(32)) << np.int64(32) == finger:
                r = (have & np.int64(0xFFFFFFFF)) - 1
                same = True
                for c in range(width):
                    if rows[r, c] != cand[i, c]:
                        same = False
                        break
                if same:
                    new = False
                    break
            slot = (slot + 1) & mask
        if new:
            if size == last:
                return i, size
            for c in range(width):
                rows[size, c] = cand[i, c]
            table[slot] = finger | (size + 1)
            size += 1
    return end, size


@kernel
def fill_bitmap(rows: Rows, size: int, lo: Ints, stride: Ints, bits: Words) -> None:
    """Set the bit of every row; all lie in the box."""
    for i in range(size):
        key = np.int64(0)
        for c in range(rows.shape[1]):
            key += (rows[i, c] - lo[c]) * stride[c]
        bits[key >> _S6] |= _ONE << np.uint64(key & _LOW6)


@kernel
def fill_packed(rows: Rows, size: int, lo: Ints, stride: Ints, table: Words, shift: int) -> None:
    """Enter the packed key of every row; all differ and lie in the box."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for i in range(size):
        key = np.int64(0)
        for c in range(rows.shape[1]):
            key += (rows[i, c] - lo[c]) * stride[c]
        mark = np.uint64(key) + _ONE
        slot = np.int64((mark * _GOLDEN) >> down)
        while table[slot] != _ZERO:
            slot = (slot + 1) & mask
        table[slot] = mark


@kernel
def fill_hashed(rows: Rows, size: int, table: Ints, shift: int) -> None:
    """Enter every row by its hash; all differ."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for i in range(size):
        h = _hash_row(rows, i, rows.shape[1])
        slot = np.int64(h >> down)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = ((np.int64(h) & _FINGER) << np.int64(32)) | (i + 1)


@kernel
def unseen_bitmap(cand: Rows, n: int, lo: Ints, span: Ints, stride: Ints, bits: Words) -> int:
    """Move the candidates that may be new to the front; those outside the box may be."""
    width = cand.shape[1]
    m = 0
    for i in range(n):
        key = np.int64(0)
        inside = True
        for c in range(width):
            d = cand[i, c] - lo[c]
            if np.uint64(d) >= np.uint64(span[c]):
                inside = False
            key += d * stride[c]
        if not inside or (bits[key >> _S6] >> np.uint64(key & _LOW6)) & _ONE == _ZERO:
            for c in range(width):
                cand[m, c] = cand[i, c]
            m += 1
    return m


@kernel
def unseen_packed(
    cand: Rows, n: int, lo: Ints, span: Ints, stride: Ints, table: Words, shift: int
) -> int:
    """Move the candidates that may be new to the front; those outside the box may be."""
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
            mark = np.uint64(key) + _ONE
            slot = np.int64((mark * _GOLDEN) >> down)
            have = table[slot]
            while have != _ZERO and have != mark:
                slot = (slot + 1) & mask
                have = table[slot]
            new = have == _ZERO
        if new:
            for c in range(width):
                cand[m, c] = cand[i, c]
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


# ── groups: the rows of each key, in ascending order ─────────────────────────────────


@kernel
def group_rows(
    rows: Rows,
    begin: int,
    end: int,
    columns: Ints,
    table: Small,
    shift: int,
    first: Small,
    groups: int,
    of: Small,
) -> int:
    """Find or make the group of each row and write it to `of`; returns how many groups there are."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    k = columns.shape[0]
    for r in range(begin, end):
        h = _GOLDEN
        for c in range(k):
            h = _mix(h, rows[r, columns[c]])
        slot = np.int64((h * _GOLDEN) >> down)
        g = np.int32(-1)
        while True:
            have = table[slot]
            if have == 0:
                g = np.int32(groups)
                table[slot] = g + 1
                first[g] = r
                groups += 1
                break
            q = first[have - 1]
            same = True
            for c in range(k):
                if rows[q, columns[c]] != rows[r, columns[c]]:
                    same = False
                    break
            if same:
                g = np.int32(have - 1)
                break
            slot = (slot + 1) & mask
        of[r - begin] = g
    return groups


@kernel
def fill_groups(rows: Rows, groups: int, columns: Ints, first: Small, table: Small, shift: int) -> None:
    """Enter every group by the hash of its key."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for g in range(groups):
        h = _GOLDEN
        for c in range(columns.shape[0]):
            h = _mix(h, rows[first[g], columns[c]])
        slot = np.int64((h * _GOLDEN) >> down)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = g + 1


@kernel
def place_groups(
    of: Small, groups: int, more: Small, start: Ints, count: Small, room: Small, pool: Small, used: int
) -> int:
    """Give each group room for its new rows; one that outgrows its room moves to the pool's end.

    Returns the pool's new length; when that exceeds the pool, nothing has changed. `more` is
    zero before and after.
    """
    for i in range(of.shape[0]):
        more[of[i]] += 1
    need = np.int64(used)
    for g in range(groups):
        if count[g] + more[g] > room[g]:
            need += max(np.int64(count[g] + more[g]), np.int64(2) * room[g])
    enough = need <= pool.shape[0]
    for g in range(groups):
        want = count[g] + more[g]
        more[g] = 0
        if enough and want > room[g]:
            fresh = max(np.int64(want), np.int64(2) * room[g])
            s = start[g]
            for p in range(count[g]):
                pool[used + p] = pool[s + p]
            start[g] = used
            room[g] = fresh
            used += fresh
    return need


@kernel
def enter_groups(begin: int, of: Small, start: Ints, count: Small, pool: Small) -> None:
    """Append row begin + i to the list of group of[i], for which there is room."""
    for i in range(of.shape[0]):
        g = of[i]
        pool[start[g] + count[g]] = begin + i
        count[g] += 1


@kernel
def append_groups(
    begin: int, done: int, of: Small, start: Ints, count: Small, room: Small, pool: Small, used: int
) -> tuple[int, int]:
    """As place and enter together, touching only the groups of the new rows; stops at a full pool."""
    for i in range(done, of.shape[0]):
        g = of[i]
        if count[g] == room[g]:
            fresh = max(np.int64(4), np.int64(2) * room[g])
            if used + fresh > pool.shape[0]:
                return i, used
            s = start[g]
            for p in range(count[g]):
                pool[used + p] = pool[s + p]
            start[g] = used
            room[g] = fresh
            used += fresh
        pool[start[g] + count[g]] = begin + i
        count[g] += 1
    return of.shape[0], used


# ── joins ────────────────────────────────────────────────────────────────────────────


@inline
def _find_group(binding, i, key, consts, columns, rows, table, first, shift):  # type: ignore[no-untyped-def]
    mask = table.shape[0] - 1
    k = columns.shape[0]
    h = _GOLDEN
    for c in range(k):
        s = key[c]
        v = binding[i, s] if s >= 0 else consts[c]
        h = _mix(h, v)
    slot = np.int64((h * _GOLDEN) >> np.uint64(shift))
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
    taken: Ints,
    out: Rows,
) -> int:
    """Join each binding with the rows of its key; `cursor` says where to go on.

    Row m of `out` is the kept slots of a binding, then the taken columns of a row.
    """
    span = np.uint64(start.shape[0])
    room = out.shape[0]
    nk = kept.shape[0]
    nt = taken.shape[0]
    alive = dead.shape[0] == 0
    i = cursor[0]
    p = cursor[1]
    m = 0
    while i < n:
        g = (binding[i, key] if key >= 0 else const) - lo
        if np.uint64(g) < span:
            s = start[g]
            e = np.int64(count[g])
            if nk == 1 and nt == 1 and alive:
                # The commonest shape (closure and its kin), with the loop over columns undone.
                x = binding[i, kept[0]]
                t = taken[0]
                while p < e and m < room:
                    r = pool[s + p]
                    if r >= limit:
                        p = e
                        break
                    out[m, 0] = x
                    out[m, 1] = rows[r, t]
                    m += 1
                    p += 1
            else:
                while p < e and m < room:
                    r = pool[s + p]
                    if r >= limit:
                        p = e
                        break
                    p += 1
                    if not alive and dead[r]:
                        continue
                    for c in range(nk):
                        out[m, c] = binding[i, kept[c]]
                    for c in range(nt):
                        out[m, nk + c] = rows[r, taken[c]]
                    m += 1
            if p < e:
                break
        i += 1
        p = 0
    cursor[0] = i
    cursor[1] = p
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
    taken: Ints,
    out: Rows,
) -> int:
    """As `probe_dense`, for keys of any width: a key part is a slot, or a constant where negative."""
    room = out.shape[0]
    nk = kept.shape[0]
    nt = taken.shape[0]
    alive = dead.shape[0] == 0
    i = cursor[0]
    p = cursor[1]
    m = 0
    while i < n:
        g = _find_group(binding, i, key, consts, columns, rows, table, first, shift)
        if g >= 0:
            s = start[g]
            e = np.int64(count[g])
            while p < e and m < room:
                r = pool[s + p]
                if r >= limit:
                    p = e
                    break
                p += 1
                if not alive and dead[r]:
                    continue
                for c in range(nk):
                    out[m, c] = binding[i, kept[c]]
                for c in range(nt):
                    out[m, nk + c] = rows[r, taken[c]]
                m += 1
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
        g = (binding[i, key] if key >= 0 else const) - lo
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
        g = _find_group(binding, i, key, consts, columns, rows, table, first, shift)
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
        out[i] = _find_group(binding, i, key, consts, columns, rows, table, first, shift)


# ── keyed relations: one row per key, the best value stays ───────────────────────────


@inline
def _rank(v, kind):  # type: ignore[no-untyped-def]
    """Map a code to an int64 of the same order: kind 0 is signed, 1 unsigned, 2 float."""
    if kind == 0:
        return v
    if kind == 1:
        return v ^ np.int64(-0x8000000000000000)
    return v ^ ((v >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))


@inline
def _improve(cand, i, r, value, kind, greatest, round_, rows, stamp, frontier, nf):  # type: ignore[no-untyped-def]
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
                cand, i, r - 1, value, kind, greatest, round_, rows, stamp, frontier, nf
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
        h = _GOLDEN
        for c in range(k):
            h = _mix(h, cand[i, columns[c]])
        h = h * _GOLDEN
        slot = np.int64(h >> down)
        finger = (np.int64(h) & _FINGER) << np.int64(32)
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
        h = _GOLDEN
        for c in range(columns.shape[0]):
            h = _mix(h, rows[i, columns[c]])
        h = h * _GOLDEN
        slot = np.int64(h >> down)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = ((np.int64(h) & _FINGER) << np.int64(32)) | (i + 1)


# ── dictionaries: rows to numbers ────────────────────────────────────────────────────


@kernel
def intern_rows(
    cand: Rows, begin: int, end: int, table: Ints, shift: int, room: int, rows: Rows, size: int, ids: Ints
) -> tuple[int, int]:
    """Find or append each row and write its number; stops when `room` rows are new."""
    width = cand.shape[1]
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    last = size + room
    for i in range(begin, end):
        h = _hash_row(cand, i, width)
        slot = np.int64(h >> down)
        finger = (np.int64(h) & _FINGER) << np.int64(32)
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
