"""Facts and rule instances as a directed hypergraph: the shared circuit that semirings read.

Nodes are numbered facts. An instance derives its head from premises, each as often as the body
names it; what annotations do not enter (negation, aggregates, constraints) leaves no premise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hypergraph:
    """All instances over a set of facts; instance i has premises `start[i]` to `start[i + 1]`."""

    nodes: int
    heads: Ints
    rules: Ints
    """Which rule each instance is of, by a number that the maker of the graph knows."""
    start: Ints
    premises: Ints

    @property
    def instances(self) -> int:
        return int(self.heads.shape[0])
