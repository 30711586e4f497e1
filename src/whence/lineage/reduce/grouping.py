"""Algorithm 1 of Suriarachchi, Withana and Plale (2018), with edges of a group taken together.

A vertex is removed as soon as edges into it and out of it have met. The result is exact where
groups are whole and every entity is used once; otherwise dependencies may be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from whence.diagnostics import Diagnostic
from whence.lineage.events import NO_GROUP
from whence.lineage.reduce.counts import Counts
from whence.lineage.reduce.numbered import Numbered, Pair


class Grouping:
    """Keeps the most reduced set of edges, by source and by destination."""

    def __init__(self, *, attempts: bool = False) -> None:
        self.numbered = Numbered(attempts)
        self.by_source: dict[int, dict[int, None]] = {}
        self.by_destination: dict[int, dict[int, None]] = {}
        self.counts = Counts()
        self.diagnostics: list[Diagnostic] = []
        self._pending: list[Pair] = []
        self._pending_group = NO_GROUP

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of `EDGES`, group by group."""
        self.counts.rows += batch.num_rows
        pairs, groups = self.numbered.pairs(batch)
        if not pairs:
            return
        borders = np.flatnonzero((np.diff(groups) != 0) | (groups[1:] == NO_GROUP)) + 1
        if groups[0] != self._pending_group or groups[0] == NO_GROUP:
            self.settle()
        starts = [0, *borders.tolist(), len(pairs)]
        for begin, end in pairwise(starts):
            if begin:
                self.settle()
            self._pending += pairs[begin:end]
        # The rest of the last group may be in the next batch.
        self._pending_group = int(groups[-1])

    def settle(self) -> None:
        """Take in the group that may still have gone on."""
        if self._pending:
            group, self._pending = self._pending, []
            self.add_group(group)

    def add_group(self, group: list[Pair]) -> None:
        """Take in the edges of a group: ADDEDGEGROUP, with its recursion as a stack of deletions.

        As printed, edges that were joined are deleted after the edges they gave were added.
        """
        deletions: list[list[Pair]] = []
        while group:
            joined, gone = [], []
            for source, destination in group:
                above = self.by_destination.get(source)
                if above:
                    joined += [(one, destination) for one in above]
                    gone += [(one, source) for one in above]
                    continue
                below = self.by_source.get(destination)
                if below:
                    joined += [(source, one) for one in below]
                    gone += [(destination, one) for one in below]
                else:
                    self._insert(source, destination)
            deletions.append(gone)
            # A cycle, or an edge that comes again, would go round for ever.
            group = [(s, d) for s, d in dict.fromkeys(joined) if s != d]
            if len(deletions) > self._longest:
                break
        for gone in reversed(deletions):
            for source, destination in gone:
                self._delete(source, destination)

    @property
    def _longest(self) -> int:
        return len(self.by_source) + 2

    def _insert(self, source: int, destination: int) -> None:
        self.by_source.setdefault(source, {})[destination] = None
        self.by_destination.setdefault(destination, {})[source] = None

    def _delete(self, source: int, destination: int) -> None:
        for table, one, other in (
            (self.by_source, source, destination),
            (self.by_destination, destination, source),
        ):
            found = table.get(one)
            if found is not None:
                found.pop(other, None)
                if not found:
                    del table[one]

    def state(self) -> list[Pair]:
        """Return the edges that are there."""
        return [(s, d) for s, below in self.by_source.items() for d in below]

    def flush(self) -> pa.RecordBatch:
        """Return the state as edges, and forget it."""
        batch = self.numbered.edges(self.state())
        self.by_source.clear()
        self.by_destination.clear()
        return batch

    def drain(self) -> list[pa.RecordBatch]:
        """Return nothing: no link is final before the end."""
        return []

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Give the state as links; edges of activities are of no use any more."""
        self.settle()
        batch = self.numbered.links(self.state())
        self.counts.links = batch.num_rows
        yield batch
