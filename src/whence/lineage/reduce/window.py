"""Algorithm 1 with a sliding window of past elements instead of groups (the paper's section IV-C).

Both the state and the window are looked at when an edge arrives. What has left the window and
was removed from the state is lost to edges that come later.
"""

from __future__ import annotations

from collections import deque

import pyarrow as pa

from whence.lineage.reduce.grouping import Grouping
from whence.lineage.reduce.numbered import Pair


class Window(Grouping):
    """Keeps the most reduced set of edges, and the last elements as they came."""

    def __init__(self, size: int, *, attempts: bool = False) -> None:
        super().__init__(attempts=attempts)
        self.size = size
        self.past: deque[Pair] = deque()
        self._past_by_source: dict[int, dict[int, int]] = {}
        self._past_by_destination: dict[int, dict[int, int]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of `EDGES`, edge by edge."""
        self.counts.rows += batch.num_rows
        for edge in self.numbered.pairs(batch)[0]:
            self.add_group([edge])
            self._remember(edge)

    def add_group(self, group: list[Pair]) -> None:
        """Take in edges, and what they give with the state and the window."""
        gone: list[Pair] = []
        seen = set(group)
        while group:
            joined: list[Pair] = []
            for source, destination in group:
                above = self.by_destination.get(source, {})
                past = self._past_by_destination.get(source, {})
                if above or past:
                    joined += [(one, destination) for one in (*above, *past)]
                    gone += [(one, source) for one in above]
                    continue
                below = self.by_source.get(destination, {})
                past = self._past_by_source.get(destination, {})
                if below or past:
                    joined += [(source, one) for one in (*below, *past)]
                    gone += [(destination, one) for one in below]
                else:
                    self._insert(source, destination)
            group = [p for p in dict.fromkeys(joined) if p[0] != p[1] and p not in seen]
            seen.update(group)
        for source, destination in gone:
            self._delete(source, destination)

    def _remember(self, edge: Pair) -> None:
        self.past.append(edge)
        _count(self._past_by_source, edge[0], edge[1], 1)
        _count(self._past_by_destination, edge[1], edge[0], 1)
        if len(self.past) > self.size:
            source, destination = self.past.popleft()
            _count(self._past_by_source, source, destination, -1)
            _count(self._past_by_destination, destination, source, -1)


def _count(table: dict[int, dict[int, int]], one: int, other: int, change: int) -> None:
    found = table.setdefault(one, {})
    found[other] = found.get(other, 0) + change
    if not found[other]:
        del found[other]
        if not found:
            del table[one]
