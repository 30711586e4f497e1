"""Semi-naive evaluation of one stratum: rules once, then delta rules until nothing is new."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np

from whence.engine.base import Observer, Round
from whence.engine.local.domination import Dominator
from whence.engine.local.guard import Guard, Stopped
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.operators import CHUNK
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Runner, Scope, compile_plan
from whence.plan.nodes import RulePlan, StratumPlan

PARALLEL_ROWS = 2 * CHUNK
"""A rule that starts from fewer rows runs in the calling thread."""


class Fixpoint:
    """One stratum's rules, compiled for each thread, and the loop over its rounds."""

    def __init__(
        self,
        plan: StratumPlan,
        scope: Scope,
        guard: Guard,
        *,
        threads: int,
        pool: ThreadPoolExecutor | None,
        limits: Mapping[str, int],
    ) -> None:
        self._plan = plan
        self._scope = scope
        self._guard = guard
        self._threads = threads
        self._pool = pool
        self._limits = limits
        self._relations = [scope.relations[name] for name in plan.relations]
        self._locks = {name: threading.Lock() for name in plan.relations}
        self._dominators = [Dominator(d, scope) for d in plan.dominations]

    def run(self, observer: Observer | None, strata: int) -> int:
        """Evaluate to the fixpoint and return the number of rounds."""
        started = time.perf_counter()
        rounds = 0

        def report(new: int) -> None:
            if observer is not None:
                total = sum(r.size for r in self._relations)
                event = Round(
                    self._plan.number,
                    strata,
                    self._plan.relations,
                    rounds,
                    new,
                    total,
                    time.perf_counter() - started,
                )
                observer.on_round(event)

        for rule in self._plan.once:
            self._run_rule([self._compile(rule)])
        for relation in self._relations:
            relation.restart()
        self._dominate()
        report(sum(r.size for r in self._relations))
        if self._plan.recursive:
            rules = [[self._compile(rule)] for rule in self._plan.repeated]
            new = sum(r.delta().shape[0] for r in self._relations)
            while new and not self._full():
                rounds += 1
                for runners in rules:
                    self._run_rule(runners)
                new = sum([relation.advance() for relation in self._relations])
                self._dominate()
                report(new)
                self._guard.check()
        for relation in self._relations:
            relation.settle()
        return rounds

    def _full(self) -> bool:
        """Say whether a relation has reached its `.limitsize`."""
        return any(r.size >= self._limits[r.name] for r in self._relations if r.name in self._limits)

    def _dominate(self) -> None:
        for dominator in self._dominators:
            dominator.bury()

    def _compile(self, plan: RulePlan) -> Runner:
        return compile_plan(plan, self._scope, self._sink(plan.head.relation))

    def _sink(self, name: str) -> Callable[[Rows, int], None]:
        relation, guard = self._scope.relations[name], self._guard
        insert, check = relation.insert, guard.check

        def sink(cand: Rows, n: int) -> None:
            guard.tuples += insert(cand, n)
            check()

        return sink

    def _shared_sink(self, name: str) -> Callable[[Rows, int], None]:
        """As `_sink`, for several threads: look without the lock, insert with it."""
        relation, guard, lock = self._scope.relations[name], self._guard, self._locks[name]
        out = np.empty((CHUNK, relation.arity), dtype=np.int64)
        can_look = not isinstance(relation, KeyedRelation)

        def sink(cand: Rows, n: int) -> None:
            check = relation.check
            if can_look and check is not None:
                n = check.unseen(cand, n, out)
                cand = out
            if n:
                with lock:
                    guard.tuples += relation.insert(cand, n)
            guard.check()

        return sink

    def _run_rule(self, runners: list[Runner]) -> None:
        rows = runners[0].source()
        n = rows.shape[0]
        if n == 0:
            return
        if self._pool is None or n < PARALLEL_ROWS:
            push = runners[0].push
            if n <= CHUNK:
                push(rows, n)
                return
            for begin in range(0, n, CHUNK):
                chunk = rows[begin : begin + CHUNK]
                push(chunk, chunk.shape[0])
        else:
            self._run_parallel(runners, rows)

    def _run_parallel(self, runners: list[Runner], rows: Rows) -> None:
        """Let the threads take chunks of the rows in turn; the first runner is the serial one."""
        assert self._pool is not None
        plan = runners[0].plan
        while len(runners) < 1 + self._threads:
            sink = self._shared_sink(plan.head.relation)
            runners.append(compile_plan(plan, self._scope, sink))
        ticket = count()

        def work(runner: Runner) -> None:
            while True:
                begin = next(ticket) * CHUNK
                if begin >= rows.shape[0] or self._guard.stopped:
                    return
                chunk = rows[begin : begin + CHUNK]
                runner.push(chunk, chunk.shape[0])

        _together(self._pool, self._guard, [lambda r=r: work(r) for r in runners[1:]])  # type: ignore[misc]


def _together(
    pool: ThreadPoolExecutor, guard: Guard, tasks: Sequence[Callable[[], None]]
) -> None:
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
        except Stopped:
            continue
        except BaseException as caught:
            if error is None or isinstance(error, Stopped):
                error = caught
            guard.stopped = True
    if error is not None:
        raise error


def relation_sizes(relations: Mapping[str, Relation]) -> dict[str, int]:
    """Return the number of rows of each relation."""
    return {name: relation.size for name, relation in relations.items()}
