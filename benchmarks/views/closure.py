"""The closure of a random graph under one edge at a time, and under a batch of a hundred.

Run as a process of its own: `python -m benchmarks.views.closure '{"nodes": 2000, …}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from random import Random
from statistics import median

from benchmarks.figures import Spread, spread
from benchmarks.inputs import random_graph
from benchmarks.measured import progress, tell, timed
from benchmarks.views.stopwatch import CLOSURE, batch, columns, edges, same, warm_up
from whence import Database, session
from whence.view.base import View

Edges = list[tuple[int, ...]]


def through_view(
    view: View, program: session.Compiled, rows: Edges, chosen: Edges
) -> tuple[dict[str, Spread | int], bool]:
    """Delete the edges one after the other, then insert them again; compare after either."""
    found: dict[str, Spread | int] = {}
    exact = True
    gone = set(chosen)
    left = [edge for edge in rows if edge not in gone]
    for what, after in (("deletes", left), ("inserts", rows)):
        batches = [batch(**{"goes" if what == "deletes" else "comes": [e]}) for e in chosen]
        costs = [timed(view, update) for update in batches]
        found[what] = spread([seconds for seconds, _ in costs])
        found[f"{what}_read"] = sum(read for _, read in costs)
        exact &= same(view, edges(after), program, "path")
    return found, exact


def through_database(rows: Edges, chosen: Edges, threads: int) -> dict[str, Spread | int]:
    """The same with transactions; a subscriber reads the change inside the measured time."""
    database = Database(threads=threads)
    database.load(CLOSURE)
    database.insert("edge", columns(rows))
    read = 0

    def subscriber(change: object) -> None:
        nonlocal read
        read += change.inserted.num_rows + change.deleted.num_rows  # type: ignore[attr-defined]

    database.subscribe("path", subscriber)
    for edge in rows[:20]:
        database.delete("edge", columns([edge]))
        database.insert("edge", columns([edge]))
    found: dict[str, Spread | int] = {}
    for what, update in (("deletes", database.delete), ("inserts", database.insert)):
        times = []
        read = 0
        for edge in chosen:
            table = columns([edge])
            started = time.perf_counter()
            update("edge", table)
            times.append(time.perf_counter() - started)
        found[what] = spread(times)
        found[f"{what}_read"] = read
    found["tuples"] = len(database["path"])
    return found


def main() -> None:
    """Measure all of it."""
    asked = json.loads(sys.argv[1])
    threads, quick = asked["threads"], asked["quick"]
    nodes = 200 if quick else 2000
    turns = 40 if quick else 500
    rows = random_graph(nodes)["edge"]
    rng = Random(1)
    chosen = rng.sample(rows, turns)
    warm_up(threads, ("auto", "ranked", "recompute"))
    program = session.compile(session.parse(CLOSURE), keep_all=True)
    started = time.perf_counter()
    view = session.maintain(program, edges(rows), threads=threads)
    made = time.perf_counter() - started
    tuples = view.size("path")
    progress(f"a view of {tuples:,} pairs in {made:.2f} s")
    for edge in rows[:20]:
        timed(view, batch(goes=[edge]))
        timed(view, batch(comes=[edge]))
    one, exact = through_view(view, program, rows, chosen)
    progress(f"one edge at a time: {one}")
    database = through_database(rows, chosen, threads)
    progress(f"through a database: {database}")
    exact &= database["tuples"] == tuples
    found = {
        "nodes": nodes,
        "edges": len(rows),
        "tuples": tuples,
        "made_seconds": made,
        "view": one,
        "database": database,
        "hundred": _hundred(view, program, rows, chosen, threads, runs=2 if quick else 5),
        "exact": bool(exact),
    }
    tell(found)


def _hundred(
    view: View,
    program: session.Compiled,
    rows: Edges,
    chosen: Edges,
    threads: int,
    runs: int,
) -> dict[str, float]:
    """A batch of a hundred deletes beside recomputation, in turns; the first run is dropped.

    `view` deletes edges that were never deleted before, other ones in each run; `again` those that
    were: ranks remember.
    """
    known = set(chosen)
    fresh = [edge for edge in rows[20:] if edge not in known]
    Random(2).shuffle(fresh)
    rival = session.maintain(program, edges(rows), strategy="recompute", threads=threads)
    times: dict[str, list[float]] = {"view": [], "again": [], "recompute": [], "evaluate": []}
    for run in range(runs + 1):
        new = fresh[100 * run : 100 * run + 100]
        turns = (("view", view, new), ("again", view, chosen[:100]), ("recompute", rival, new))
        for name, one, hundred in turns:
            times[name].append(timed(one, batch(goes=hundred))[0])
            timed(one, batch(comes=hundred))
        left = edges([edge for edge in rows if edge not in set(new)])
        started = time.perf_counter()
        session.evaluate(program, left, threads=threads)
        times["evaluate"].append(time.perf_counter() - started)
    found = {name: median(seconds[1:]) for name, seconds in times.items()}
    progress(f"a hundred deletes: {found}")
    return found


if __name__ == "__main__":
    main()
