"""Searches kept current: after steps and seeds have changed, only what hung on them is redone.

Each search keeps the value of every state and its parent: the seed or the step that gave the
value. Parents form a forest, also where steps cost nothing, because a value is only replaced by a
better one. What hung below a parent that is gone is taken out, gets the best that the others
offer, and is searched from again (Ramalingam and Reps, 1996).
"""

from __future__ import annotations

from typing import Any

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import Flags, Ints, Rows, Small
from whence.engine.local.kernels.search import (
    DONE,
    NEAR,
    NOWHERE,
    SAMPLE,
    WAITS,
    better,
    combined,
)

NO_PARENT = 0
"""A step's number is a parent from 1 on, a seed's from -1 down."""

_FEW = 64
"""States that wait which are all followed at once."""

_OUT, _OLD, _NEW = range(1, 4)
"""A state that was taken out, one that had a value before, one that had none."""


@kernel
def link_steps(
    first: int, last: int, src: Small, dst: Small, out: Small, nout: Small, inn: Small, nin: Small
) -> None:
    """Enter steps at the front of the lists of the states that they leave and reach."""
    for e in range(first, last):
        nout[e] = out[src[e]]
        out[src[e]] = e
        nin[e] = inn[dst[e]]
        inn[dst[e]] = e


@kernel
def link_seeds(first: int, last: int, pivot: Small, head: Small, following: Small) -> None:
    """Enter seeds at the front of the lists of their searches."""
    for q in range(first, last):
        following[q] = head[pivot[q]]
        head[pivot[q]] = q


