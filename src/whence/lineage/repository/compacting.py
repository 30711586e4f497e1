"""Compaction: of the runs of a job one run is made, with the same answers and fewer files.

A question looks at every run that may know an entity, and each commit writes all runs down, so
jobs that run every hour make both slow after some months.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa

from whence.lineage.reduced import Link
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.snapshot import Snapshot

MOST: Final = 20_000_000
"""Edges of one run that is made: so many are held in memory, and read again at a deletion."""


def together(
    runs: Iterable[Run], before: datetime | None = None, most: int = MOST
) -> list[list[Run]]:
    """Return which runs become one: those of a job that ended before a time, two or more."""
    by_job: dict[tuple[str, str], list[list[Run]]] = {}
    for run in runs:
        if before is not None and run.ended >= before:
            continue
        several = by_job.setdefault((run.workflow, run.job), [[]])
        if several[-1] and sum(r.edges for r in several[-1]) + run.edges > most:
            several.append([])
        several[-1].append(run)
    return [part for several in by_job.values() for part in several if len(part) > 1]


def described(runs: Sequence[Run]) -> Run:
    """Return what is said of the one run: when they were, and their names."""
    starts = [run.started or run.ended for run in runs]
    names = tuple(name for run in runs for name in run.compacted or (run.run,))
    last = max(runs, key=lambda run: run.ended)
    return replace(last, started=min(starts), compacted=names)


def merged(snapshot: Snapshot, runs: Sequence[Run]) -> pa.Table:
    """Return the edges of all runs; groups of two runs stay two, whatever their names."""
    tables = [apart(run, snapshot.edges(run)) for run in runs]
    return pa.concat_tables(tables).unify_dictionaries()


def apart(run: Run, table: pa.Table) -> pa.Table:
    """Return edges whose groups are named by their run; in a compacted one they are already."""
    if run.compacted:
        return table
    table = table.unify_dictionaries().combine_chunks()
    kind = table["kind"].to_numpy()
    for place, grouped in ((1, kind >= Link.IN), (3, (kind & 1) == 1)):
        if not grouped.any():
            continue
        spaces = table.column(place).chunk(0)
        texts = spaces.dictionary.to_pylist()
        named = [f"run/{run.number}/{text}" for text in texts]
        codes = spaces.indices.to_numpy() + np.where(grouped, len(texts), 0)
        array = pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32)), pa.array([*texts, *named], pa.utf8())
        )
        table = table.set_column(place, table.schema.field(place), array)
    return table
