"""Which tuples a lost instance may have supported, and which of them have another one."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import FINGER, GOLDEN, Flags, Ints, Rows, Small, mix
from whence.engine.local.kernels.live import (
    ANY_RANK,
    FIRST_PREMISE,
    FOLLOWED,
    FOLLOWED_ROWS,
    FROM_BELOW,
    IDLE,
    OTHER_PREMISE,
    SECOND_PREMISE,
    UNKNOWN,
)


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
