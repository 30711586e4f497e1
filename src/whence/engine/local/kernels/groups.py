"""The rows of each key, in ascending order: kernels that build and extend indexes."""

from __future__ import annotations

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import GOLDEN, Ints, Rows, Small, mix


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
    """Find or make the group of each row, write it to `of`, and return how many there are."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    k = columns.shape[0]
    for r in range(begin, end):
        h = GOLDEN
        for c in range(k):
            h = mix(h, rows[r, columns[c]])
        slot = np.int64((h * GOLDEN) >> down)
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
def fill_groups(
    rows: Rows, groups: int, columns: Ints, first: Small, table: Small, shift: int
) -> None:
    """Enter every group by the hash of its key."""
    mask = table.shape[0] - 1
    down = np.uint64(shift)
    for g in range(groups):
        h = GOLDEN
        for c in range(columns.shape[0]):
            h = mix(h, rows[first[g], columns[c]])
        slot = np.int64((h * GOLDEN) >> down)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = g + 1


@kernel
def place_groups(
    of: Small,
    groups: int,
    more: Small,
    start: Ints,
    count: Small,
    room: Small,
    pool: Small,
    used: int,
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
    return int(need)


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
    """As place and enter in one, touching only the groups of new rows; stops at a full pool."""
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
