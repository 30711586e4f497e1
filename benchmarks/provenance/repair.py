"""The shortest ways of a road network as a view: arcs go, and weights change, one at a time.

Run as a process of its own: `python -m benchmarks.provenance.repair '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import median
from typing import Any

import numpy as np

from benchmarks.figures import spread
from benchmarks.measured import in_turns, progress, tell, timed
from benchmarks.provenance.networks import Arc, Network, road_like, rome
from benchmarks.provenance.shortest import PATH, compiled, matrix, table, warm_up
from benchmarks.sizes import exponent
from whence import session
from whence.view.base import Batch, Update, View

DELETED, WEIGHED = "an arc deleted", "a weight changed"


@dataclass(frozen=True, slots=True)
class Turn:
    """An arc that goes, and what comes for it."""

    kind: str
    before: Arc
    after: tuple[Arc, ...]

    def there(self) -> Batch:
        """Return the change."""
        return _batch((self.before,), self.after)

    def back(self) -> Batch:
        """Return what takes the change back."""
        return _batch(self.after, (self.before,))


def _batch(goes: tuple[Arc, ...], comes: tuple[Arc, ...]) -> Batch:
    deleted, inserted = (table(arcs) if arcs else None for arcs in (goes, comes))
    return {"edge": Update(inserted=inserted, deleted=deleted)}


def turns_of(network: Network, count: int) -> list[Turn]:
    """Return changes of different arcs, by turns of either kind; factors are between ½ and 2."""
    rng = Random(4)
    # Of parallel arcs only the shortest matters.
    parallel = Counter(arc[:2] for arc in network.arcs)
    lone = [arc for arc in network.arcs if parallel[arc[:2]] == 1]
    found = []
    for i, arc in enumerate(rng.sample(lone, count)):
        if i % 2 == 0:
            found.append(Turn(DELETED, arc, ()))
            continue
        x, y, weight = arc
        new = weight
        while new == weight:
            new = max(1, round(weight * 2 ** rng.uniform(-1, 1)))
        found.append(Turn(WEIGHED, arc, ((x, y, new),)))
    return found


def _load_kernels(threads: int) -> None:
    warm_up(threads)
    small = road_like(100)
    view = session.maintain(compiled(PATH), {"edge": table(small.arcs)}, threads=threads)
    for turn in turns_of(small, 10):
        timed(view, turn.there())
        timed(view, turn.back())


def same(view: View, program: session.Compiled, arcs: list[Arc], nodes: int) -> bool:
    """Whether the view is what evaluation from nothing gives, tuples and values."""
    found = session.evaluate(program, {"edge": table(arcs)})
    return found.size("path") == view.size("path") and bool(
        np.array_equal(matrix(found, "path", nodes), matrix(view, "path", nodes))
    )


def by_tuples(costs: list[tuple[float, int]]) -> dict[str, Any]:
    """Return times by how many tuples of the change were read, in decades."""
    rows = []
    for decade in range(9):
        within = [(s, n) for s, n in costs if 10**decade <= n < 10 ** (decade + 1)]
        if within:
            seconds, tuples = (median(column) for column in zip(*within, strict=True))
            rows.append([10 ** (decade + 1), len(within), tuples, seconds])
    return {"rows": rows, "exponent": exponent([(n, s) for s, n in costs])}


def main() -> None:
    """Measure all of it."""
    asked = json.loads(sys.argv[1])
    threads, quick = asked["threads"], asked["quick"]
    network = road_like(200) if quick else rome()
    turns = turns_of(network, 40 if quick else 220)
    warm, turns = turns[:20], turns[20:]
    _load_kernels(threads)
    program, inputs = compiled(PATH), {"edge": table(network.arcs)}
    (recompute,) = in_turns(
        {"": partial(session.evaluate, program, inputs, threads=threads)}, 2 if quick else 6
    ).values()
    started = time.perf_counter()
    view = session.maintain(program, inputs, threads=threads)
    made = time.perf_counter() - started
    tuples = view.size("path")
    for turn in warm:
        timed(view, turn.there())
        timed(view, turn.back())
    costs: dict[str, list[tuple[float, int]]] = {DELETED: [], WEIGHED: []}
    for turn in turns:
        there, back = turn.there(), turn.back()
        costs[turn.kind].append(timed(view, there))
        timed(view, back)
    progress(f"{len(turns)} changes measured")
    exact = same(view, program, network.arcs, network.nodes)
    # What is taken back might hide what a change has broken: some stay.
    left = set(network.arcs)
    for turn in warm:
        view.apply(turn.there())
        left.remove(turn.before)
        left.update(turn.after)
    exact &= same(view, program, sorted(left), network.nodes)
    tell(
        {
            "network": network.name,
            "nodes": network.nodes,
            "arcs": len(network.arcs),
            "tuples": tuples,
            "changes": len(turns),
            "made_seconds": made,
            "recompute_seconds": median(recompute[1:]),
            "kinds": {
                kind: {**spread([s for s, _ in of]), "read": median(n for _, n in of)}
                for kind, of in costs.items()
            },
            "all": spread([s for of in costs.values() for s, _ in of]),
            "by_tuples": by_tuples([cost for of in costs.values() for cost in of]),
            "exact": bool(exact),
        }
    )


if __name__ == "__main__":
    main()
