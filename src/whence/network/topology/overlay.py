"""Overlays: nodes that sit somewhere in another topology and have chosen their neighbours."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Final

from whence.network.topology.model import (
    Link,
    Topology,
    components,
    distances,
    names,
    neighbours,
)

NEAREST: Final = 0.001
"""Latency between two overlay nodes at one place."""


def overlay(under: Topology, nodes: int, each: int = 4, seed: int = 0) -> Topology:
    """Return nodes at random stub nodes that have picked `each` random neighbours.

    A link has the latency of the shortest path below it, its milliseconds as cost, and leads both
    ways whoever picked it. Parts that found no link with each other get one.
    """
    rng = random.Random(f"overlay {seed}")
    called = names(nodes)
    # Transit nodes (`t…`) host nobody, where there are others.
    hosts = [node for node in under.nodes if not node.startswith("t")] or list(under.nodes)
    seats = [seat for _ in range(-(-nodes // len(hosts))) for seat in rng.sample(hosts, len(hosts))]
    seat = dict(zip(called, seats, strict=False))
    around = neighbours(under)
    far: dict[str, dict[str, float]] = {}

    def link(a: str, b: str) -> Link:
        if seat[a] not in far:
            far[seat[a]] = distances(around, seat[a])
        delay = max(far[seat[a]][seat[b]], NEAREST)
        return Link(a, b, max(1, round(delay * 1000)), delay, bandwidth)

    bandwidth = min((x.bandwidth for x in under.links if x.bandwidth is not None), default=None)
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for node in called:
        others = [other for other in rng.sample(called, min(each + 1, nodes)) if other != node]
        for other in others[:each]:
            pairs.setdefault(frozenset((node, other)), (node, other))
    links = [link(a, b) for a, b in pairs.values()]
    parts = components(called, links)
    links += (link(rng.choice(a), rng.choice(b)) for a, b in pairwise(parts))
    return Topology("overlay", called, tuple(links))
