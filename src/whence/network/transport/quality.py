"""How good links are: latency, bandwidth, loss and the like, for any pair of processors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from whence.network.topology.model import DEFAULT_LATENCY, Topology, distances, neighbours


@dataclass(frozen=True, slots=True)
class Quality:
    """What a link does to datagrams, in one direction."""

    latency: float = DEFAULT_LATENCY
    """Seconds."""
    bandwidth: float | None = None
    """Bits per second: how long a datagram takes to leave, while others wait behind it."""
    queue: int | None = None
    """Bytes that may wait to leave; what comes on top is lost."""
    jitter: float = 0.0
    """Seconds at most that a datagram takes longer, at random."""
    loss: float = 0.0
    duplicate: float = 0.0
    fifo: bool = True
    """Whether what takes longer also holds up what was sent later."""

    @property
    def random(self) -> bool:
        """Whether chance has a part in it."""
        return bool(self.jitter or self.loss or self.duplicate)


Qualities: TypeAlias = Callable[[str, str], Quality]


def uniform(quality: Quality | None = None) -> Qualities:
    """Let all pairs have links of one quality."""
    same = quality or Quality()
    return lambda source, target: same


def of_topology(topology: Topology, like: Quality | None = None) -> Qualities:
    """Let links have their latencies and bandwidths; other pairs that of the shortest path.

    `like` says everything else. Pairs that no path connects have the quality of `like`.
    """
    like = like or Quality()
    direct = {
        (arc.source, arc.target): replace(like, latency=arc.latency, bandwidth=arc.bandwidth)
        for arc in topology.arcs()
    }
    around = neighbours(topology)
    far: dict[str, dict[str, float]] = {}

    def quality(source: str, target: str) -> Quality:
        found = direct.get((source, target))
        if found is not None:
            return found
        if source not in around:
            return like
        if source not in far:
            far[source] = distances(around, source)
        return replace(like, latency=far[source].get(target, like.latency))

    return quality
