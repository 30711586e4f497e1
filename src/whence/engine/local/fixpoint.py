"""Semi-naive evaluation of one stratum: rules once, then delta rules until nothing is new."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from whence.engine.base import Observer, Round
from whence.engine.local.domination import Dominator
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.parallel import ParallelRule
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Runner, Scope, compile_plan
from whence.plan.nodes import Probe, RulePlan, Step, StratumPlan

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
        self._chunks = [Chunks() for _ in range(threads)]
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

        for plan in self._plan.once:
            self._run_rule(self._compile(plan))
        for relation in self._relations:
            relation.restart()
        self._dominate()
        report(sum(r.size for r in self._relations))
        if self._plan.recursive:
            rules = [self._compile(plan) for plan in self._plan.repeated]
            new = sum(r.delta().shape[0] for r in self._relations)
            while new and not self._full():
                rounds += 1
                for rule in rules:
                    self._run_rule(rule)
                new = sum([relation.advance() for relation in self._relations])
                self._dominate()
                report(new)
                self._guard.check()
        for relation in self._relations:
            relation.settle()
        return rounds

    def _full(self) -> bool:
        """Say whether a relation has reached its `.limitsize`."""
        return any(
            r.size >= self._limits[r.name] for r in self._relations if r.name in self._limits
        )

    def _dominate(self) -> None:
        for dominator in self._dominators:
            dominator.bury()

    def _compile(self, plan: RulePlan) -> _Rule:
        serial = compile_plan(plan, self._scope, self._chunks[0], self._sink(plan.head.relation))
        return _Rule(serial, not any(map(self._probes_changing_rows, plan.steps)))

    def _probes_changing_rows(self, step: Step) -> bool:
        """Say whether other threads may change several columns of a row that the step reads."""
        if not isinstance(step, Probe) or step.relation not in self._plan.relations:
            return False
        found = self._scope.relations[step.relation]
        return isinstance(found, KeyedRelation) and len(found.keyed.key) + 1 < found.arity

    def _sink(self, name: str) -> Callable[[Rows, int], None]:
        relation, guard = self._scope.relations[name], self._guard
        insert, check = relation.insert, guard.check

        def sink(cand: Rows, n: int) -> None:
            guard.tuples += insert(cand, n)
            guard.work += n
            check()

        return sink

    def _run_rule(self, rule: _Rule) -> None:
        rows = rule.serial.source()
        n = rows.shape[0]
        if n == 0:
            return
        if n >= PARALLEL_ROWS and self._pool is not None and rule.shareable:
            if rule.parallel is None:
                rule.parallel = ParallelRule(
                    rule.serial.plan,
                    self._scope,
                    self._guard,
                    self._pool,
                    self._chunks,
                    self._locks[rule.serial.plan.head.relation],
                )
            rule.parallel.run(rows)
            return
        push = rule.serial.push
        if n <= CHUNK:
            push(rows, n)
            return
        for begin in range(0, n, CHUNK):
            chunk = rows[begin : begin + CHUNK]
            push(chunk, chunk.shape[0])


@dataclass(slots=True)
class _Rule:
    """A rule compiled for the calling thread and, once it pays, for all of them."""

    serial: Runner
    shareable: bool
    parallel: ParallelRule | None = None


def relation_sizes(relations: Mapping[str, Relation]) -> dict[str, int]:
    """Return the number of rows of each relation."""
    return {name: relation.size for name, relation in relations.items()}
