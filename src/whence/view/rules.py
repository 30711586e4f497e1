"""The rules of a stratum, compiled for each way in which a change can reach them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.guard import Guard
from whence.engine.local.kernels import live as kernels
from whence.engine.local.kernels import support as asking
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation
from whence.engine.local.live_operators import Mask
from whence.engine.local.operators import CHUNK, Push
from whence.engine.local.parallel import together
from whence.engine.local.rules import Scope, compile_steps
from whence.engine.local.support import compile_support
from whence.plan.delta import Place, gaining_plan, losing_plan, places, supporting_plan
from whence.plan.nodes import RulePlan, Stratum
from whence.syntax.nodes import Rule
from whence.view.heads import Collector, Heads

Deltas = Mapping[str, Delta]

_SHARE = 1 << 18
"""Heads that are asked at a time when all are."""

_WORTH_A_THREAD = 4096
"""Heads to be asked for which a thread of its own pays."""


@dataclass(slots=True)
class Machine:
    """What the strata of a view share."""

    evaluation: LocalEvaluation
    relations: dict[str, LiveRelation]
    guard: Guard
    threads: int
    _pool: ThreadPoolExecutor | None = None

    def pool(self) -> ThreadPoolExecutor:
        """Return the threads beside the calling one; there are some only if there are several."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max(self.threads - 1, 1))
        return self._pool


class TooSlow(Exception):
    """A deadline has passed: recomputation would have been quicker."""


