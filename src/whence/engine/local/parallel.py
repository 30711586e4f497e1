"""One rule on several threads.

The threads take chunks of the rule's first rows in turn. Each looks without a lock for what the
head's relation surely has, and inserts the rest under one; joins and looks run side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from whence.engine.local.guard import Guard, Stopped
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Runner, Scope, compile_plan
from whence.plan.nodes import RulePlan

_SINK = -1
"""The depth of the buffer behind all steps."""


class ParallelRule:
    """A rule compiled once for each thread; what it derives goes to `relation`."""

    def __init__(
        self,
        plan: RulePlan,
        scope: Scope,
        relation: Relation,
        guard: Guard,
        pool: ThreadPoolExecutor,
        chunks: Sequence[Chunks],
        lock: threading.Lock,
        *,
        distinct: bool = False,
    ) -> None:
        self._distinct = distinct
        self._guard = guard
        self._pool = pool
        self._lock = lock
        self._relation = relation
        self._runners = [compile_plan(plan, scope, mine, self._sink(mine)) for mine in chunks]

    def run(self, rows: Rows) -> None:
        """Derive everything that the rule gives for these first rows."""
        ticket = count()
        tasks = [lambda r=r: self._work(r, rows, ticket) for r in self._runners]
        together(self._pool, self._guard, tasks)

    def _work(self, runner: Runner, rows: Rows, ticket: count[int]) -> None:
        while not self._guard.stopped:
            begin = next(ticket) * CHUNK
            if begin >= rows.shape[0]:
                return
            chunk = rows[begin : begin + CHUNK]
            runner.push(chunk, chunk.shape[0])
        raise Stopped

    def _sink(self, chunks: Chunks) -> Callable[[Rows, int], None]:
        relation, guard, lock = self._relation, self._guard, self._lock
        out = chunks.at(_SINK, relation.arity)
        add = relation.append if self._distinct else relation.insert
        can_look = not isinstance(relation, KeyedRelation) and not self._distinct

        def sink(cand: Rows, n: int) -> None:
            check = relation.check
            if can_look and check is not None:
                n = check.unseen(cand, n, out)
                cand = out
            if n:
                with lock:
                    guard.tuples += add(cand, n)
            guard.check()

        return sink


def together(pool: ThreadPoolExecutor, guard: Guard, tasks: Sequence[Callable[[], None]]) -> None:
    """Run the tasks at the same time; when one fails, or the user interrupts, stop them all."""
    futures = [pool.submit(task) for task in tasks[1:]]
    error: BaseException | None = None
    try:
        tasks[0]()
    except BaseException as caught:
        error, guard.stopped = caught, True
    for future in futures:
        try:
            future.result()
        except BaseException as caught:
            if error is None or (isinstance(error, Stopped) and not isinstance(caught, Stopped)):
                error = caught
            guard.stopped = True
    if error is not None:
        raise error
