"""Streams out of order, made from a recorded trace, and how right a reduction of them is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from whence.lineage.events import NO_GROUP
from whence.lineage.reduced import flatten


def disordered(
    trace: pa.RecordBatch,
    percent: float,
    *,
    seed: int = 0,
    unit: Literal["group", "edge"] = "group",
) -> pa.RecordBatch:
    """Return a trace with so many percent of its elements moved to other places.

    An element is a group of edges, which stays whole, or a single edge.
    """
    group = trace.column(5).to_numpy()
    if unit == "edge" or not trace.num_rows:
        element = np.arange(trace.num_rows)
    else:
        borders = (np.diff(group) != 0) | (group[1:] == NO_GROUP)
        element = np.concatenate([[0], np.cumsum(borders)])
    count = int(element[-1]) + 1 if len(element) else 0
    random = np.random.default_rng(seed)
    place = np.arange(count, dtype=np.float64)
    moved = random.permutation(count)[: round(count * percent / 100)]
    place[moved] = random.random(len(moved)) * count - 0.5
    return trace.take(pa.array(np.argsort(place[element], kind="stable")))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many of the true pairs were found, and how many that were found are true."""

    true: int
    found: int
    both: int

    @property
    def recall(self) -> float:
        """The paper's accuracy: the share of true pairs that were found."""
        return self.both / self.true if self.true else 1.0

    @property
    def precision(self) -> float:
        """The share of pairs found that are true."""
        return self.both / self.found if self.found else 1.0


def accuracy(reduced: pa.Table, truth: pa.Table) -> Accuracy:
    """Compare two reduced graphs by their pairs."""
    ours, theirs = _plain(flatten(reduced)), _plain(flatten(truth))
    both = ours.join(theirs, ours.column_names, join_type="inner", use_threads=False)
    return Accuracy(theirs.num_rows, ours.num_rows, both.num_rows)


def _plain(pairs: pa.Table) -> pa.Table:
    """Return pairs with plain text: dictionaries of two tables cannot be compared."""
    fields = [pa.field(f.name, pa.utf8() if "space" in f.name else f.type) for f in pairs.schema]
    return pairs.cast(pa.schema(fields))