class Rules:
    """The rules of a stratum, compiled for each way in which a change can reach them."""

    def __init__(
        self,
        stratum: Stratum,
        relations: Mapping[str, LiveRelation],
        scope: Scope,
        machine: Machine,
        clock: int,
    ) -> None:
        self.stratum = stratum
        self._machine = machine
        self.own = frozenset(stratum.relations) if stratum.recursive else frozenset[str]()
        self.relations = relations
        self.clock = clock
        self.deadline: float | None = None
        self._scope = scope
        self._guard = machine.guard
        own = [relations[name] for name in stratum.relations]
        self._workers = [Collector(own) for _ in range(machine.threads)]
        self._compiled: dict[tuple[object, ...], Push] = {}
        self._fanout: dict[tuple[object, ...], float] = {}
        self._supported = np.zeros(64, dtype=np.uint8)
        self._witness: Ints = np.zeros(64, dtype=np.int64)
        for relation in own if stratum.recursive else ():
            relation.keep_witnesses()
        self._places = [(rule, place) for rule in stratum.rules for place in places(rule)]
        self.selected = tuple(name for name, _ in stratum.selections)
        self._by_head: dict[str, list[Rule]] = {}
        for rule in sorted(stratum.rules, key=self._reads_own):
            self._by_head.setdefault(rule.head.relation, []).append(rule)

    def _reads_own(self, rule: Rule) -> int:
        return sum(place.relation in self.own for place in places(rule))

    # ── the steps of maintenance ──

    def lose(self, deltas: Deltas, *, ranked: bool) -> dict[str, Heads]:
        """Return the rows that instances lost below may have supported."""
        for rule, place in self._places:
            delta = deltas.get(place.relation)
            if delta is not None and place.relation not in self.own:
                ids = delta.came if place.negated else delta.went
                self._lose_from(rule, place, ids, ranked)
        return self._collect()

    def lose_own(self, gone: Mapping[str, Ints], *, ranked: bool) -> dict[str, Heads]:
        """Return the rows that instances over these rows, still there, may have supported."""
        for rule, place in self._places:
            ids = gone.get(place.relation)
            if ids is not None:
                self._lose_from(rule, place, ids, ranked)
        return self._collect()

    def heads(self, name: str, ids: Ints, *, ranked: bool) -> Heads:
        """Return rows as heads to be asked; if not `ranked`, support of any rank will do."""
        relation = self.relations[name]
        tuples = np.empty((ids.shape[0], relation.arity + 2), dtype=np.int64)
        asking.take_heads(ids, relation.rows, ranked, tuples)
        return Heads(ids, tuples)

    def supported(self, name: str, heads: Heads) -> Mask:
        """Say for which of the heads some instance is there, with all ranks below the head's."""
        n = heads.ids.shape[0]
        if n > self._supported.shape[0]:
            self._supported = np.zeros(2 * n, dtype=np.uint8)
            self._witness = np.zeros(2 * n, dtype=np.int64)
        flags = self._supported
        flags[:n] = 0
        source = heads.tuples
        for rule in self._by_head.get(name, ()):
            self._ask(rule, source)
            done = np.count_nonzero(flags[:n])
            if done == n:
                break
            if 2 * (n - done) < source.shape[0]:
                source = source[flags[source[:, -1]] == 0]
        mask: Mask = flags[:n].view(np.bool_)
        if self.own:
            self.relations[name].witness[heads.ids[mask]] = self._witness[:n][mask]
        return mask

    def _ask(self, rule: Rule, source: Rows) -> None:
        """Mark the heads that the rule supports."""
        self._share(lambda worker: self._supporting(rule, worker), source, source.shape[0])

    def _lose_from(self, rule: Rule, place: Place, ids: Ints, ranked: bool) -> None:
        """Collect the heads of the instances of a rule that lost these premises."""
        if not ids.shape[0]:
            return
        source = self.relations[place.relation].rows[ids]
        key = (id(rule), place)
        before = sum(worker.met for worker in self._workers)
        expected = int(self._fanout.get(key, 1.0) * ids.shape[0])
        self._share(lambda worker: self._losing(rule, place, ranked, worker), source, expected)
        met = sum(worker.met for worker in self._workers) - before
        self._fanout[key] = met / ids.shape[0]

    def _share(self, push: Callable[[int], Push], source: Rows, work: int) -> None:
        """Push rows, on as many threads as the work is worth."""
        workers = min(self._machine.threads, work // _WORTH_A_THREAD, source.shape[0])
        if workers < 2:
            self._push_rows(push(0), source)
            return
        pushes = [push(worker) for worker in range(workers)]
        cuts = [source.shape[0] * i // workers for i in range(workers + 1)]
        tasks = [
            partial(self._push_rows, pushes[i], source[cuts[i] : cuts[i + 1]])
            for i in range(workers)
        ]
        together(self._machine.pool(), self._guard, tasks)

    def gain(self, deltas: Deltas) -> None:
        """Make pending what instances won below derive."""
        for rule, place in self._places:
            delta = deltas.get(place.relation)
            if delta is not None and place.relation not in self.own:
                ids = delta.went if place.negated else delta.came
                self._push(rule, place, self._gaining(rule, place), ids)

    def gain_own(self, wave: Mapping[str, Ints]) -> None:
        """Make pending what instances over these new rows derive."""
        for rule, place in self._places:
            ids = wave.get(place.relation)
            if ids is not None and place.relation in self.own:
                self._push(rule, place, self._gaining(rule, place), ids)

    def wave(self) -> dict[str, Ints]:
        """Let what is pending be seen; return its rows."""
        found = {}
        for name in self.stratum.relations:
            ids = self.relations[name].wave(self.clock)
            if ids.shape[0]:
                self.clock += ids.shape[0]
                self._guard.tuples += ids.shape[0]
                found[name] = ids
        self.check()
        return found

    def took_out(self, tuples: int) -> None:
        """Count tuples that are there no longer."""
        self._guard.tuples -= tuples

    def abandon(self) -> None:
        """Forget what a maintenance that was broken off has collected."""
        self.deadline = None
        self._guard.stopped = False
        self._collect()

    def check(self) -> None:
        """Raise when a limit or the deadline has passed."""
        self._guard.check()
        if self.deadline is not None and time.perf_counter() > self.deadline:
            raise TooSlow

    def follow(self, wave: dict[str, Ints]) -> dict[str, Ints]:
        """Return those of the new rows that the recursion follows."""
        for name in self.selected:
            if name in wave:
                relation, ids = self.relations[name], wave[name]
                assert relation.selector is not None
                chosen = ids[relation.selector.admit(ids)]
                relation.follow(chosen)
                wave[name] = chosen
        return wave

    def take_over(self, removed: Mapping[str, Ints]) -> dict[str, Ints]:
        """Return the rows that are best where these were, and have not been followed yet."""
        found = {}
        for name in self.selected:
            if name in removed:
                relation = self.relations[name]
                assert relation.selector is not None
                chosen = relation.selector.retract(removed[name])
                relation.follow(chosen)
                if chosen.shape[0]:
                    found[name] = chosen
        return found

    def followed(self, gone: Mapping[str, Ints]) -> dict[str, Ints]:
        """Return those of the rows that are followed: only they have been joined with."""
        if not self.selected:
            return dict(gone)
        return {
            name: ids[self.relations[name].rows[ids, -1] < kernels.IDLE]
            if name in self.selected
            else ids
            for name, ids in gone.items()
        }

    # ── compiled rules ──

    def _push(self, rule: Rule, place: Place, push: Push, ids: Ints) -> None:
        if ids.shape[0]:
            self._push_rows(push, self.relations[place.relation].rows[ids])

    def _push_rows(self, push: Push, rows: Rows) -> None:
        for begin in range(0, rows.shape[0], CHUNK):
            chunk = rows[begin : begin + CHUNK]
            push(chunk, chunk.shape[0])
            self.check()

    def _losing(self, rule: Rule, place: Place, ranked: bool, worker: int) -> Push:
        return self._compile(
            ("lose", id(rule), place, ranked, worker),
            lambda: losing_plan(rule, place, self.own, self._sizes()),
            lambda plan: self._workers[worker].sink(
                self.relations[rule.head.relation], len(plan.head.args) if ranked else 0
            ),
            worker,
        )

    def _gaining(self, rule: Rule, place: Place) -> Push:
        return self._compile(
            ("gain", id(rule), place),
            lambda: gaining_plan(rule, place, self.own, self._sizes()),
            lambda _: self._admit_sink(rule),
        )

    def _supporting(self, rule: Rule, worker: int) -> Push:
        key = ("support", id(rule), worker)
        found = self._compiled.get(key)
        if found is None:
            plan = supporting_plan(rule, self.own, self._sizes())
            chunks = self._workers[worker].chunks
            found = self._compiled[key] = compile_support(
                plan, self.own, self._scope, chunks, lambda: (self._supported, self._witness)
            )
        return found

    def _compile(
        self,
        key: tuple[object, ...],
        plan: Callable[[], RulePlan],
        sink: Callable[[RulePlan], Push],
        worker: int = 0,
    ) -> Push:
        found = self._compiled.get(key)
        if found is None:
            made, chunks = plan(), self._workers[worker].chunks
            found = self._compiled[key] = compile_steps(
                made.steps, made.head, {}, self._scope, chunks, sink(made)
            )
        return found

    @property
    def compilations(self) -> int:
        """How many plans have been compiled."""
        return len(self._compiled)

    def prepare(self) -> None:
        """Compile all plans, and build the indexes that they need, before the first change."""
        for rule, place in self._places:
            self._losing(rule, place, True, 0)
            self._gaining(rule, place)
        for rule in self.stratum.rules:
            self._supporting(rule, 0)
        for name in self.own:
            ids = self.relations[name].living()
            for begin in range(0, ids.shape[0], _SHARE):
                # Whoever has been asked once is asked again only when that support is lost.
                self.supported(name, self.heads(name, ids[begin : begin + _SHARE], ranked=True))

    def _sizes(self) -> dict[str, int]:
        return {name: relation.alive for name, relation in self.relations.items()}

    def _collect(self) -> dict[str, Heads]:
        first, *others = self._workers
        for name in self.stratum.relations:
            for other in others:
                if other.count[name]:
                    first.join(name, other)
        return {name: first.take(name) for name, count in first.count.items() if count}

    def _admit_sink(self, rule: Rule) -> Push:
        """Return what takes the heads that a rule derives."""
        relation = self.relations[rule.head.relation]

        def sink(cand: Rows, n: int) -> None:
            relation.admit(cand, n)

        return sink
