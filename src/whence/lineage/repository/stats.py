"""What a repository holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from whence.lineage.repository.index import Index
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.nests import totals
from whence.lineage.repository.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts over all runs; `tables` has the entities of each space, each counted once."""

    commit: int
    runs: tuple[Run, ...]
    edges: int
    groups: int
    pairs: int
    """How many pairs of output and input the edges stand for; one that two groups have is two."""
    tables: Mapping[str, int]
    deleted: int
    bytes: int


def stats(snapshot: Snapshot) -> Stats:
    """Return the numbers of a snapshot."""
    runs = snapshot.runs
    return Stats(
        commit=snapshot.manifest.commit,
        runs=runs,
        edges=sum(run.edges for run in runs),
        groups=sum(run.groups for run in runs),
        pairs=sum(pairs(snapshot.index(run)) for run in runs),
        tables=_tables(snapshot),
        deleted=snapshot.manifest.deleted,
        bytes=sum(_size(snapshot, name) for name in snapshot.manifest.files()),
    )


def _size(snapshot: Snapshot, name: str) -> int:
    path = snapshot.path / name
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise snapshot.lost(path) from None


def pairs(index: Index) -> int:
    """Return how many pairs of output and input the edges of a run stand for."""
    size = len(index.numbers)
    group = index.grouped()
    source = np.repeat(np.arange(size), np.diff(index.by_source))
    target = index.targets.astype(np.int64)
    leaves_group, to_group = group[source], group[target]
    place = np.cumsum(group) - 1
    groups = int(np.count_nonzero(group))
    # Floats: products of large groups may exceed 64 bits, and such a count is only to be read.
    members = np.bincount(place[source[leaves_group & ~to_group]], minlength=groups).astype(float)
    nested = leaves_group & to_group
    outer, inner = place[source[nested]], place[target[nested]]
    inputs = totals(members, outer, inner)
    plain = int(np.count_nonzero(~leaves_group & ~to_group))
    return plain + int(inputs[place[target[~leaves_group & to_group]]].sum())


def _tables(snapshot: Snapshot) -> dict[str, int]:
    """Return how many entities each space has in all runs together."""
    from whence.lineage.repository.entities import NONE, of_arrays

    known = NONE
    for run in snapshot.runs:
        index = snapshot.index(run)
        known = known.join(
            of_arrays({s.name: index.numbers[s.start : s.end] for s in index.spaces if not s.group})
        )
    return known.counts()
