"""The ordered baseline of Chen et al.: one pass in arrival order, never revised.

What a node depends on is what its dependencies depended on when the edge came; a dependency of
which nothing is known counts as an input, if it is an entity.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from whence.diagnostics import Diagnostic
from whence.lineage.reduce.counts import Counts
from whence.lineage.reduce.numbered import Numbered, Pair


class Ordered:
    """Keeps, for each node that has come as a source, the inputs it depends on."""

    def __init__(self, *, attempts: bool = False) -> None:
        self.numbered = Numbered(attempts)
        self.inputs: dict[int, set[int]] = {}
        self.wanted: set[int] = set()
        self.counts = Counts()
        self.diagnostics: list[Diagnostic] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of `EDGES` in its order."""
        self.counts.rows += batch.num_rows
        pairs, _ = self.numbered.pairs(batch)
        active = self.numbered.is_activity(np.array([d for _, d in pairs], np.int64)).tolist()
        for (source, destination), of_activity in zip(pairs, active, strict=True):
            self.wanted.add(destination)
            known = self.inputs.get(destination)
            mine = self.inputs.setdefault(source, set())
            if known is not None:
                mine |= known
            elif not of_activity:
                mine.add(destination)

    def drain(self) -> list[pa.RecordBatch]:
        """Return nothing: no link is final before the end."""
        return []

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Give what those depend on that nothing has asked for."""
        pairs: list[Pair] = [
            (source, one)
            for source, inputs in self.inputs.items()
            if source not in self.wanted
            for one in inputs
            if one != source
        ]
        batch = self.numbered.links(pairs)
        self.counts.links = batch.num_rows
        yield batch
