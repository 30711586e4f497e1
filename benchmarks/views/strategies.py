"""Every strategy on graphs of several shapes under batches of several sizes, in turns.

Run as a process of its own: `python -m benchmarks.views.strategies '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

from benchmarks.views.graphs import SHAPES, Shape, Updates, updates_of
from benchmarks.views.stopwatch import (
    CLOSURE,
    batch,
    edges,
    progress,
    sorted_pairs,
    tell,
    timed,
    warm_up,
)
from whence import session
from whence.diagnostics import LimitError
from whence.engine.base import Limits
from whence.view.base import View

STRATEGIES = ("ranked", "dred", "recompute", "auto")
RUNS = 5
"""How often a batch is applied and taken back, after a first time that does not count."""

LIMIT = 8.0
"""Seconds after which a strategy is stopped, and counts as that slow."""


def main() -> None:
    """Print one row for each graph, batch and strategy."""
    asked = json.loads(sys.argv[1])
    threads, quick = asked["threads"], asked["quick"]
    warm_up(threads, STRATEGIES)
    program = session.compile(session.parse(CLOSURE), keep_all=True)
    found: list[dict[str, object]] = []
    for name in asked["shapes"] or SHAPES:
        shape = SHAPES[name](5 if quick else 1)
        started = time.perf_counter()
        limits = Limits(timeout=1.0 if quick else LIMIT)

        def make(strategy: str) -> View:
            given = edges(shape.edges)  # noqa: B023
            return session.maintain(
                program,
                given,
                strategy=strategy,
                threads=threads,
                limits=limits,  # noqa: B023
            )

        views = {strategy: make(strategy) for strategy in STRATEGIES}
        for updates in updates_of(shape):
            found += _cell(program, shape, updates, views, make, asked["seconds"])
        progress(f"{shape.name}: {time.perf_counter() - started:.1f} s")
    tell(found)


def _cell(
    program: session.Compiled,
    shape: Shape,
    updates: Updates,
    views: dict[str, View],
    make: Callable[[str], View],
    allowed: float,
) -> list[dict[str, object]]:
    """Measure one batch; a cell that takes too long is repeated twice only."""
    forth = batch(comes=updates.comes, goes=updates.goes)
    back = batch(comes=updates.goes, goes=updates.comes)
    gone = set(updates.goes)
    after = [*(edge for edge in shape.edges if edge not in gone), *updates.comes]
    needed = sorted_pairs(session.evaluate(program, edges(after)).table("path"))
    times: dict[str, list[float]] = {strategy: [] for strategy in views}
    rows: dict[str, dict[str, object]] = {}
    started = time.perf_counter()
    order = list(views)
    for turn in range(RUNS + 1):
        for strategy in list(order):
            view = views[strategy]
            begun = time.perf_counter()
            try:
                times[strategy].append(timed(view, forth)[0])
            except LimitError:
                order.remove(strategy)
                times[strategy] = [time.perf_counter() - begun] * 2
                rows[strategy] = {**_work(view), "exact": True, "stopped": True}
                continue
            rows[strategy] = {**_work(view), "stopped": False}
            if turn == 0:
                exact = bool(np.array_equal(sorted_pairs(view.table("path")), needed))
                rows[strategy]["exact"] = exact
                if not exact:
                    progress(f"WRONG: {shape.name}, {updates.name}, {strategy}")
            else:
                rows[strategy]["exact"] = view.size("path") == needed.shape[0]
            try:
                view.apply(back)
            except LimitError:
                views[strategy] = make(strategy)
        order = order[1:] + order[:1]
        if turn >= 2 and time.perf_counter() - started > allowed:
            break
    return [
        {
            "graph": shape.name,
            "tuples": int(needed.shape[0]),
            "batch": updates.name,
            "strategy": strategy,
            "seconds": median(times[strategy][1:]),
            "runs": len(times[strategy]) - 1,
            **rows[strategy],
        }
        for strategy in views
    ]


def _work(view: View) -> dict[str, object]:
    """What the last batch did to derived relations."""
    strata: Sequence[object] = [s for s in view.work.strata if "path" in s.relations]
    total = {
        key: sum(getattr(stratum, key) for stratum in strata)
        for key in ("asked", "removed", "restored", "deleted", "inserted")
    }
    chosen = "+".join(dict.fromkeys(str(getattr(s, "strategy", "")) for s in strata))
    return {**total, "chosen": chosen}


if __name__ == "__main__":
    main()
