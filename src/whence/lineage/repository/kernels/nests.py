"""What is reached through nested groups, and how many inputs they have, in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.lineage.repository.compiled import kernel

Array = np.ndarray[Any, Any]


@kernel
def spread(
    offsets: Array, others: Array, passes: Array, marked: Array, stack: Array, height: int
) -> None:
    """Mark what is reached from the nodes on the stack, through nodes that pass it on."""
    while height > 0:
        height -= 1
        node = stack[height]
        for at in range(offsets[node], offsets[node + 1]):
            other = others[at]
            if not marked[other]:
                marked[other] = True
                if passes[other]:
                    stack[height] = other
                    height += 1


@kernel
def add_up(offsets: Array, others: Array, waiting: Array, totals: Array, stack: Array) -> None:
    """Add the total of each node to its neighbours', once it waits for nothing (Kahn 1962)."""
    height = 0
    for node in range(len(waiting)):
        if waiting[node] == 0:
            stack[height] = node
            height += 1
    while height > 0:
        height -= 1
        node = stack[height]
        for at in range(offsets[node], offsets[node + 1]):
            other = others[at]
            totals[other] += totals[node]
            waiting[other] -= 1
            if waiting[other] == 0:
                stack[height] = other
                height += 1
