"""What steps reach, kept current: as `repair.py` does it, where there is no better and worse."""

from __future__ import annotations

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import Flags, Ints, Rows, Small
from whence.engine.local.kernels.repair import NO_PARENT

_OUT, _NEW = 1, 2
"""A state that was taken out, and one that had not been reached."""


@kernel
def stirred_reach(
    searches: int,
    parent: Small,
    src: Small,
    dst: Small,
    gone: Ints,
    new: Ints,
    seeds_changed: Flags,
    found: Ints,
) -> int:
    """Write down the searches that a change touches, and return how many they are."""
    n = 0
    for p in range(searches):
        hit = seeds_changed[p] != 0
        for i in range(gone.shape[0]):
            hit = hit or parent[p, dst[gone[i]]] == gone[i] + 1
        for i in range(new.shape[0]):
            e = new[i]
            hit = hit or (parent[p, src[e]] != NO_PARENT and parent[p, dst[e]] == NO_PARENT)
        if hit:
            found[n] = p
            n += 1
    return n


@kernel
def repair_reach(
    order: Ints,
    begin: int,
    end: int,
    parent: Small,
    out: Small,
    nout: Small,
    inn: Small,
    nin: Small,
    src: Small,
    dst: Small,
    live: Flags,
    gone: Ints,
    new: Ints,
    seeds: Small,
    following: Small,
    seed_state: Small,
    seed_live: Flags,
    seeds_changed: Flags,
    mark: Flags,
    touched: Small,
    queue: Small,
    pivots: Rows,
    pivot: Ints,
    states: Rows,
    state: Ints,
    came: Rows,
    nc: int,
    went: Rows,
    nw: int,
    work: Ints,
) -> tuple[int, int, int]:
    """Repair searches in this order; return where it stopped, and how many rows there are.

    Arguments are those of `repair`, without values.
    """
    size = states.shape[0]
    room = min(came.shape[1], went.shape[1])
    for at in range(begin, end):
        if room - max(nc, nw) < size:
            return at, nc, nw
        p = order[at]
        nt = 0
        tail = 0
        for i in range(gone.shape[0]):
            e = gone[i]
            s = dst[e]
            if parent[p, s] == e + 1 and mark[s] == 0:
                mark[s] = _OUT
                touched[nt] = s
                nt += 1
        if seeds_changed[p]:
            q = seeds[p]
            while q >= 0:
                s = seed_state[q]
                if not seed_live[q] and parent[p, s] == -(q + 1) and mark[s] == 0:
                    mark[s] = _OUT
                    touched[nt] = s
                    nt += 1
                q = following[q]
        if nt > 0:
            i = 0
            while i < nt:
                s = touched[i]
                i += 1
                e = out[s]
                while e >= 0:
                    t = dst[e]
                    if parent[p, t] == e + 1 and mark[t] == 0:
                        mark[t] = _OUT
                        touched[nt] = t
                        nt += 1
                    e = nout[e]
            work[0] += nt
            for i in range(nt):
                parent[p, touched[i]] = NO_PARENT
            # Whoever is still reached from elsewhere comes back, and those after it.
            for i in range(nt):
                s = touched[i]
                if parent[p, s] == NO_PARENT:
                    e = inn[s]
                    while e >= 0:
                        if live[e] and parent[p, src[e]] != NO_PARENT:
                            parent[p, s] = e + 1
                            queue[tail] = s
                            tail += 1
                            break
                        e = nin[e]
        if nt > 0 or seeds_changed[p]:
            q = seeds[p]
            while q >= 0:
                s = seed_state[q]
                if seed_live[q] and parent[p, s] == NO_PARENT:
                    if mark[s] == 0:
                        mark[s] = _NEW
                        touched[nt] = s
                        nt += 1
                    parent[p, s] = -(q + 1)
                    queue[tail] = s
                    tail += 1
                q = following[q]
        for i in range(new.shape[0]):
            e = new[i]
            s = dst[e]
            if parent[p, s] == NO_PARENT and parent[p, src[e]] != NO_PARENT:
                if mark[s] == 0:
                    mark[s] = _NEW
                    touched[nt] = s
                    nt += 1
                parent[p, s] = e + 1
                queue[tail] = s
                tail += 1
        head = 0
        while head < tail:
            s = queue[head]
            head += 1
            e = out[s]
            while e >= 0:
                t = dst[e]
                if live[e] and parent[p, t] == NO_PARENT:
                    if mark[t] == 0:
                        mark[t] = _NEW
                        touched[nt] = t
                        nt += 1
                    parent[p, t] = e + 1
                    queue[tail] = t
                    tail += 1
                e = nout[e]
        work[1] += nt
        for i in range(nt):
            s = touched[i]
            had = mark[s] == _OUT
            has = parent[p, s] != NO_PARENT
            mark[s] = 0
            if had and not has:
                for c in range(pivot.shape[0]):
                    went[pivot[c], nw] = pivots[p, c]
                for c in range(state.shape[0]):
                    went[state[c], nw] = states[s, c]
                nw += 1
            if has and not had:
                for c in range(pivot.shape[0]):
                    came[pivot[c], nc] = pivots[p, c]
                for c in range(state.shape[0]):
                    came[state[c], nc] = states[s, c]
                nc += 1
    return end, nc, nw
