"""Random workflows as reduced graphs of their jobs, and networkx as the judge of lineage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pyarrow as pa
from hypothesis import strategies as st

from whence.lineage.reduced import Link, Name, reduced_of
from whence.lineage.repository.repository import Repository
from whence.store.files import Files

Row = tuple[Link, Name, Name]


class Quick(Files):
    """No waiting for the device, for those whom only answers concern."""

    def sync(self, handle: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


@dataclass(frozen=True)
class Job:
    """What one run of a job added."""

    name: str
    rows: tuple[Row, ...]

    def table(self) -> pa.Table:
        return reduced_of(self.rows)


entities = st.tuples(st.sampled_from(["a", "b", "c", "group/f"]), st.integers(-1, 4))
# A group may have the name of an entity, and the same name in two runs.
groups = st.tuples(st.sampled_from(["group/f", "group/g"]), st.integers(0, 2))


def _rows() -> st.SearchStrategy[Row]:
    return st.one_of(
        st.tuples(st.just(Link.PAIR), entities, entities),
        st.tuples(st.just(Link.OUT), entities, groups),
        st.tuples(st.just(Link.IN), groups, entities),
        st.tuples(st.just(Link.NEST), groups, groups),
    )


workflows = st.lists(
    st.builds(Job, st.sampled_from(["x", "y", "z"]), st.lists(_rows(), max_size=12).map(tuple)),
    min_size=1,
    max_size=4,
)


def kept(path: Path, jobs: Sequence[Job]) -> Repository:
    """Return a repository of the jobs."""
    repository = Repository(path, files=Quick())
    for job in jobs:
        repository.add(job.table(), workflow="w", job=job.name)
    return repository


def graph(jobs: Sequence[Job]) -> nx.DiGraph:
    """Return all edges of the jobs from what depends to what it depends on; groups are apart."""
    found = nx.DiGraph()
    for place, job in enumerate(jobs):
        for kind, source, target in job.rows:
            ends = (
                (place, source) if kind in (Link.IN, Link.NEST) else (None, source),
                (place, target) if kind in (Link.OUT, Link.NEST) else (None, target),
            )
            found.add_edge(*ends)
    return found


def dependencies(jobs: Sequence[Job]) -> nx.DiGraph:
    """Return which entity depends on which, within one of the jobs each: groups are flattened."""
    whole = nx.DiGraph()
    for job in jobs:
        one = graph([job])
        for node in one:
            if node[0] is None:
                stack, seen = [node], set()
                while stack:
                    for after in one.successors(stack.pop()):
                        if after[0] is None:
                            whole.add_edge(node[1], after[1])
                        elif after not in seen:
                            seen.add(after)
                            stack.append(after)
    return whole


def reached(depends: nx.DiGraph, asked: Sequence[Name]) -> set[Name]:
    """Return what lies one edge or more away from the asked ones."""
    there = [name for name in asked if name in depends]
    first = {after for name in there for after in depends.successors(name)}
    return first.union(*(nx.descendants(depends, name) for name in first))
