"""A graph is contracted: edges by source, an order, cycles, then inner nodes leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.lineage.reduce.compiled import inline, kernel
from whence.lineage.reduce.kernels.codes import (
    ACTIVITY,
    EMITTED,
    GROUP,
    HAS_SOURCE,
    INNER,
    KEPT,
    LIST,
    POSITION,
    ROOT,
    SENT,
    TERMINAL,
    WAS_USED,
)

Array = np.ndarray[Any, Any]


@kernel
def by_source(
    edge_source: Array,
    edge_target: Array,
    edges: int,
    offsets: Array,
    targets: Array,
    stamp: Array,
    incoming: Array,
) -> int:
    """Sort edges by source, each once, and count those that come into a node.

    Returns how many there are. `offsets` and `incoming` are zero, `stamp` is -1 at first.
    """
    nodes = len(incoming)
    for edge in range(edges):
        offsets[edge_source[edge] + 1] += 1
    for node in range(nodes):
        offsets[node + 1] += offsets[node]
    for edge in range(edges):
        source = edge_source[edge]
        targets[offsets[source]] = edge_target[edge]
        offsets[source] += 1
    kept = np.int64(0)
    begin = np.int64(0)
    for node in range(nodes):
        end = offsets[node]
        offsets[node] = kept
        for at in range(begin, end):
            target = targets[at]
            if stamp[target] != node:
                stamp[target] = node
                targets[kept] = target
                kept += 1
                incoming[target] += 1
        begin = end
    offsets[nodes] = kept
    return kept  # type: ignore[return-value]


@kernel
def find_ends(keys: Array, flags: Array, offsets: Array, incoming: Array, role: Array) -> None:
    """Say which nodes are inputs and outputs at the end of a stream; the others are inner."""
    for node in range(len(incoming)):
        role[node] = INNER
        into, out_of = incoming[node] > 0, offsets[node + 1] > offsets[node]
        if flags[node] & SENT:
            role[node] = TERMINAL
        elif keys[node] & ACTIVITY == 0:
            if into and not out_of and flags[node] & HAS_SOURCE == 0:
                role[node] = TERMINAL
            elif out_of and not into and flags[node] & WAS_USED == 0:
                role[node] = ROOT


@kernel
def dependents_first(
    offsets: Array, targets: Array, waiting: Array, role: Array, live: Array, order: Array
) -> int:
    """Order nodes so that each comes after all that depend on it (Kahn 1962).

    `waiting` are the incoming edges, `live` becomes those from nodes that something asks for.
    A node that is kept stands for itself, whatever depends on it, and waits for nothing.
    Returns how many nodes are in the order: not those on cycles, nor what these depend on.
    """
    count = 0
    for node in range(len(waiting)):
        if role[node] == KEPT:
            waiting[node] = 0
        if waiting[node] == 0:
            order[count] = node
            count += 1
    done = 0
    while done < count:
        node = order[done]
        done += 1
        alive = live[node] > 0 or role[node] == ROOT or role[node] == KEPT
        for at in range(offsets[node], offsets[node + 1]):
            target = targets[at]
            if alive:
                live[target] += 1
            if role[target] == KEPT:
                continue
            waiting[target] -= 1
            if waiting[target] == 0:
                order[count] = target
                count += 1
    return count


@kernel
def components(
    offsets: Array,
    targets: Array,
    waiting: Array,
    component: Array,
    low: Array,
    stack: Array,
    calls: Array,
    cursor: Array,
) -> int:
    """Give every node the first-numbered node of its cycle, or itself (Tarjan 1972).

    Only nodes that still wait may lie on cycles. `low` is -1 at first. Returns how many nodes
    lie on cycles.
    """
    nodes = len(waiting)
    counter, on_cycles = 0, 0
    depth, height = 0, 0
    for start in range(nodes):
        if waiting[start] == 0:
            component[start] = start
    for start in range(nodes):
        if waiting[start] == 0 or low[start] >= 0:
            continue
        calls[0] = start
        depth = 1
        low[start] = counter
        waiting[start] = counter + 1
        cursor[start] = offsets[start]
        counter += 1
        stack[height] = start
        height += 1
        component[start] = -2
        while depth > 0:
            node = calls[depth - 1]
            if cursor[node] < offsets[node + 1]:
                target = targets[cursor[node]]
                cursor[node] += 1
                if waiting[target] == 0:
                    continue
                if low[target] < 0:
                    low[target] = counter
                    waiting[target] = counter + 1
                    cursor[target] = offsets[target]
                    counter += 1
                    stack[height] = target
                    height += 1
                    component[target] = -2
                    calls[depth] = target
                    depth += 1
                elif component[target] == -2 and waiting[target] - 1 < low[node]:
                    low[node] = waiting[target] - 1
                continue
            depth -= 1
            if depth > 0 and low[node] < low[calls[depth - 1]]:
                low[calls[depth - 1]] = low[node]
            if low[node] == waiting[node] - 1:
                first, size = node, 0
                begin = height
                while True:
                    begin -= 1
                    size += 1
                    if stack[begin] < first:
                        first = stack[begin]
                    if stack[begin] == node:
                        break
                for at in range(begin, height):
                    component[stack[at]] = first
                height = begin
                if size > 1:
                    on_cycles += size
    return on_cycles


@inline
def _collect(
    node: Any,
    offsets: Array,
    targets: Array,
    role: Array,
    stands: Array,
    stamp: Array,
    mark: Any,
    stack: Array,
    out_target: Array,
    at: Any,
) -> Any:
    """Write down, each once, what a node depends on; return where the next may be written."""
    height = 1
    stack[0] = node
    while height > 0:
        height -= 1
        top = stack[height]
        for edge in range(offsets[top], offsets[top + 1]):
            found = stands[targets[edge]]
            if found < 0 or stamp[found] == mark:
                continue
            stamp[found] = mark
            if role[found] == LIST:
                stack[height] = found
                height += 1
            else:
                out_target[at] = found
                at += 1
    return at


@kernel
def contract(
    order: Array,
    offsets: Array,
    targets: Array,
    live: Array,
    role: Array,
    stands: Array,
    size: Array,
    stamp: Array,
    stack: Array,
    final: Array,
    out_source: Array,
    out_target: Array,
    state: Array,
) -> bool:
    """Take inner nodes out of the graph, dependencies first; False when there is no room.

    `stands[v]` is the node that stands for v where v is depended on: a terminal, a node that is
    kept, a group, or a list: an inner node whose targets are looked through. An inner node with
    n dependents and m dependencies becomes a group if n × m > n + m. A list is looked through
    by one node only, or is one of two by two, so all looking through takes linear time.
    `stamp` is -1 at first; each node marks with its own number. Kept nodes stand for themselves
    from the beginning.
    """
    count = len(order)
    for position in range(state[POSITION], count):
        node = order[count - 1 - position]
        what = role[node]
        if what == TERMINAL:
            stands[node] = node
            size[node] = 1
            continue
        if what == INNER and live[node] == 0:
            stands[node] = -1
            continue
        total, parts, only = np.int64(0), 0, np.int64(-1)
        for edge in range(offsets[node], offsets[node + 1]):
            found = np.int64(stands[targets[edge]])
            if found < 0:
                continue
            if found != only:
                parts += 1
                total += size[found] if role[found] == LIST else 1
            only = found
        if what == INNER:
            if parts == 0:
                stands[node] = -1
                continue
            if parts == 1 and (role[only] != LIST or live[node] == 1):
                stands[node] = only
                continue
            if live[node] == 1:
                stands[node] = node
                size[node] = total
                role[node] = LIST
                continue
        begin = state[EMITTED]
        if begin + total > len(out_source):
            state[POSITION] = position
            state[2] = total
            return False
        end = _collect(node, offsets, targets, role, stands, stamp, node, stack, out_target, begin)
        found = end - begin
        if what == INNER:
            if found == 1:
                stands[node] = out_target[begin]
                continue
            if live[node] * found <= live[node] + found:
                stands[node] = node
                size[node] = found
                role[node] = LIST
                continue
            role[node] = GROUP
        stands[node] = node
        size[node] = 1
        complete = True
        for at in range(begin, end):
            out_source[at] = node
            if not final[out_target[at]]:
                complete = False
        if (what == INNER) | (what == ROOT):
            final[node] = complete
        state[EMITTED] = end
    state[POSITION] = count
    return True
