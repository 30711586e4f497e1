"""Ranked support: a tuple stays while some instance supports it from premises of lower rank.

Every derived tuple has a rank above the ranks of the same-stratum premises of at least one of its
instances, so support is well-founded: no cycle of tuples can keep itself alive. After a change
below, (a) the heads of lost instances are asked for another such instance; (b) those that have
none are taken out, and what they supported is asked in turn, until nothing is; (c) then what was
taken out and still has any instance comes back, and what is new is derived, semi-naively, each
with a rank above all others; (d) the net change is reported.

Without the guard of ranks this is DRed (Gupta, Mumick and Subrahmanian 1993): every head of a lost
instance is taken out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from whence.engine.local.buffers import grown, reserve
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.guard import Guard
from whence.engine.local.kernels import live as kernels
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.live import NONE, Delta, LiveRelation
from whence.engine.local.live_operators import Mask
from whence.engine.local.operators import CHUNK, Chunks, Push
from whence.engine.local.parallel import together
from whence.engine.local.rules import Scope, compile_steps
from whence.engine.local.support import compile_support
from whence.plan.delta import Place, gaining_plan, losing_plan, places, supporting_plan
from whence.plan.nodes import RulePlan, Stratum
from whence.syntax.nodes import Rule
from whence.view.base import StratumWork

MAX_WAVES = 1000
"""Waves after which a recursion that may never end is evaluated anew, which tells."""


_WORTH_A_THREAD = 4096
"""Heads to be asked for which a thread of its own pays."""


@dataclass(slots=True)
class Machine:
    """What the strata of a view share."""

    evaluation: LocalEvaluation
    relations: Mapping[str, LiveRelation]
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


class Endless(Exception):
    """A recursion that makes new values goes on suspiciously long."""


Deltas = Mapping[str, Delta]


@dataclass(frozen=True, slots=True)
class Heads:
    """Rows to be asked, and the same as tuples, each with its rank and its number."""

    ids: Ints
    tuples: Rows


class _Worker:
    """What one thread collects: heads that have lost an instance, each once."""

    def __init__(self, relations: Sequence[LiveRelation]) -> None:
        self.chunks = Chunks()
        self.met = 0
        self.count = {relation.name: 0 for relation in relations}
        self._ids: dict[str, Ints] = {r.name: np.empty(64, np.int64) for r in relations}
        self._heads: dict[str, Rows] = {
            r.name: np.empty((64, r.arity + 2), np.int64) for r in relations
        }
        self._seen: dict[str, Flags] = {r.name: np.zeros(64, np.uint8) for r in relations}

    def sink(self, relation: LiveRelation, width: int) -> Push:
        """Return what takes heads of a relation, with the ranks of their premises behind."""
        name, k = relation.name, relation.arity
        premises = max(width - k, 0)
        at, ranks = (np.empty(CHUNK, dtype=np.int64) for _ in range(2))

        def sink(cand: Rows, n: int) -> None:
            have = self.count[name]
            self.met += n
            ids = self._ids[name] = grown(self._ids[name], have, have + n)
            heads = self._heads[name] = grown(self._heads[name], have, have + n)
            if self._seen[name].shape[0] < relation.size:
                self._widen(name, relation.size)
            relation.find_ranks(cand, n, (relation.slots, relation.consts), at, ranks)
            self.count[name] = kernels.lost_heads(
                cand, n, premises, k, at, ranks, self._seen[name], ids, heads, have
            )

        return sink

    def _widen(self, name: str, size: int) -> None:
        before = self._seen[name]
        self._seen[name] = reserve(2 * size, np.uint8)
        self._seen[name][: before.shape[0]] = before

    def take(self, name: str) -> Heads:
        """Return what was collected of a relation, and begin anew."""
        n = self.count[name]
        ids = self._ids[name][:n].copy()
        self._seen[name][ids] = 0
        self.count[name] = 0
        return Heads(ids, self._heads[name][:n].copy())

    def join(self, name: str, other: _Worker) -> None:
        """Take over what the other has collected of a relation and this one has not."""
        more = other.take(name)
        n = self.count[name]
        if int(more.ids.max()) >= self._seen[name].shape[0]:
            self._widen(name, int(more.ids.max()) + 1)
        fresh = self._seen[name][more.ids] == 0
        ids = more.ids[fresh]
        m = n + ids.shape[0]
        self._seen[name][ids] = 1
        self._ids[name] = grown(self._ids[name], n, m)
        self._ids[name][n:m] = ids
        heads = self._heads[name] = grown(self._heads[name], n, m)
        heads[n:m] = more.tuples[fresh]
        heads[n:m, -1] = np.arange(n, m)
        self.count[name] = m


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
        self._workers = [_Worker(own) for _ in range(machine.threads)]
        self._compiled: dict[tuple[object, ...], Push] = {}
        self._fanout: dict[tuple[object, ...], float] = {}
        self._supported = np.zeros(64, dtype=np.uint8)
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
        kernels.take_heads(ids, relation.rows, ranked, tuples)
        return Heads(ids, tuples)

    def supported(self, name: str, heads: Heads) -> Mask:
        """Say for which of the heads some instance is there, with all ranks below the head's."""
        n = heads.ids.shape[0]
        if n > self._supported.shape[0]:
            self._supported = np.zeros(2 * n, dtype=np.uint8)
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
        return flags[:n].view(np.bool_)

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
                plan, self._scope, chunks, lambda: self._supported
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
        relation = self.relations[rule.head.relation]

        def sink(cand: Rows, n: int) -> None:
            relation.admit(cand, n)

        return sink


