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
from whence.engine.local.kernels.hashing import FINGER, GOLDEN, Flags, Ints, Rows, Small, mix

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


@kernel
def lost_heads(
    cand: Rows,
    n: int,
    premises: int,
    k: int,
    at: Ints,
    ranks: Ints,
    witness: Ints,
    seen: Flags,
    out: Ints,
    heads: Rows,
    m: int,
) -> int:
    """Collect, once each, the heads, in rows `at`, that a lost instance may have supported.

    A candidate is a head followed by the ranks of the instance's premises: it supported the
    head only if all of them are below the head's, and it matters only if it may be the head's
    witness. `heads` get the tuple, its rank and its number.
    """
    for i in range(n):
        supported = ranks[i] >= 0
        rank = ranks[i] & ~IDLE
        for p in range(k, k + premises):
            supported &= cand[i, p] < rank
        if not supported:
            continue
        if witness.shape[0] > 0:
            w = witness[at[i]]
            matters = w == UNKNOWN or (premises == 0 and w == FROM_BELOW)
            for p in range(k, k + premises):
                matters |= cand[i, p] == w
            if not matters:
                continue
        if seen[at[i]] == 0:
            seen[at[i]] = 1
            out[m] = at[i]
            for c in range(k):
                heads[m, c] = cand[i, c]
            heads[m, k] = rank
            heads[m, k + 1] = m
            m += 1
    return m


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


@kernel
def mark_joined(
    binding: Rows,
    n: int,
    number: int,
    groups: Ints,
    start: Ints,
    count: Small,
    pool: Small,
    first_rows: Rows,
    first_below: int,
    slots: Ints,
    taken: Ints,
    consts: Ints,
    lo: Ints,
    span: Ints,
    stride: Ints,
    dense: Rows,
    hashed: Ints,
    shift: int,
    rows: Rows,
    below: int,
    source: int,
    active: Ints,
    ranks: Ints,
    marks: Flags,
    witness: Ints,
) -> None:
    """Mark the numbers of the bindings that join with a row of one relation and one of another.

    The second row is named by the binding and the first row: by a slot of the one, a column of the
    other, or a constant for each column. All bindings try their next first row together, and
    leave when one fits: few are tried, and the misses of a round overlap. `source` says whose rank
    is the witness.
    """
    last = rows.shape[1] - 1
    anyway = FOLLOWED if below == FOLLOWED_ROWS else ANY_RANK
    first_anyway = FOLLOWED if first_below == FOLLOWED_ROWS else ANY_RANK
    first_last = first_rows.shape[1] - 1
    k = slots.shape[0]
    mask = hashed.shape[0] - 1
    left = 0
    for i in range(n):
        g = groups[i]
        active[left] = i
        left += 1 if g >= 0 and count[g] > 0 else 0
    turn = 0
    binary = k == 2 and dense.shape[0] > 0
    s0, s1 = (slots[0], slots[1]) if binary else (np.int64(-1), np.int64(-1))
    t0, t1 = (taken[0], taken[1]) if binary else (np.int64(-1), np.int64(-1))
    while left > 0:
        if binary:
            # Most relations are binary: the same with the loop over columns undone.
            for a in range(left):
                i = active[a]
                f = pool[start[groups[i]] + turn]
                limit = np.uint64(binding[i, first_below]) if first_below >= 0 else first_anyway
                v0 = consts[0]
                if s0 >= 0:
                    v0 = binding[i, s0]
                elif t0 >= 0:
                    v0 = first_rows[f, t0]
                v1 = consts[1]
                if s1 >= 0:
                    v1 = binding[i, s1]
                elif t1 >= 0:
                    v1 = first_rows[f, t1]
                d0 = v0 - lo[0]
                d1 = v1 - lo[1]
                here = np.int64(
                    (np.uint64(first_rows[f, first_last]) < limit)
                    & (np.uint64(d0) < np.uint64(span[0]))
                    & (np.uint64(d1) < np.uint64(span[1]))
                )
                cell = (d0 * stride[0] + d1 * stride[1]) * here
                ranks[a] = dense[cell, 1] * here - np.int64(1)
        for a in range(0 if binary else left):
            i = active[a]
            f = pool[start[groups[i]] + turn]
            limit = np.uint64(binding[i, first_below]) if first_below >= 0 else first_anyway
            there = np.uint64(first_rows[f, first_last]) < limit
            rank = np.int64(-1)
            if dense.shape[0] > 0:
                key = np.int64(0)
                for c in range(k):
                    v = (
                        binding[i, slots[c]]
                        if slots[c] >= 0
                        else (first_rows[f, taken[c]] if taken[c] >= 0 else consts[c])
                    )
                    d = v - lo[c]
                    there &= np.uint64(d) < np.uint64(span[c])
                    key += d * stride[c]
                if there:
                    rank = dense[key, 1] - np.int64(1)
            elif there and hashed.shape[0] > 0:
                h = GOLDEN
                for c in range(k):
                    v = (
                        binding[i, slots[c]]
                        if slots[c] >= 0
                        else (first_rows[f, taken[c]] if taken[c] >= 0 else consts[c])
                    )
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
                            v = (
                                binding[i, slots[c]]
                                if slots[c] >= 0
                                else (first_rows[f, taken[c]] if taken[c] >= 0 else consts[c])
                            )
                            same &= rows[q, c] == v
                        if same:
                            rank = rows[q, last]
                            break
                    slot = (slot + 1) & mask
            ranks[a] = rank
        turn += 1
        still = 0
        for a in range(left):
            i = active[a]
            limit = np.uint64(binding[i, below]) if below >= 0 else anyway
            # No branch on what was just fetched: it would be mispredicted, and wait for memory.
            fits = np.uint64(ranks[a]) < limit
            found = UNKNOWN if source == OTHER_PREMISE else FROM_BELOW
            if source == SECOND_PREMISE:
                found = ranks[a]
            elif source == FIRST_PREMISE:
                found = first_rows[pool[start[groups[i]] + turn - 1], first_last]
            who = binding[i, number]
            marks[who] |= np.uint8(fits)
            witness[who] = found if fits else witness[who]
            active[still] = i
            still += int(turn < count[groups[i]]) & int(not fits)
        left = still


@kernel
def mark_row(
    binding: Rows,
    n: int,
    number: int,
    ranks: Ints,
    below: int,
    source: int,
    marks: Flags,
    witness: Ints,
) -> None:
    """Mark the numbers of the bindings whose row is there and has a rank below their limit."""
    anyway = FOLLOWED if below == FOLLOWED_ROWS else ANY_RANK
    for i in range(n):
        limit = np.uint64(binding[i, below]) if below >= 0 else anyway
        fits = np.uint64(ranks[i]) < limit
        who = binding[i, number]
        marks[who] |= np.uint8(fits)
        found = UNKNOWN if source == OTHER_PREMISE else FROM_BELOW
        if source == SECOND_PREMISE:
            found = ranks[i]
        witness[who] = found if fits else witness[who]


@kernel
def take_heads(ids: Ints, rows: Rows, ranked: bool, out: Rows) -> None:
    """Copy rows, each followed by the rank that its support must be below, and its number."""
    k = rows.shape[1] - 1
    for i in range(ids.shape[0]):
        r = ids[i]
        for c in range(k):
            out[i, c] = rows[r, c]
        out[i, k] = rows[r, k] & ~IDLE if ranked else np.int64(FOLLOWED)
        out[i, k + 1] = i
