"""What a topology is: nodes by name and links between them, and the distances that follow.

Latencies are seconds and bandwidths bits per second. Costs are what programs see.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

DEFAULT_LATENCY: Final = 0.010
"""Of links about which nothing is known."""

Cost: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Link:
    """A link; it leads both ways unless its topology is directed."""

    source: str
    target: str
    cost: Cost = 1
    latency: float = DEFAULT_LATENCY
    bandwidth: float | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and links, each pair at most once (once for each direction if directed)."""

    name: str
    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    directed: bool = False
    positions: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """Metres, one pair for each node, where nodes are somewhere."""

    def arcs(self) -> Iterator[Link]:
        """Yield each link once for each direction in which it leads."""
        for link in self.links:
            yield link
            if not self.directed:
                yield replace(link, source=link.target, target=link.source)


Weight: TypeAlias = Callable[[Link], float]


def hops(link: Link) -> float:
    """The weight that counts links."""
    return 1.0


def latency(link: Link) -> float:
    """The weight that counts seconds."""
    return link.latency


def neighbours(topology: Topology) -> dict[str, list[Link]]:
    """Return the arcs that leave each node."""
    found: dict[str, list[Link]] = {node: [] for node in topology.nodes}
    for arc in topology.arcs():
        found[arc.source].append(arc)
    return found


def distances(
    around: dict[str, list[Link]], source: str, weight: Weight = latency
) -> dict[str, float]:
    """Return how far each node is that can be reached from one (Dijkstra 1959)."""
    found: dict[str, float] = {}
    queue: list[tuple[float, str]] = [(0.0, source)]
    while queue:
        far, node = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = far
        for arc in around[node]:
            if arc.target not in found:
                heapq.heappush(queue, (far + weight(arc), arc.target))
    return found


def diameter(topology: Topology, weight: Weight = latency) -> float:
    """Return the longest of all shortest paths; infinite where a pair has none."""
    around = neighbours(topology)
    longest = 0.0
    for node in topology.nodes:
        found = distances(around, node, weight)
        if len(found) < len(topology.nodes):
            return float("inf")
        longest = max(longest, max(found.values()))
    return longest


def components(nodes: Sequence[str], links: Iterable[Link]) -> list[list[str]]:
    """Return the connected components, directions aside, in the order of their first nodes."""
    parent = {node: node for node in nodes}

    def find(node: str) -> str:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for link in links:
        parent[find(link.source)] = find(link.target)
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(find(node), []).append(node)
    return list(found.values())


def is_connected(topology: Topology) -> bool:
    """Say whether links, directions aside, lead from any node to any other."""
    return len(components(topology.nodes, topology.links)) <= 1


def largest_component(topology: Topology) -> Topology:
    """Return the largest connected part, with the order of nodes and links kept."""
    parts = components(topology.nodes, topology.links)
    if len(parts) <= 1:
        return topology
    most = max(parts, key=len)
    kept = set(most)
    places: dict[str, tuple[float, float]] = dict(
        zip(topology.nodes, topology.positions, strict=False)
    )
    return replace(
        topology,
        nodes=tuple(node for node in topology.nodes if node in kept),
        links=tuple(link for link in topology.links if link.source in kept),
        positions=tuple(place for node, place in places.items() if node in kept),
    )


def names(count: int, prefix: str = "n") -> tuple[str, ...]:
    """Return the names of so many nodes.

    >>> names(3)
    ('n0', 'n1', 'n2')
    """
    return tuple(f"{prefix}{i}" for i in range(count))


def spanning_tree(nodes: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Return the pairs of a random tree: each node joins one that is in it already."""
    order = list(nodes)
    rng.shuffle(order)
    return [(order[rng.randrange(i)], order[i]) for i in range(1, len(order))]
