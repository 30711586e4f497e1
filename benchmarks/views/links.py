"""A network whose links come and go: a long stream, and the cost against what a change touches.

The view is what every tenth node reaches over directed links, one link per node on average, with
the number of links of each node.

Run as a process of its own: `python -m benchmarks.views.links '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
from random import Random
from statistics import median

from benchmarks.figures import spread
from benchmarks.measured import progress, resident_bytes, tell, timed
from benchmarks.sizes import exponent
from benchmarks.views.graphs import Edges, random_edges
from benchmarks.views.stopwatch import batch, columns, same, warm_up
from whence import session
from whence.view.base import Batch, View

NETWORK = """
.decl link(x: number, y: number)
.decl root(x: number)
.decl reach(r: number, x: number)
.decl fan(x: number, n: number)
reach(r, y) :- root(r), link(r, y).
reach(r, y) :- reach(r, x), link(x, y).
fan(x, n) :- link(x, _), n = count : { link(x, _) }.
"""


class Network:
    """Links that come and go at random, as many as there were; every update is a real one."""

    def __init__(self, nodes: int, links: Edges, seed: int) -> None:
        self.nodes = nodes
        self.links = list(links)
        self._held = set(links)
        self._rng = Random(seed)

    def batch(self, updates: int) -> Batch:
        """Half of the updates delete a link, half insert one."""
        goes: Edges = []
        for _ in range(updates // 2):
            place = self._rng.randrange(len(self.links))
            self.links[place], self.links[-1] = self.links[-1], self.links[place]
            goes.append(self.links.pop())
        self._held.difference_update(goes)
        gone = set(goes)
        comes: Edges = []
        while len(comes) < updates - len(goes):
            link = self._rng.randrange(self.nodes), self._rng.randrange(self.nodes)
            if link[0] != link[1] and link not in self._held and link not in gone:
                self._held.add(link)
                comes.append(link)
        self.links += comes
        return batch(comes, goes, "link")


def touched(view: View, read: int) -> int:
    """Tuples that the last batch asked, removed or changed."""
    return read + sum(s.asked + s.removed for s in view.work.strata)


def main() -> None:
    """Measure the stream, then the two ways to grow."""
    asked = json.loads(sys.argv[1])
    quick, threads = asked["quick"], asked["threads"]
    warm_up(threads)
    program = session.compile(session.parse(NETWORK), keep_all=True)
    nodes = 500 if quick else 10_000
    network = Network(nodes, random_edges(nodes, nodes), seed=5)
    roots = [(r,) for r in range(0, nodes, 10)]
    inputs = {"link": columns(network.links), "root": columns(roots, 1)}
    view = session.maintain(program, inputs, threads=threads)
    size = 100 if quick else 1000
    for _ in range(5):
        timed(view, network.batch(size))
    batches = 20 if quick else 1000
    started_with = resident_bytes()
    times: list[float] = []
    spent = 0.0
    while len(times) < batches and spent < asked["stream_seconds"]:
        seconds, _ = timed(view, network.batch(size))
        times.append(seconds)
        spent += seconds
    now = {"link": columns(network.links), "root": columns(roots, 1)}
    stream = {
        "nodes": nodes,
        "links": len(network.links),
        "reached": view.size("reach"),
        "updates": len(times) * size,
        "asked_for": batches * size,
        "size": size,
        "batch": spread(times),
        "updates_per_second": len(times) * size / spent,
        "bytes": [started_with, resident_bytes()],
        "exact": same(view, now, program, "reach") and same(view, now, program, "fan"),
    }
    progress(f"stream: {stream}")
    # Recomputation, which `auto` may take, would touch everything whatever changes.
    ranked = session.maintain(program, now, strategy="ranked", threads=threads)
    tell(
        {
            "stream": stream,
            "touched": _by_touched(ranked, network, 5 if quick else 40),
            "view_size": _by_view_size(program, threads, quick),
        }
    )


def _by_touched(view: View, network: Network, runs: int) -> dict[str, object]:
    """The same view under batches of three sizes."""
    for _ in range(5):
        timed(view, network.batch(100))
    rows = []
    for size in (10, 100, 1000):
        costs = []
        for _ in range(runs):
            seconds, read = timed(view, network.batch(size))
            costs.append((touched(view, read), seconds))
        mean = sum(count for count, _ in costs) / runs
        rows.append((size, mean, median(seconds for _, seconds in costs)))
        progress(f"batches of {size}: {rows[-1]}")
    found = exponent([(count, seconds) for _, count, seconds in rows])
    return {"rows": rows, "exponent": found}


def _by_view_size(program: session.Compiled, threads: int, quick: bool) -> dict[str, object]:
    """The same changes of one region, beside more and more regions that do not change."""
    region, regions = (200, (1, 3, 9)) if quick else (1000, (1, 10, 100))
    rows = []
    for count in regions:
        links = [
            (x + i * region, y + i * region)
            for i in range(count)
            for x, y in random_edges(region, region, seed=i)
        ]
        roots = [(i * region + r,) for i in range(count) for r in range(0, region, 10)]
        inputs = {"link": columns(links), "root": columns(roots, 1)}
        view = session.maintain(program, inputs, strategy="ranked", threads=threads)
        network = Network(region, random_edges(region, region, seed=0), seed=8)
        costs = []
        for _ in range(10 if quick else 60):
            seconds, read = timed(view, network.batch(20))
            costs.append((touched(view, read), seconds))
        costs = costs[len(costs) // 6 :]
        reached = view.size("reach")
        changed = sum(c for c, _ in costs) / len(costs)
        rows.append((reached, changed, median(seconds for _, seconds in costs)))
        progress(f"{count} regions: {rows[-1]}")
    return {"rows": rows, "exponent": exponent([(reached, s) for reached, _, s in rows])}


if __name__ == "__main__":
    main()
