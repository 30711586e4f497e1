"""What a reducer may let go before the stream ends, and what it passes on.

An execution is complete when its end marker is older than the watermark; a space is complete
when it is closed. Complete nodes between others leave by contraction. A complete output that
depends on complete inputs only is final, and so is a group: they leave as links.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa

from whence.lineage.events import TIME, Kind, make_batch
from whence.lineage.reduce import kernels as k
from whence.lineage.reduce.contract import Sorted, contracted
from whence.lineage.reduce.graph import NEVER, Graph, attempts_of
from whence.lineage.reduce.links import links

Array = np.ndarray[Any, Any]


def forget(graph: Graph, delay: int | None, declared: Collection[str]) -> list[pa.RecordBatch]:
    """Let go what is complete, and return the links that are final.

    Entities of the spaces `declared` stay to the end.
    """
    _drop_hopeless(graph)
    edges = Sorted(graph)
    role, final = _roles(graph, edges, delay, declared)
    _note_gone(graph, edges, role)
    source, target = contracted(graph, edges, role, final)
    leaving = final[source] & (role[source] != k.TERMINAL)
    ready: list[pa.RecordBatch] = []
    if leaving.any():
        ready.append(links(graph, role, None, source[leaving], target[leaving]))
        source, target = source[~leaving], target[~leaving]
    nodes = len(role)
    graph.flags[:nodes][(role == k.GROUP) & final] |= k.SENT
    open_ = role == k.KEPT
    stays = open_ & ((graph.flags[:nodes] != 0) | ((graph.keys[:nodes] & k.ACTIVITY) > 0))
    stays[source] = True
    stays[target] = True
    graph.replace(np.flatnonzero(stays), source, target)
    return ready


def _drop_hopeless(graph: Graph) -> None:
    """Leave out attempts that did not end although their function is closed."""
    if not graph.attempts:
        return
    nodes, edges = graph.nodes, graph.edges
    hopeless = _activity(graph) & ((graph.flags[:nodes] & k.ENDED) == 0) & _closed(graph)
    if hopeless.any():
        source, target = graph.edge_source[:edges], graph.edge_target[:edges]
        stays = ~(hopeless[source] | hopeless[target])
        count = int(stays.sum())
        graph.edge_source[:count], graph.edge_target[:count] = source[stays], target[stays]
        graph.state[k.EDGES] = count


def _activity(graph: Graph) -> Array:
    found: Array = (graph.keys[: graph.nodes] & k.ACTIVITY) > 0
    return found


def _closed(graph: Graph) -> Array:
    found: Array = graph.closed[0][graph.space_of(slice(graph.nodes))]
    return found


def _ended(graph: Graph, delay: int | None) -> Array:
    """Return which activities are complete by their end marker."""
    nodes = graph.nodes
    ended: Array = (graph.flags[:nodes] & k.ENDED) > 0
    if delay is None or graph.clock == NEVER:
        return np.zeros(nodes, np.bool_)
    return ended & (graph.ends[:nodes] <= graph.clock - delay)


def _roles(
    graph: Graph, edges: Sorted, delay: int | None, declared: Collection[str]
) -> tuple[Array, Array]:
    nodes = edges.nodes
    flags, activity, closed = graph.flags[:nodes], _activity(graph), _closed(graph)
    role = np.full(nodes, k.KEPT, np.uint8)
    role[activity & (closed | _ended(graph, delay))] = k.INNER
    # Whether an attempt that has not ended counts is not known yet.
    doubtful = activity & ((flags & k.ENDED) == 0) if graph.attempts else np.zeros(nodes, np.bool_)
    doubtful &= role == k.KEPT
    sources, targets = edges.sources(), edges.targets[: edges.edges]
    used, sourced = (flags & k.WAS_USED) > 0, (flags & k.HAS_SOURCE) > 0
    used[targets[~doubtful[sources]]] = True
    sourced[sources[~doubtful[targets]]] = True
    perhaps_used, perhaps_sourced = edges.incoming > 0, edges.outgoing > 0
    complete = ~activity & closed & ~graph.spaces_in(declared)[graph.space_of(slice(nodes))]
    complete &= (used | ~perhaps_used) & (sourced | ~perhaps_sourced)
    role[complete & used & sourced] = k.INNER
    role[complete & ~used & sourced] = k.ROOT
    role[(complete & ~sourced) | ((flags & k.SENT) > 0)] = k.TERMINAL
    final = role == k.TERMINAL
    return role, final


def _note_gone(graph: Graph, edges: Sorted, role: Array) -> None:
    """Remember of the nodes that stay that something used or made them."""
    sources, targets = edges.sources(), edges.targets[: edges.edges]
    graph.flags[targets[role[sources] == k.INNER]] |= k.WAS_USED
    graph.flags[sources[role[targets] == k.INNER]] |= k.HAS_SOURCE


def everything(graph: Graph) -> pa.RecordBatch:
    """Return the whole graph as `EDGES`, with end markers and their times."""
    nodes, count = graph.nodes, graph.edges
    activity = _activity(graph)
    ended = (graph.flags[:nodes] & k.ENDED) > 0
    source, target = graph.edge_source[:count], graph.edge_target[:count]
    return _edges(graph, activity, ended, source, target, every=True)


def pass_on(graph: Graph, delay: int | None, *, over: bool, keep: bool = True) -> pa.RecordBatch:
    """Return what is complete of a partition as fewer `EDGES`, and keep the rest.

    Executions are never split between partitions, so a complete one is contracted here: into
    derivations, or, where that would be more, it is passed on as it is. With `over` everything
    is complete. Without `keep` what is open is passed on, too, as it is.
    """
    nodes = graph.nodes
    activity = _activity(graph)
    ended = (graph.flags[:nodes] & k.ENDED) > 0
    complete = ended.copy() if graph.attempts else activity.copy()
    if not over:
        complete = _ended(graph, delay)
    if over and graph.attempts:
        count = k.drop_uncommitted(
            graph.edge_source, graph.edge_target, graph.edges, graph.keys, graph.flags
        )
        graph.state[k.EDGES] = count
    edges = Sorted(graph)
    role = np.full(nodes, k.KEPT, np.uint8)
    # One that used or made nothing says of entities that something made or used them.
    role[activity & complete & (edges.incoming > 0) & (edges.outgoing > 0)] = k.INNER
    source, target = contracted(graph, edges, role, np.zeros(nodes, np.bool_))
    open_ = activity & ~complete & (keep and not over)
    stays = open_[source] | open_[target]
    batch = _edges(graph, activity, ended, source[~stays], target[~stays], every=not keep)
    kept = open_.copy()
    kept[source[stays]] = True
    kept[target[stays]] = True
    graph.replace(np.flatnonzero(kept), source[stays], target[stays])
    return batch


def _edges(
    graph: Graph,
    activity: Array,
    ended: Array,
    source: Array,
    target: Array,
    *,
    every: bool = False,
) -> pa.RecordBatch:
    """Return edges between entities and activities, with end markers for the latter.

    With `every`, end markers of activities without edges are there, too.
    """
    from_activity, to_activity = activity[source], activity[target]
    kind = np.full(len(source), Kind.DERIVED, np.uint8)
    kind[from_activity], kind[to_activity] = Kind.USED, Kind.GENERATED
    mentioned = np.full(len(activity), every)
    mentioned[source[from_activity]] = True
    mentioned[target[to_activity]] = True
    marked = np.flatnonzero(mentioned & ended).astype(np.int32)
    kind = np.concatenate([kind, np.full(len(marked), Kind.END, np.uint8)])
    source = np.concatenate([source, marked])
    whose = np.concatenate([np.where(from_activity, source[: len(target)], target), marked])
    attempt = np.where(kind == Kind.DERIVED, 0, attempts_of(graph.keys[whose]))
    spaces = pa.array(graph.spaces, pa.utf8())
    without = np.concatenate([np.zeros(len(target), np.bool_), np.ones(len(marked), np.bool_)])
    target = np.concatenate([target, marked])
    return make_batch(
        kind=pa.array(kind),
        source_space=_coded(graph, source, spaces, None),
        source=pa.array(graph.numbers[source]),
        target_space=_coded(graph, target, spaces, without),
        target=pa.array(graph.numbers[target], mask=without),
        attempt=pa.array(attempt.astype(np.int32)),
        time=_end_times(graph, marked, len(target)),
    )


def _end_times(graph: Graph, marked: Array, rows: int) -> pa.Array | None:
    """Return when activities ended, for the last rows; other rows have no time."""
    if not graph.timed:
        return None
    times = np.zeros(rows, np.int64)
    times[rows - len(marked) :] = graph.ends[marked]
    without = np.arange(rows) < rows - len(marked)
    return pa.array(times, mask=without).cast(TIME)


def _coded(
    graph: Graph, nodes: Array, spaces: pa.Array, without: Array | None
) -> pa.DictionaryArray:
    codes = pa.array(graph.space_of(nodes).astype(np.int32), mask=without)
    return pa.DictionaryArray.from_arrays(codes, spaces)
