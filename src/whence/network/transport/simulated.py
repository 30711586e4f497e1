"""Simulated links: latency, bandwidth and queues, failures, and chance where asked for.

Without chance links are reliable and in order. Same seed, same bytes: what happens on a link
follows from the seed and what is sent on it, whatever other links do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from typing import Final

from whence.network.model import Clock, Receive
from whence.network.transport.base import Counters, Traffic
from whence.network.transport.quality import Qualities, Quality, uniform

HERE: Final = Quality(latency=0.0)
"""How a processor reaches itself: not over the network."""


class SimulatedLink:
    """One direction between two processors: its quality, its state and what it has carried."""

    __slots__ = (
        "arrived",
        "bucket",
        "counters",
        "free",
        "quality",
        "rng",
        "source",
        "target",
        "up",
    )

    def __init__(
        self, source: str, target: str, quality: Quality, seed: int, bucket: dict[int, int]
    ) -> None:
        self.source = source
        self.target = target
        self.quality = quality
        self.rng = random.Random(f"{seed} {source} {target}") if quality.random else None
        self.free = 0.0  # when the last datagram will have left
        self.arrived = 0.0  # when the last one will arrive
        self.up = True
        self.counters = Counters()
        self.bucket = bucket


class SimulatedTransport:
    """Carries bytes over simulated links; a processor's messages to itself are no traffic."""

    def __init__(
        self,
        clock: Clock,
        qualities: Qualities | None = None,
        *,
        seed: int = 0,
        overhead: int = 0,
        bucket: float = 1.0,
    ) -> None:
        """Take a clock; `overhead` is counted for each datagram on top of its bytes."""
        self.clock = clock
        self.counters = Counters()
        self.traffic = Traffic(bucket)
        self.in_flight = 0
        self._qualities = qualities or uniform()
        self._seed = seed
        self._overhead = overhead
        self._links: dict[tuple[str, str], SimulatedLink] = {}
        self._receivers: dict[str, Receive] = {}
        self._failed: set[str] = set()
        self._sides: dict[str, int] = {}
        self._closed = False

    def attach(self, address: str, receive: Receive) -> None:
        """Deliver to `receive` what is sent to this processor."""
        self._receivers[address] = receive

    def detach(self, address: str) -> None:
        """Deliver nothing to this processor any more; what is under way to it is lost."""
        self._receivers.pop(address, None)

    def close(self) -> None:
        """Carry nothing any more."""
        self._closed = True
        self._receivers.clear()

    def link(self, source: str, target: str) -> SimulatedLink:
        """Return one direction between two processors."""
        found = self._links.get((source, target))
        if found is None:
            quality = HERE if source == target else self._qualities(source, target)
            found = SimulatedLink(source, target, quality, self._seed, self.traffic.of(source))
            self._links[source, target] = found
        return found

    def links(self) -> Iterable[SimulatedLink]:
        """Return the links over which something was sent."""
        return self._links.values()

    def send(self, source: str, target: str, payload: bytes) -> None:
        """Send bytes; they arrive after the latency of the link and what waits before them."""
        link = self._links.get((source, target)) or self.link(source, target)
        now = self.clock.now()
        if source == target:
            self._fly(link, now, payload)
            return
        size = len(payload) + self._overhead
        link.counters.sent += 1
        link.counters.sent_bytes += size
        self.counters.sent += 1
        self.counters.sent_bytes += size
        link.bucket[int(now / self.traffic.bucket)] += size
        quality = link.quality
        left = now
        if quality.bandwidth is not None:
            start = max(now, link.free)
            if quality.queue is not None and (start - now) * quality.bandwidth / 8 > quality.queue:
                self._drop(link)
                return
            left = link.free = start + size * 8 / quality.bandwidth
        if link.rng is None:
            self._fly(link, left + quality.latency, payload)
            return
        if link.rng.random() < quality.loss:
            self._drop(link)
            return
        for _ in range(1 + (link.rng.random() < quality.duplicate)):
            self._fly(link, left + quality.latency + link.rng.random() * quality.jitter, payload)

    def _fly(self, link: SimulatedLink, at: float, payload: bytes) -> None:
        if link.quality.fifo:
            at = link.arrived = max(at, link.arrived)
        self.in_flight += 1
        self.clock.call_at(at, partial(self._land, link, payload))

    def _land(self, link: SimulatedLink, payload: bytes) -> None:
        self.in_flight -= 1
        receive = self._receivers.get(link.target)
        if receive is None or not self._passes(link):
            self._drop(link)
            return
        if link.source != link.target:
            size = len(payload) + self._overhead
            link.counters.delivered += 1
            link.counters.delivered_bytes += size
            self.counters.delivered += 1
            self.counters.delivered_bytes += size
        receive(link.source, payload)

    def _passes(self, link: SimulatedLink) -> bool:
        if not link.up:
            return False
        if self._failed and not self._failed.isdisjoint((link.source, link.target)):
            return False
        sides = self._sides
        return not sides or sides.get(link.source, 0) == sides.get(link.target, 0)

    def _drop(self, link: SimulatedLink) -> None:
        link.counters.dropped += 1
        self.counters.dropped += 1

    def fail_link(self, a: str, b: str) -> None:
        """Let nothing arrive between two processors, in either direction."""
        self.link(a, b).up = self.link(b, a).up = False

    def restore_link(self, a: str, b: str) -> None:
        """Let messages arrive again between two processors."""
        self.link(a, b).up = self.link(b, a).up = True

    def fail_node(self, node: str) -> None:
        """Let nothing arrive at a processor, nor what it has sent elsewhere."""
        self._failed.add(node)

    def restore_node(self, node: str) -> None:
        """Let a processor be heard and hear again."""
        self._failed.discard(node)

    def partition(self, *groups: Iterable[str]) -> None:
        """Let messages arrive within a group only; whoever is in none is in a group of the rest."""
        self._sides = {node: side for side, group in enumerate(groups, 1) for node in group}

    def heal(self) -> None:
        """End a partition."""
        self._sides = {}

    def change(self, a: str, b: str, quality: Quality) -> None:
        """Give the links between two processors another quality, from now on."""
        for link in (self.link(a, b), self.link(b, a)):
            link.quality = quality
            if quality.random and link.rng is None:
                link.rng = random.Random(f"{self._seed} {link.source} {link.target}")