@kernel
def stirred(
    searches: int,
    value: Any,
    parent: Small,
    src: Small,
    dst: Small,
    weight: Any,
    gone: Ints,
    new: Ints,
    seeds_changed: Flags,
    way: int,
    greatest: bool,
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
            if not hit and parent[p, src[e]] != NO_PARENT:
                y = combined(way, value[p, src[e]], weight[e])
                hit = parent[p, dst[e]] == NO_PARENT or better(y, value[p, dst[e]], greatest)
        if hit:
            found[n] = p
            n += 1
    return n


@kernel
def repair(
    order: Ints,
    begin: int,
    end: int,
    value: Any,
    parent: Small,
    out: Small,
    nout: Small,
    inn: Small,
    nin: Small,
    src: Small,
    dst: Small,
    weight: Any,
    live: Flags,
    gone: Ints,
    new: Ints,
    seeds: Small,
    following: Small,
    seed_state: Small,
    seed_value: Any,
    seed_live: Flags,
    seeds_changed: Flags,
    way: int,
    greatest: bool,
    mark: Flags,
    flag: Flags,
    old: Any,
    touched: Small,
    near: Small,
    far: Small,
    sample: Any,
    pivots: Rows,
    pivot: Ints,
    states: Rows,
    state: Ints,
    column: int,
    came: Rows,
    came_value: Any,
    nc: int,
    went: Rows,
    went_value: Any,
    nw: int,
    work: Ints,
) -> tuple[int, int, int]:
    """Repair searches in this order; return where it stopped, and how many rows there are.

    `gone` and `new` are the steps that have changed; their lists and `live` know already. Rows
    that came and went are written, column by column, behind the `nc` and `nw` that are there.
    """
    ring = near.shape[0] - 1
    size = states.shape[0]
    room = min(came.shape[1], went.shape[1])
    for at in range(begin, end):
        if room - max(nc, nw) < size:
            return at, nc, nw
        p = order[at]
        nt = 0
        # What hung on a step or a seed that is gone, and all that hung on that.
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
        out_of = nt
        work[0] += nt
        for i in range(out_of):
            s = touched[i]
            old[s] = value[p, s]
            parent[p, s] = NO_PARENT
        # The best that the others offer.
        waiting = 0
        for i in range(out_of):
            s = touched[i]
            e = inn[s]
            while e >= 0:
                if live[e] and parent[p, src[e]] != NO_PARENT:
                    y = combined(way, value[p, src[e]], weight[e])
                    if parent[p, s] == NO_PARENT or better(y, value[p, s], greatest):
                        value[p, s] = y
                        parent[p, s] = e + 1
                e = nin[e]
            if parent[p, s] != NO_PARENT:
                flag[s] = WAITS
                far[waiting] = s
                waiting += 1
        if out_of > 0 or seeds_changed[p]:
            q = seeds[p]
            while q >= 0:
                s = seed_state[q]
                y = seed_value[q]
                if seed_live[q] and (parent[p, s] == NO_PARENT or better(y, value[p, s], greatest)):
                    if mark[s] == 0:
                        mark[s] = _NEW if parent[p, s] == NO_PARENT else _OLD
                        old[s] = value[p, s]
                        touched[nt] = s
                        nt += 1
                    value[p, s] = y
                    parent[p, s] = -(q + 1)
                    if flag[s] == NOWHERE:
                        flag[s] = WAITS
                        far[waiting] = s
                        waiting += 1
                q = following[q]
        for i in range(new.shape[0]):
            e = new[i]
            if parent[p, src[e]] == NO_PARENT:
                continue
            s = dst[e]
            y = combined(way, value[p, src[e]], weight[e])
            if parent[p, s] == NO_PARENT or better(y, value[p, s], greatest):
                if mark[s] == 0:
                    mark[s] = _NEW if parent[p, s] == NO_PARENT else _OLD
                    old[s] = value[p, s]
                    touched[nt] = s
                    nt += 1
                value[p, s] = y
                parent[p, s] = e + 1
                if flag[s] == NOWHERE:
                    flag[s] = WAITS
                    far[waiting] = s
                    waiting += 1
        # Best first from there, in buckets, as in `search`.
        head = 0
        tail = 0
        bound = value[p, far[0]] if waiting > 0 else value[p, 0]
        while waiting > 0:
            k = 0
            if waiting <= _FEW:
                # So few that following some twice costs less than choosing among them.
                for i in range(waiting):
                    s = far[i]
                    if flag[s] == WAITS and better(bound, value[p, s], greatest):
                        bound = value[p, s]
            for i in range(0, waiting if waiting > _FEW else 0, max(1, waiting // SAMPLE)):
                s = far[i]
                if flag[s] == WAITS and k < SAMPLE:
                    x = value[p, s]
                    j = k
                    while j > 0 and better(x, sample[j - 1], greatest):
                        sample[j] = sample[j - 1]
                        j -= 1
                    sample[j] = x
                    k += 1
            if k > 0:
                bound = sample[(3 * k) // 4]
            left = 0
            for i in range(waiting):
                s = far[i]
                if flag[s] == WAITS:
                    if better(bound, value[p, s], greatest):
                        far[left] = s
                        left += 1
                    else:
                        flag[s] = NEAR
                        near[tail & ring] = s
                        tail += 1
            waiting = left
            while head < tail:
                s = near[head & ring]
                head += 1
                flag[s] = DONE
                x = value[p, s]
                e = out[s]
                while e >= 0:
                    if live[e]:
                        t = dst[e]
                        y = combined(way, x, weight[e])
                        there = parent[p, t] != NO_PARENT
                        if not there or better(y, value[p, t], greatest):
                            if mark[t] == 0:
                                mark[t] = _OLD if there else _NEW
                                old[t] = value[p, t]
                                touched[nt] = t
                                nt += 1
                            value[p, t] = y
                            parent[p, t] = e + 1
                            f = flag[t]
                            if f != NEAR:
                                if better(bound, y, greatest):
                                    if f != WAITS:
                                        flag[t] = WAITS
                                        far[waiting] = t
                                        waiting += 1
                                else:
                                    flag[t] = NEAR
                                    near[tail & ring] = t
                                    tail += 1
                    e = nout[e]
        # What is different now.
        work[1] += nt
        for i in range(nt):
            s = touched[i]
            had = mark[s] != _NEW
            has = parent[p, s] != NO_PARENT
            mark[s] = 0
            flag[s] = NOWHERE
            if had and has and old[s] == value[p, s]:
                continue
            if had:
                for c in range(pivot.shape[0]):
                    went[pivot[c], nw] = pivots[p, c]
                for c in range(state.shape[0]):
                    went[state[c], nw] = states[s, c]
                went_value[column, nw] = old[s]
                nw += 1
            if has:
                for c in range(pivot.shape[0]):
                    came[pivot[c], nc] = pivots[p, c]
                for c in range(state.shape[0]):
                    came[state[c], nc] = states[s, c]
                came_value[column, nc] = value[p, s]
                nc += 1
    return end, nc, nw
