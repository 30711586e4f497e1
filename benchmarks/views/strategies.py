"""Every strategy on graphs of several shapes under batches of several sizes, in turns.

Run as a process of its own: `python -m benchmarks.views.strategies '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from benchmarks.measured import progress, tell, timed
from benchmarks.views.graphs import SHAPES, Shape, Updates, updates_of
from benchmarks.views.stopwatch import CLOSURE, batch, edges, sorted_pairs, warm_up
from whence import session
from whence.diagnostics import LimitError
from whence.engine.base import Limits
from whence.view.base import View

STRATEGIES = ("ranked", "dred", "recompute", "auto")
FEWEST, RUNS, MOST = 2, 5, 30
"""How often a batch is applied and taken back after a first time that does not count: when that
takes long, when a strategy is far behind the best, and otherwise."""

FAR = 5.0
"""How many times the best cost is far behind."""

LIMIT = 8.0
"""Seconds after which a strategy is stopped, and counts as that slow."""

BRIEF = 0.02
"""Seconds below which it matters who was measured before: all are then warmed up alike."""


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


@dataclass(slots=True)
class Cell:
    """One batch on one graph by one strategy."""

    strategy: str
    seconds: list[float] = field(default_factory=list)
    back: float = 0.0
    """Seconds that the way back took the last time; they are not measured, but they are spent."""
    work: dict[str, object] = field(default_factory=dict)
    exact: bool = True
    stopped: bool = False

    @property
    def cost(self) -> float:
        """The median, without the first time unless that was all."""
        return median(self.seconds[1:] or self.seconds)


def _cell(
    program: session.Compiled,
    shape: Shape,
    updates: Updates,
    views: dict[str, View],
    make: Callable[[str], View],
    allowed: float,
) -> list[dict[str, object]]:
    """Measure one batch by all strategies in turns, until that has taken so many seconds."""
    forth = batch(comes=updates.comes, goes=updates.goes)
    back = batch(comes=updates.goes, goes=updates.comes)
    gone = set(updates.goes)
    after = [*(edge for edge in shape.edges if edge not in gone), *updates.comes]
    needed = sorted_pairs(session.evaluate(program, edges(after)).table("path"))
    cells = [Cell(strategy) for strategy in views]
    order = list(cells)
    started, luck = time.perf_counter(), random.Random(7)
    for turn in range(MOST + 1):
        for cell in list(order):
            view = views[cell.strategy]
            begun = time.perf_counter()
            try:
                if cell.seconds and max(cell.cost, cell.back) < BRIEF:
                    # Forth and back once more, untimed: everybody finds the caches they left.
                    view.apply(forth)
                    view.apply(back)
                cell.seconds.append(timed(view, forth)[0])
                cell.work = _work(view)
                if turn == 0:
                    cell.exact &= np.array_equal(sorted_pairs(view.table("path")), needed)
                cell.exact &= view.size("path") == needed.shape[0]
            except LimitError:
                order.remove(cell)
                cell.stopped, cell.seconds = True, [time.perf_counter() - begun]
                cell.work = _work(view)
                continue
            begun = time.perf_counter()
            try:
                view.apply(back)
            except LimitError:  # the way back is not measured
                views[cell.strategy] = make(cell.strategy)
            cell.back = time.perf_counter() - begun
        # At random: whoever comes after a recomputation finds the caches empty.
        luck.shuffle(order)
        late = turn >= FEWEST and time.perf_counter() - started > allowed
        if late:  # a few more turns cost nothing where they are quick
            order = [cell for cell in order if (cell.cost + cell.back) * MOST < allowed]
        if turn >= RUNS or late:  # who is far behind need not be measured more closely
            best = min((cell.cost for cell in order), default=0.0)
            order = [cell for cell in order if cell.cost < FAR * best]
        if not order:
            break
    return [
        {
            "graph": shape.name,
            "tuples": int(needed.shape[0]),
            "batch": updates.name,
            "strategy": cell.strategy,
            "seconds": cell.cost,
            "runs": len(cell.seconds) - 1,
            "exact": bool(cell.exact),
            "stopped": cell.stopped,
            **cell.work,
        }
        for cell in cells
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
