"""Memory and time over many updates that cancel each other, some of them with nodes never seen.

Run as a process of its own: `python -m benchmarks.views.steady '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
from random import Random

from benchmarks.figures import spread
from benchmarks.inputs import random_graph
from benchmarks.measured import progress, resident_bytes, tell, timed
from benchmarks.views.stopwatch import CLOSURE, batch, edges, same, warm_up
from whence import session
from whence.view.base import Batch


def alternating(rows: list[tuple[int, ...]], count: int, rng: Random) -> list[Batch]:
    """An edge goes and comes back; then an edge to a new node comes and goes."""
    found: list[Batch] = []
    fresh = 10**6
    while len(found) < count:
        edge = rng.choice(rows)
        fresh += 1
        new = (rng.choice(rows)[0], fresh)
        found += [batch(goes=[edge]), batch(comes=[edge]), batch(comes=[new]), batch(goes=[new])]
    return found[:count]


def main() -> None:
    """Measure memory after a warm-up, in the middle and at the end."""
    asked = json.loads(sys.argv[1])
    threads, quick = asked["threads"], asked["quick"]
    nodes, count = (200, 400) if quick else (2000, 10_000)
    rows = random_graph(nodes)["edge"]
    rng = Random(3)
    warm_up(threads)
    program = session.compile(session.parse(CLOSURE), keep_all=True)
    view = session.maintain(program, edges(rows), threads=threads)
    made = resident_bytes()
    before = count // 5
    for update in alternating(rows, before, rng):
        timed(view, update)
    memory = [resident_bytes()]
    halves = []
    for _ in range(2):
        times = [timed(view, update)[0] for update in alternating(rows, count // 2, rng)]
        halves.append(times)
        memory.append(resident_bytes())
        progress(f"{len(times):,} updates: {spread(times)}, {memory[-1] / 2**20:.0f} MiB")
    tenth = max(1, count // 10)
    tell(
        {
            "tuples": view.size("path"),
            "updates": count,
            "before": before,
            "made_bytes": made,
            "bytes": memory,
            "first": spread(halves[0][:tenth]),
            "last": spread(halves[1][-tenth:]),
            "exact": same(view, edges(rows), program, "path"),
        }
    )


if __name__ == "__main__":
    main()
