"""What transports count: messages and bytes, by node, by link and over time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """What has passed through a transport, or a part of it."""

    sent: int = 0
    sent_bytes: int = 0
    delivered: int = 0
    delivered_bytes: int = 0
    dropped: int = 0

    def as_json(self) -> dict[str, int]:
        """Return the counters by their names."""
        return {
            "sent": self.sent,
            "sent_bytes": self.sent_bytes,
            "delivered": self.delivered,
            "delivered_bytes": self.delivered_bytes,
            "dropped": self.dropped,
        }


@dataclass(slots=True)
class Traffic:
    """Bytes sent by each node in each stretch of time."""

    bucket: float = 1.0
    """Seconds of a stretch."""
    sent: dict[str, dict[int, int]] = field(default_factory=dict)

    def of(self, node: str) -> dict[int, int]:
        """Return the bytes that a node has sent, by number of stretch; whoever sends adds there."""
        return self.sent.setdefault(node, defaultdict(int))

    def series(self, until: float | None = None) -> list[int]:
        """Return the bytes that all nodes have sent, stretch by stretch."""
        last = max((max(row, default=-1) for row in self.sent.values()), default=-1)
        if until is not None:
            last = max(last, int(until / self.bucket))
        found = [0] * (last + 1)
        for row in self.sent.values():
            for stretch, count in row.items():
                found[stretch] += count
        return found

    def rate(self, nodes: int, until: float | None = None) -> list[float]:
        """Return KB/s (1,000 bytes) per node, stretch by stretch."""
        share = max(nodes, 1) * self.bucket * 1000
        return [count / share for count in self.series(until)]

    def total(self) -> int:
        """Return all bytes sent."""
        return sum(sum(row.values()) for row in self.sent.values())
