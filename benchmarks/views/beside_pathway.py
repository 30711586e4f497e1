"""The same edges and deletes through a view and through Pathway; the changes must be the same.

Run as a process of its own: `python -m benchmarks.views.beside_pathway '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from benchmarks.figures import spread
from benchmarks.measured import progress, tell
from benchmarks.views.graphs import Edges, random_edges
from benchmarks.views.stopwatch import CLOSURE, batch, edges, warm_up
from whence import session

Deltas = list[tuple[set[tuple[int, int]], set[tuple[int, int]]]]
"""What came and what went: with the load, then with each delete."""

SCRIPT = Path(__file__).with_name("pathway_stream.py")


class Missing(Exception):
    """There is no Pathway; the message says why."""


def _pathway(
    python: str, rows: Edges, deleted: Edges, threads: int, *, answered: bool = False
) -> dict[str, Any]:
    """Run the stream in a process of its own and return what it told."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"edges": rows, "deleted": deleted, "answered": answered}, file)
        file.flush()
        try:
            done = subprocess.run(
                [python, str(SCRIPT), file.name],
                env={**os.environ, "PATHWAY_THREADS": str(threads)},
                capture_output=True,
                text=True,
                timeout=300,
            )
        except OSError as error:
            raise Missing(f"{python}: {error.strerror}") from None
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or ["it failed"])[-1])
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _deltas(changes: Iterable[tuple[int, int, int, int]], deletes: int) -> Deltas:
    """Return what came and went, net, at each time."""
    net: dict[int, dict[tuple[int, int], int]] = {}
    for when, x, y, sign in changes:
        step = net.setdefault(when, {})
        step[x, y] = step.get((x, y), 0) + sign
    deltas: Deltas = []
    for i in range(deletes + 1):
        step = net.get(2 + 2 * i, {})
        came = {pair for pair, sign in step.items() if sign > 0}
        went = {pair for pair, sign in step.items() if sign < 0}
        deltas.append((came, went))
    return deltas


def run_whence(rows: Edges, deleted: Edges, threads: int) -> tuple[float, list[float], Deltas]:
    """Return the seconds to make the view and to read it, those of each delete, and the changes."""
    program = session.compile(session.parse(CLOSURE), keep_all=True)
    given, batches = edges(rows), [batch(goes=[edge]) for edge in deleted]
    started = time.perf_counter()
    view = session.maintain(program, given, threads=threads)
    loaded = view.table("path")
    load = time.perf_counter() - started
    times, tables = [], []
    for update in batches:
        started = time.perf_counter()
        changes = view.apply(update)
        change = changes.get("path")
        found = (change.inserted, change.deleted) if change is not None else None
        times.append(time.perf_counter() - started)
        tables.append(found)

    def pairs(table: object) -> set[tuple[int, int]]:
        columns = table.to_pydict().values()  # type: ignore[attr-defined]
        return set(zip(*columns, strict=True))

    deltas: Deltas = [(pairs(loaded), set())]
    deltas += [(pairs(t[0]), pairs(t[1])) if t else (set(), set()) for t in tables]
    return load, times, deltas


def _measure_pathway(
    python: str, rows: Edges, deleted: Edges, needed: Deltas, threads: int, runs: int
) -> dict[str, object]:
    """Return its best times, with one thread or with as many as we have."""
    same = True
    loads: list[float] = []
    known: list[float] = []
    answered: list[float] = []
    for workers in sorted({1, threads}):
        alone, whole = [], []
        for _ in range(runs):
            told = _pathway(python, rows, [], workers)
            alone.append(told["seconds"])
            same &= _deltas(told["changes"], 0) == needed[:1]
            told = _pathway(python, rows, deleted, workers)
            whole.append(told["seconds"])
            same &= _deltas(told["changes"], len(deleted)) == needed
        loads.append(min(alone))
        known.append((min(whole) - min(alone)) / len(deleted))
        told = _pathway(python, rows, deleted, workers, answered=True)
        answered.append(mean(told["times"]))
        same &= told["counts"] == [len(came) + len(went) for came, went in needed[1:]]
        progress(f"Pathway, {workers} threads: load {loads[-1]}, {known[-1]}, {answered[-1]} s")
    return {
        "version": told["version"],
        "load_seconds": min(loads),
        "known_seconds": min(known),
        "answered_seconds": min(answered),
        "same": same,
    }


def main() -> None:
    """Measure both."""
    asked = json.loads(sys.argv[1])
    quick, python = asked["quick"], asked["pathway"]
    nodes, count, runs = (100, 60, 1) if quick else (300, 200, 3)
    rows = random_edges(nodes, 3 * nodes)
    deleted = Random(4).sample(rows, count)
    warm_up(asked["threads"])
    ours = [run_whence(rows, deleted, asked["threads"]) for _ in range(runs + 1)][1:]
    needed = ours[0][2]
    found: dict[str, object] = {
        "nodes": nodes,
        "edges": len(rows),
        "tuples": len(needed[0][0]),
        "deletes": count,
        "load_seconds": min(load for load, _, _ in ours),
        "delete": spread([seconds for _, times, _ in ours for seconds in times]),
    }
    progress(f"Whence: load {found['load_seconds']:.3f} s, a delete {found['delete']}")
    try:
        found["pathway"] = _measure_pathway(python, rows, deleted, needed, asked["threads"], runs)
    except Missing as missing:
        found["missing"] = str(missing)
        progress(f"Pathway is left out: {missing}")
    tell(found)


if __name__ == "__main__":
    main()
