"""Best-first search in a graph of weighted steps, one search after the other.

Values are settled in buckets: what is better than a bound is followed at once, also when it
improves again inside the bucket; the rest waits until the next bound is drawn from it.
"""

from __future__ import annotations

from typing import Any

from whence.engine.local.compile import inline, kernel
from whence.engine.local.kernels.hashing import Flags, Ints, Rows, Small
from whence.plan.nodes import Combine

SUM, PRODUCT, LEAST, GREATEST, BOUNDED = range(5)
WAYS = {
    Combine.SUM: SUM,
    Combine.PRODUCT: PRODUCT,
    Combine.LEAST: LEAST,
    Combine.GREATEST: GREATEST,
    Combine.BOUNDED: BOUNDED,
}
NOWHERE, WAITS, NEAR, DONE = range(4)
"""Whether a state has been reached, and where it is kept until it is followed."""

SAMPLE = 16
"""How many of those that wait are looked at when a bound is drawn."""


@inline
def combined(way: int, value: Any, weight: Any) -> Any:
    if way == SUM:
        return value + weight
    if way == PRODUCT:
        return value * weight
    if way == LEAST:
        return min(value, weight)
    if way == GREATEST:
        return max(value, weight)
    return max(type(value)(0), value + weight - 1)


@inline
def better(a: Any, b: Any, greatest: bool) -> bool:
    if greatest:
        return bool(a > b)
    return bool(a < b)


@kernel
def sort_steps(sources: Ints, n: int, start: Ints, order: Small) -> None:
    """Order steps by the state they leave; `start` has one more place than there are states."""
    for i in range(n):
        start[sources[i] + 1] += 1
    for s in range(start.shape[0] - 1):
        start[s + 1] += start[s]
    for i in range(n):
        s = sources[i]
        order[start[s]] = i
        start[s] += 1
    for s in range(start.shape[0] - 1, 0, -1):
        start[s] = start[s - 1]
    start[0] = 0


@kernel
def search(
    begin: int,
    end: int,
    seed_start: Ints,
    seed_rows: Small,
    seed_state: Ints,
    seed_value: Any,
    start: Ints,
    target: Small,
    weight: Any,
    way: int,
    greatest: bool,
    value: Any,
    flag: Flags,
    touched: Small,
    near: Small,
    far: Small,
    sample: Any,
    most: int,
    pivot: Ints,
    state: Ints,
    value_column: int,
    rows: Rows,
    states: Rows,
    out: Rows,
    out_value: Any,
    work: Ints,
) -> tuple[int, int]:
    """Search from the seeds of each group and write what was reached; return where it stopped.

    `near` is a ring with a power of two of places, more than there are states. A search that
    makes more than `most` steps ends everything: some way round may be better each time.
    """
    ring = near.shape[0] - 1
    room = out.shape[0]
    m = 0
    for g in range(begin, end):
        if room - m < value.shape[0]:
            return g, m
        reached = 0
        waiting = 0
        head = 0
        tail = 0
        steps = 0
        bound = seed_value[seed_rows[seed_start[g]]]
        for i in range(seed_start[g], seed_start[g + 1]):
            r = seed_rows[i]
            s = seed_state[r]
            if flag[s] == NOWHERE:
                flag[s] = WAITS
                touched[reached] = s
                reached += 1
                far[waiting] = s
                waiting += 1
                value[s] = seed_value[r]
            elif better(seed_value[r], value[s], greatest):
                value[s] = seed_value[r]
        while waiting > 0:
            # The next bound: a quantile of what waits, from a sample of it.
            k = 0
            for i in range(0, waiting, max(1, waiting // SAMPLE)):
                s = far[i]
                if flag[s] == WAITS and k < SAMPLE:
                    x = value[s]
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
                    if better(bound, value[s], greatest):
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
                x = value[s]
                first = start[s]
                last = start[s + 1]
                steps += last - first
                for e in range(first, last):
                    t = target[e]
                    y = combined(way, x, weight[e])
                    f = flag[t]
                    if f == NOWHERE:
                        touched[reached] = t
                        reached += 1
                    elif not better(y, value[t], greatest):
                        continue
                    value[t] = y
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
                if steps > most:
                    return -1, m
        work[0] += steps
        example = seed_rows[seed_start[g]]
        for i in range(reached):
            s = touched[i]
            flag[s] = NOWHERE
            for c in range(pivot.shape[0]):
                out[m, pivot[c]] = rows[example, pivot[c]]
            for c in range(state.shape[0]):
                out[m, state[c]] = states[s, c]
            out_value[m, value_column] = value[s]
            m += 1
    return end, m
