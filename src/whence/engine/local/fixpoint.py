"""Semi-naive evaluation of one stratum: rules once, then delta rules until nothing is new."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from whence.engine.base import Observer, Round
from whence.engine.local.buckets import buckets_of
from whence.engine.local.divergence import Show, Watch
from whence.engine.local.domination import Dominator
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.parallel import ParallelRule
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Runner, Scope, compile_plan
from whence.engine.local.search import Endless, run_search
from whence.engine.local.selection import Followed
from whence.plan.distinct import derives_distinct
from whence.plan.nodes import Probe, RulePlan, Step, StratumPlan
from whence.syntax.nodes import Kind, RelationDecl

PARALLEL_ROWS = 2 * CHUNK
"""A rule that starts from fewer rows runs in the calling thread."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How to speak about the rows of the relations, should a recursion never end."""

    decls: Mapping[str, RelationDecl]
    kinds: Mapping[str, tuple[Kind, ...]]
    rows: Show
    refusals: Mapping[str, str]


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
        shown: Shown | None = None,
    ) -> None:
        self._plan = plan
        self._scope = scope
        self._guard = guard
        self._chunks = [Chunks() for _ in range(threads)]
        self._pool = pool
        self._limits = limits
        self._relations = [scope.relations[name] for name in plan.relations]
        self._followed = {
            name: Followed(scope.relations[name], selections)
            for name, selections in plan.selections
        }
        self._inner = replace(scope, relations={**scope.relations, **self._followed})
        self._shown = shown
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
            self._run_rule(self._compile(plan, self._scope, distinct=self._is_distinct(plan)))
        for relation in self._relations:
            if self._plan.recursive or self._plan.dominations:
                relation.restart()
            else:
                relation.settle()
        self._dominate()
        report(sum(r.size for r in self._relations))
        if self._plan.recursive and not self._searched():
            for followed in self._followed.values():
                followed.advance()
            rules = [self._compile(plan, self._inner) for plan in self._plan.repeated]
            watches = self._watches()
            buckets = buckets_of(self._plan, self._relations)
            new = sum(self._inner.relations[r.name].delta().shape[0] for r in self._relations)
            while new and not self._full():
                rounds += 1
                for rule in rules:
                    self._run_rule(rule)
                new = buckets.advance() if buckets else self._advance_all()
                self._dominate()
                report(new)
                self._guard.check()
                for watch in watches:
                    watch.look(rounds)
        for relation in self._relations:
            relation.settle()
        return rounds

    def _searched(self) -> bool:
        """Complete the stratum by a search, if it is one."""
        search, guard = self._plan.search, self._guard
        if search is None or search.relation in self._limits:
            return False
        tuples = guard.tuples
        try:
            run_search(search, self._plan.steps, self._scope, guard, len(self._chunks), self._pool)
        except Endless:  # round by round it will be seen whether it ends
            guard.tuples, guard.stopped = tuples, False
            return False
        return True

    def _advance_all(self) -> int:
        return sum([self._advance(relation) for relation in self._relations])

    def _advance(self, relation: Relation) -> int:
        """Make what was derived the delta, and return how much of it the recursion follows."""
        new = relation.advance()
        followed = self._followed.get(relation.name)
        return new if followed is None else followed.advance()

    def _watches(self) -> list[Watch]:
        """Return a watch for each relation that may grow for ever."""
        shown, selections = self._shown, dict(self._plan.selections)
        if shown is None:
            return []
        return [
            Watch(
                growth,
                shown.decls[growth.relation],
                shown.kinds[growth.relation],
                self._inner.relations[growth.relation],
                selections.get(growth.relation, ()),
                [p for p in self._plan.repeated if p.delta == growth.relation],
                self._inner,
                shown.rows,
                shown.refusals.get(growth.relation, ""),
            )
            for growth in self._plan.growths
            if growth.certain and growth.relation not in self._limits
        ]

    def _full(self) -> bool:
        """Say whether a relation has reached its `.limitsize`."""
        return any(
            r.size >= self._limits[r.name] for r in self._relations if r.name in self._limits
        )

    def _dominate(self) -> None:
        for dominator in self._dominators:
            dominator.bury()

    def _compile(self, plan: RulePlan, scope: Scope, *, distinct: bool = False) -> _Rule:
        relation = self._scope.relations[plan.head.relation]
        add = relation.append if distinct else relation.insert
        serial = compile_plan(plan, scope, self._chunks[0], self._sink(add))
        shareable = not any(map(self._probes_changing_rows, plan.steps))
        return _Rule(serial, scope, shareable, distinct)

    def _is_distinct(self, plan: RulePlan) -> bool:
        """Say whether all tuples of a relation come from this rule, and none comes twice."""
        name, relations = plan.head.relation, self._scope.relations
        rules = [p for p in self._plan.once if p.head.relation == name]
        if self._plan.recursive or len(rules) > 1 or relations[name].size:
            return False
        keys = {n: r.keyed.key for n, r in relations.items() if isinstance(r, KeyedRelation)}
        return derives_distinct(plan.rule, keys)

    def _probes_changing_rows(self, step: Step) -> bool:
        """Say whether other threads may change several columns of a row that the step reads."""
        if not isinstance(step, Probe) or step.relation not in self._plan.relations:
            return False
        found = self._scope.relations[step.relation]
        return isinstance(found, KeyedRelation) and len(found.keyed.key) + 1 < found.arity

    def _sink(self, add: Callable[[Rows, int], int]) -> Callable[[Rows, int], None]:
        guard = self._guard
        check = guard.check

        def sink(cand: Rows, n: int) -> None:
            guard.tuples += add(cand, n)
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
                    rule.scope,
                    self._scope.relations[rule.serial.plan.head.relation],
                    self._guard,
                    self._pool,
                    self._chunks,
                    self._locks[rule.serial.plan.head.relation],
                    distinct=rule.distinct,
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
    scope: Scope
    shareable: bool
    distinct: bool
    parallel: ParallelRule | None = None


def relation_sizes(relations: Mapping[str, Relation]) -> dict[str, int]:
    """Return the number of rows of each relation."""
    return {name: relation.size for name, relation in relations.items()}
