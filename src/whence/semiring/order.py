"""The order in which a hypergraph is solved: what rests on nothing unsolved first, then cycles.

Arrays hold the graph, so that wide graphs are ordered by NumPy, a level at a time (Kahn 1962);
what is left over are cycles and what rests on them (components by Tarjan 1972).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence.semiring.hypergraph import Hypergraph, Ints

NARROW = 24
"""Up to so many nodes are taken one by one: array operations cost more than they save."""

_MANY = 16
"""Marks pay from one number in so many on."""

Flags = NDArray[np.bool_]

Check = Callable[[], None]
"""Called now and then; it raises when the work is to be stopped."""


@dataclass(frozen=True, slots=True)
class Lists:
    """For each number, a list of others: those of i are `items[start[i] : start[i + 1]]`."""

    start: Ints
    items: Ints

    def of(self, numbers: Ints) -> Ints:
        """Return the lists of these numbers, one after the other."""
        begin = self.start[numbers]
        sizes = self.start[numbers + 1] - begin
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if ends.shape[0] else 0
        return self.items[np.repeat(begin - ends + sizes, sizes) + np.arange(total)]

    def sizes(self, numbers: Ints) -> Ints:
        """Return how long the lists of these numbers are."""
        return self.start[numbers + 1] - self.start[numbers]


def lists_by(keys: Ints, items: Ints | None, count: int) -> Lists:
    """Return, for each key below `count`, the items that have it; without items, their places."""
    order = np.argsort(keys, kind="stable")
    start = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=start[1:])
    return Lists(start, order if items is None else items[order])


def distinct(numbers: Ints, below: int) -> Ints:
    """Return the numbers, each once, in order; for many of them marks are quicker than a search."""
    if numbers.shape[0] * _MANY < below:
        return np.unique(numbers)
    marks = np.zeros(below, dtype=np.bool_)
    marks[numbers] = True
    return np.flatnonzero(marks)


def counted(numbers: Ints, below: int) -> tuple[Ints, Ints]:
    """Return the numbers, each once, and how often each is there."""
    if numbers.shape[0] * _MANY < below:
        return np.unique(numbers, return_counts=True)
    times = np.bincount(numbers, minlength=below)
    found = np.flatnonzero(times)
    return found, times[found]


@dataclass(frozen=True, slots=True)
class Shape:
    """A hypergraph with the lists that walking it takes."""

    graph: Hypergraph
    deriving: Lists
    """The instances that derive each node."""
    reading: Lists
    """The instances that each node is a premise of, as often as it is."""

    def premises(self, instance: int) -> Ints:
        """Return the premises of one instance."""
        start = self.graph.start
        return self.graph.premises[start[instance] : start[instance + 1]]


def shape_of(graph: Hypergraph) -> Shape:
    """Return the graph with its lists."""
    instances = np.repeat(np.arange(graph.instances), np.diff(graph.start))
    return Shape(
        graph,
        lists_by(graph.heads, None, graph.nodes),
        lists_by(graph.premises, instances, graph.nodes),
    )


def restricted(graph: Hypergraph, instances: Flags) -> Hypergraph:
    """Return the graph with only these instances."""
    sizes = np.diff(graph.start)
    start = np.zeros(int(instances.sum()) + 1, dtype=np.int64)
    np.cumsum(sizes[instances], out=start[1:])
    premises = graph.premises[np.repeat(instances, sizes)]
    return Hypergraph(graph.nodes, graph.heads[instances], graph.rules[instances], start, premises)


def supported(shape: Shape, given: Flags) -> Flags:
    """Say which nodes can be derived from those that are given."""
    graph = shape.graph
    found = given.copy()
    waiting = np.diff(graph.start)
    found[graph.heads[waiting == 0]] = True
    frontier = np.flatnonzero(found)
    while frontier.shape[0]:
        ready = _ready(shape, frontier, waiting)
        heads = graph.heads[ready]
        heads = heads[~found[heads]]
        found[heads] = True
        frontier = distinct(heads, graph.nodes)
    return found


def _ready(shape: Shape, nodes: Ints, waiting: Ints) -> Ints:
    """Count the nodes off the premises waited for; return the instances that wait for none now."""
    if nodes.shape[0] <= NARROW:
        start, items = shape.reading.start, shape.reading.items
        found = []
        for node in nodes:
            for instance in items[start[node] : start[node + 1]]:
                waiting[instance] -= 1
                if waiting[instance] == 0:
                    found.append(instance)
        return np.array(found, dtype=np.int64)
    readers, times = counted(shape.reading.of(nodes), waiting.shape[0])
    waiting[readers] -= times
    ready: Ints = readers[waiting[readers] == 0]
    return ready


def levels(shape: Shape) -> Iterator[Ints]:
    """Yield the nodes that do not depend on a cycle, each after all that derives it."""
    graph = shape.graph
    waiting = np.diff(graph.start)
    pending = shape.deriving.sizes(np.arange(graph.nodes))
    ready = np.flatnonzero(waiting == 0)
    frontier = np.flatnonzero(pending == 0)
    frontier = np.concatenate([frontier, _done(graph, ready, pending)])
    while frontier.shape[0]:
        yield frontier
        frontier = _done(graph, _ready(shape, frontier, waiting), pending)


def _done(graph: Hypergraph, instances: Ints, pending: Ints) -> Ints:
    """Count the instances off those of their heads; return the heads that wait for none now."""
    heads = graph.heads[instances]
    if heads.shape[0] <= NARROW:
        found = []
        for head in heads:
            pending[head] -= 1
            if pending[head] == 0:
                found.append(head)
        return np.array(found, dtype=np.int64)
    derived, times = counted(heads, graph.nodes)
    pending[derived] -= times
    done: Ints = derived[pending[derived] == 0]
    return done


@dataclass(frozen=True, slots=True)
class Component:
    """Nodes that are solved together; `cyclic` when some of them is derived from itself."""

    nodes: tuple[int, ...]
    cyclic: bool


def components(shape: Shape, among: Ints) -> Iterator[Component]:
    """Yield the components of these nodes, each after those it is derived from."""
    edges, loops = _edges_among(shape.graph, among)
    start, sources = edges.start.tolist(), edges.items.tolist()
    names = among.tolist()
    count = len(names)
    index = [-1] * count
    low = [0] * count
    at = start[:-1]  # the next edge of each node to be followed
    closed = [False] * count
    path: list[int] = []
    opened = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        work = [root]
        while work:
            node = work[-1]
            if index[node] < 0:
                index[node] = low[node] = opened
                opened += 1
                path.append(node)
            while at[node] < start[node + 1]:
                source = sources[at[node]]
                if index[source] < 0:
                    work.append(source)
                    break
                if not closed[source] and low[source] < low[node]:
                    low[node] = low[source]
                at[node] += 1
            else:
                work.pop()
                if low[node] == index[node]:
                    found: list[int] = []
                    while not found or found[-1] != node:
                        found.append(path.pop())
                        closed[found[-1]] = True
                    yield Component(
                        tuple([names[n] for n in found]), len(found) > 1 or node in loops
                    )


def _edges_among(graph: Hypergraph, among: Ints) -> tuple[Lists, set[int]]:
    """Return, for the place of each node, the places of its premises among these nodes.

    Beside, the places of nodes that are derived from themselves by one instance.
    """
    places = np.full(graph.nodes, -1, dtype=np.int64)
    places[among] = np.arange(among.shape[0])
    heads = places[np.repeat(graph.heads, np.diff(graph.start))]
    premises = places[graph.premises]
    kept = (heads >= 0) & (premises >= 0)
    heads, premises = heads[kept], premises[kept]
    loops = set(heads[heads == premises].tolist())
    return lists_by(heads, premises, among.shape[0]), loops


def _sources(shape: Shape, node: int, inside: Flags) -> list[int]:
    """Return the premises of the instances that derive a node, as far as they are inside."""
    start, deriving = shape.deriving.start, shape.deriving.items
    instances = deriving[start[node] : start[node + 1]]
    begin, end = shape.graph.start[instances], shape.graph.start[instances + 1]
    if instances.shape[0] <= NARROW:
        premises = shape.graph.premises
        parts = [premises[a:b] for a, b in zip(begin, end, strict=True)]
        found = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    else:
        found = Lists(shape.graph.start, shape.graph.premises).of(instances)
    return list(dict.fromkeys(found[inside[found]].tolist()))


@dataclass(frozen=True, slots=True)
class Cycle:
    """Nodes each of which is derived from the next, and the last from the first."""

    nodes: tuple[int, ...]
    instances: tuple[int, ...]


def shortest_cycle(shape: Shape, component: Component) -> Cycle:
    """Return a shortest cycle through the first node of a cyclic component."""
    goal = min(component.nodes)
    inside = np.zeros(shape.graph.nodes, dtype=np.bool_)
    inside[list(component.nodes)] = True
    came: dict[int, int] = {}
    queue = deque([goal])
    last = -1
    while last < 0:
        node = queue.popleft()
        for source in _sources(shape, node, inside):
            if source == goal:
                last = node
                break
            if source not in came:
                came[source] = node
                queue.append(source)
    nodes = [last]
    while nodes[-1] != goal:
        nodes.append(came[nodes[-1]])
    nodes.reverse()
    following = [*nodes[1:], goal]
    instances = [_instance(shape, a, b) for a, b in zip(nodes, following, strict=True)]
    return Cycle(tuple(nodes), tuple(instances))


def _instance(shape: Shape, head: int, premise: int) -> int:
    """Return the first instance that derives a node from another."""
    start, deriving = shape.deriving.start, shape.deriving.items
    for instance in deriving[start[head] : start[head + 1]].tolist():
        if premise in shape.premises(instance):
            return int(instance)
    raise AssertionError("the node is not derived from the other")
