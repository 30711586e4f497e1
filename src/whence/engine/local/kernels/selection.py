"""The best value of each group, and the rows that have it."""

from __future__ import annotations

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import Flags, Ints, Small


@kernel
def improve(rows: Ints, of: Small, order: Ints, best: Ints, holder: Ints) -> None:
    """Lower the best value of each row's group to the row's, where that is less.

    The holder is the first row found with the best value, -1 in a group without rows.
    """
    for i in range(rows.shape[0]):
        g = of[rows[i]]
        if holder[g] < 0 or order[i] < best[g]:
            best[g] = order[i]
            holder[g] = rows[i]


@kernel
def mark_best(
    rows: Ints, of: Small, order: Ints, best: Ints, holder: Ints, ties: bool, marked: Flags
) -> None:
    """Mark the rows whose value is the best of their group, or only the holders."""
    for i in range(rows.shape[0]):
        g = of[rows[i]]
        if holder[g] == rows[i] or (ties and order[i] == best[g]):
            marked[i] = 1


@kernel
def gather_groups(
    groups: Small, start: Ints, count: Small, pool: Small, dead: Flags, out: Ints
) -> int:
    """Write the row numbers of all live rows of the groups, and return how many there are."""
    n = 0
    for i in range(groups.shape[0]):
        g = groups[i]
        for p in range(start[g], start[g] + count[g]):
            r = pool[p]
            if r >= dead.shape[0] or dead[r] == 0:
                out[n] = r
                n += 1
    return n


@kernel
def best_known(order: Ints, groups: Ints, best: Ints, ties: bool, marked: Flags) -> None:
    """Mark the candidates that would be followed: the first of their group, or as good."""
    for i in range(order.shape[0]):
        g = groups[i]
        if g < 0 or order[i] < best[g] or (ties and order[i] == best[g]):
            marked[i] = 1
