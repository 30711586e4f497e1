"""Reduction of PROV streams to what outputs and inputs have to do with each other.

`reduce` does it for a stream that is at hand; `local_global.py` has the reducers behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.diagnostics import Diagnostic
    from whence.lineage.partitioning import Strategy
    from whence.lineage.reduce.local_global import Flow


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduced graph, how many edges went where, and what was wrong with the stream."""

    table: pa.Table
    """Links in the schema `REDUCED`."""
    flow: Flow
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """Warnings: cycles, edges that lead nowhere, events that came too late."""


def reduce(
    batches: Iterable[pa.RecordBatch],
    *,
    partitions: int = 1,
    strategy: Strategy = "random",
    seed: int = 0,
    **settings: Any,
) -> Reduction:
    """Return the reduced graph of a stream of `EDGES`.

    `settings` are those of `whence.lineage.reduce.local_global.Settings`: `mode`, `attempts`,
    `inputs`, `outputs`, `watermark`, `memory`… With several partitions, edges are split by the
    strategy, and each partition has a local reducer.
    """
    import pyarrow as pa

    from whence.lineage.partitioning import check, split
    from whence.lineage.reduce.local_global import LocalGlobal, Settings
    from whence.lineage.reduced import REDUCED

    check(strategy, partitions)
    reducer = LocalGlobal(partitions, Settings(**settings), alone=partitions == 1)
    found: list[pa.RecordBatch] = []
    for batch in batches:
        if partitions == 1:
            reducer.add(0, batch)
        else:
            for partition, part in split(batch, strategy, partitions, seed=seed):
                reducer.add(partition, part)
        found += reducer.drain()
    found += reducer.finish()
    table = pa.Table.from_batches(found, REDUCED)
    return Reduction(table, reducer.flow, reducer.diagnostics)