def maintain(
    rules: Rules,
    deltas: Deltas,
    work: StratumWork,
    *,
    ranked: bool,
    suspects: Mapping[str, Ints] | None = None,
) -> dict[str, Delta]:
    """Bring the stratum up to date with the changes below; return its own.

    `suspects` are rows to be asked as well, whatever has changed.
    """
    heads = None if suspects is None else _heads(rules, suspects)
    removed = _remove(rules, heads or rules.lose(deltas, ranked=ranked), work, ranked)
    work.removed += sum(ids.shape[0] for ids in removed.values())
    came: dict[str, list[Ints]] = {}
    back = _restore(rules, removed, came)
    rules.gain(deltas)
    waves = 0
    while True:
        wave = rules.wave()
        _note(came, wave)
        wave = rules.follow(wave)
        for name, ids in back.items():
            wave[name] = np.concatenate([ids, wave[name]]) if name in wave else ids
        back = {}
        if not rules.own or not any(ids.shape[0] for ids in wave.values()):
            break
        rules.gain_own(wave)
        waves += 1
        if waves > MAX_WAVES and rules.stratum.growths:
            raise Endless
    return _net(rules, removed, came, work)


def _heads(rules: Rules, rows: Mapping[str, Ints]) -> dict[str, Heads]:
    return {name: rules.heads(name, ids, ranked=True) for name, ids in rows.items()}


def _restore(
    rules: Rules, removed: Mapping[str, Ints], came: dict[str, list[Ints]]
) -> dict[str, Ints]:
    """Let come back what still has support; return the rows from which more may follow.

    What comes back can only bring back what was taken out with it. So while less is left of that
    than has just come back, those are asked again, instead of following what has come.
    """
    left = dict(removed)
    while True:
        for name, ids in left.items():
            if ids.shape[0]:
                mask = rules.supported(name, rules.heads(name, ids, ranked=False))
                rules.relations[name].revive(ids[mask])
                left[name] = ids[~mask]
        wave = rules.wave()
        _note(came, wave)
        restored = sum(ids.shape[0] for ids in wave.values())
        if rules.selected:
            plain = {name: ids for name, ids in wave.items() if name not in rules.selected}
            return plain | rules.take_over(removed)
        waiting = sum(ids.shape[0] for ids in left.values())
        if not restored or not rules.own or not waiting:
            return {}
        if waiting > 2 * restored:
            return wave


def _note(came: dict[str, list[Ints]], wave: Mapping[str, Ints]) -> None:
    for name, ids in wave.items():
        came.setdefault(name, []).append(ids)


def _remove(
    rules: Rules, lost: Mapping[str, Heads], work: StratumWork, ranked: bool
) -> dict[str, Ints]:
    """Take out what has no support left, to completion; return it."""
    relations = rules.relations
    removed: dict[str, list[Ints]] = {}
    lost = {name: heads for name, heads in lost.items() if heads.ids.shape[0]}
    while lost:
        gone = {}
        for name, heads in lost.items():
            ids = heads.ids
            work.asked += ids.shape[0]
            if ranked:
                ids = ids[~rules.supported(name, heads)]
            if ids.shape[0]:
                gone[name] = ids
        found = rules.lose_own(rules.followed(gone), ranked=ranked) if rules.own else {}
        for name, ids in gone.items():
            relations[name].bury(ids)
            rules.took_out(ids.shape[0])
            removed.setdefault(name, []).append(ids)
        lost = {n: left for n, h in found.items() if (left := _there(relations[n], h)) is not None}
    return {name: np.concatenate(parts) for name, parts in removed.items()}


def _there(relation: LiveRelation, heads: Heads) -> Heads | None:
    """Return those of the heads that have not been taken out since they were found."""
    there = relation.dead[heads.ids] == 0
    if there.all():
        return heads
    if not there.any():
        return None
    tuples = heads.tuples[there]
    tuples[:, -1] = np.arange(tuples.shape[0])
    return Heads(heads.ids[there], tuples)


def _net(
    rules: Rules,
    removed: Mapping[str, Ints],
    came: Mapping[str, Sequence[Ints]],
    work: StratumWork,
) -> dict[str, Delta]:
    found = {}
    for name in rules.stratum.relations:
        relation = rules.relations[name]
        out = removed.get(name, NONE)
        new = np.concatenate(came[name]) if name in came else NONE
        went = out[relation.dead[out] != 0]
        delta = Delta(new[relation.was[new] != 0], went)
        work.restored += out.shape[0] - went.shape[0]
        work.inserted += delta.came.shape[0]
        work.deleted += went.shape[0]
        if delta:
            found[name] = delta
    return found
