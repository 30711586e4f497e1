"""Backward and forward through the runs of a repository: what an answer is, and how it is found.

Within a run a step goes through its groups to entities. From run to run entities are the same by
identity, so a walk repeats steps until nothing new is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from whence.lineage.reduced import REDUCED
from whence.lineage.repository.entities import (
    NONE,
    Entities,
    Numbers,
    of_arrays,
    sorted_set,
    without,
)
from whence.lineage.repository.index import Index, Nodes, as_reduced
from whence.lineage.repository.manifest import Extent, Run
from whence.lineage.repository.nests import SHALLOW, inside, reached

Open: TypeAlias = Callable[[Run], Index]
"""Gives the index of a run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What entities depend on (backward), or what depends on them (forward)."""

    backward: bool
    asked: Entities
    """What was asked for and is known to a run."""
    unknown: Entities
    """What was asked for and is known to none."""
    entities: Entities
    """Everything that was reached."""
    ends: Entities
    """Where it ends: inputs of the whole (backward) or its outputs (forward)."""
    runs: tuple[Run, ...]
    """The runs through which it goes, in their order."""
    steps: int | None = None
    """How many runs deep was looked; None is to the ends."""


def walk(
    runs: Sequence[Run],
    open_index: Open,
    asked: Entities,
    *,
    backward: bool,
    steps: int | None = None,
) -> Answer:
    """Return the answer for these entities in these runs, `steps` runs deep or to the ends."""
    known = _known(runs, open_index, asked)
    of_space = _by_space(runs, backward=backward)
    seen: dict[str, Numbers] = {}
    ends: list[Entities] = []
    frontier = known
    through: set[int] = set()
    done = 0
    while len(frontier) and done != steps:
        found_here, went_on = [], []
        for run in _candidates(of_space, frontier, backward=backward):
            index = open_index(run)
            found, sources = _step(index, index.find(frontier), backward=backward)
            if len(found):
                through.add(run.number)
                found_here.append(found)
                went_on.append(sources)
        if done:
            ends.append(frontier.minus(NONE.join(*went_on)))
        frontier = _fresh(NONE.join(*found_here), seen)
        done += 1
    if steps is not None:
        ends.append(frontier)
    passed = tuple(run for run in runs if run.number in through)
    unknown = asked.minus(known)
    return Answer(backward, known, unknown, of_arrays(seen), NONE.join(*ends), passed, steps)


def edges(answer: Answer, open_index: Open) -> Iterable[tuple[Run, pa.Table]]:
    """Give the edges that an answer goes through, run by run, as reduced graphs."""
    left = answer.asked if answer.steps == 1 else answer.asked.join(answer.entities)
    for run in answer.runs:
        index = open_index(run)
        sources, targets = [], []
        for nodes, others in _through(index, index.find(left), backward=answer.backward):
            sources.append(nodes)
            targets.append(others)
        if not sources:
            continue
        ends = [np.concatenate(sources), np.concatenate(targets)]
        source, target = ends if answer.backward else ends[::-1]
        table = as_reduced(index, source, target)
        if len(table):
            yield run, table.cast(REDUCED)


def _fresh(reached: Entities, seen: dict[str, Numbers]) -> Entities:
    """Return what was not seen before, and note that it is now."""
    fresh = {}
    for space, numbers in reached.by_space.items():
        before = seen.get(space)
        fresh[space] = numbers if before is None else without(numbers, before)
        if before is None:
            seen[space] = numbers
        elif len(fresh[space]):
            seen[space] = sorted_set(np.concatenate([before, fresh[space]]))
    return of_arrays(fresh)


def _step(index: Index, nodes: Nodes, *, backward: bool) -> tuple[Entities, Entities]:
    """Return the entities one run away from nodes, and the entities of nodes that lead on."""
    offsets = index.by_source if backward else index.by_target
    nodes = nodes[offsets[nodes + 1] > offsets[nodes]]
    found, groups = index.split(index.next(nodes, backward=backward))
    seen = groups
    for _ in range(SHALLOW):
        if not len(groups):
            break
        more, others = index.split(index.next(groups, backward=backward))
        found = found.join(more)
        groups = without(others, seen)
        seen = sorted_set(np.concatenate([seen, groups]))
    if len(groups):
        found = found.join(index.split(reached(index, groups, backward=backward))[0])
    return found, index.split(np.sort(nodes))[0]


def _through(index: Index, nodes: Nodes, *, backward: bool) -> Iterable[tuple[Nodes, Nodes]]:
    """Give the edges that leave nodes, and those that leave the groups they lead to."""
    here, others = index.neighbours(nodes, backward=backward)
    yield here, others
    groups = index.split(sorted_set(others))[1]
    if len(groups):
        yield index.neighbours(inside(index, groups, backward=backward), backward=backward)


def _known(runs: Sequence[Run], open_index: Open, asked: Entities) -> Entities:
    """Return those of the entities that a run knows."""
    known, left = NONE, asked
    for run in runs:
        if not len(left):
            break
        if _may_have(run.outputs, left) or _may_have(run.inputs, left):
            index = open_index(run)
            here = index.split(np.sort(index.find(left)))[0]
            known, left = known.join(here), left.minus(here)
    return known


def _by_space(runs: Sequence[Run], *, backward: bool) -> dict[str, list[Run]]:
    """Return which runs lead on from entities of which space."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        for space in run.outputs if backward else run.inputs:
            found.setdefault(space, []).append(run)
    return found


def _candidates(
    of_space: dict[str, list[Run]], frontier: Entities, *, backward: bool
) -> Iterable[Run]:
    """Give the runs that may lead on from the entities, each once."""
    chosen = {r.number: r for space in frontier.by_space for r in of_space.get(space, ())}
    for run in chosen.values():
        if _may_have(run.outputs if backward else run.inputs, frontier):
            yield run


def _may_have(extents: dict[str, Extent], entities: Entities) -> bool:
    """Whether the extents leave it open that one of the entities is there."""
    for space, numbers in entities.by_space.items():
        extent = extents.get(space)
        if extent and np.searchsorted(numbers, extent.least) < np.searchsorted(
            numbers, extent.greatest, side="right"
        ):
            return True
    return False
