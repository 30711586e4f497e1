"""Annotated relations kept current: one value for each tuple, the best that rules derive.

A value stays while an instance still derives it from premises that come before it: from better
values, or from equal ones of lower rank (its rank is when it became what it is). Premises are
never worse than what they derive, so a premise that improves comes before it all the more, and
values that are equal all round a cycle do not hold each other up. What has lost its support is
taken out, with all that hung on it, and gets the best that the rest offers (Ramalingam and Reps,
1996, over rules instead of edges).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import NONE, Delta
from whence.engine.local.operators import Push
from whence.engine.local.rules import Scope, compile_plan, compile_steps
from whence.plan.build import plan_stratum
from whence.plan.delta import instances_plan
from whence.plan.nodes import Keyed, Stratum
from whence.syntax.nodes import Rule
from whence.view.base import StratumWork
from whence.view.choice import Choice
from whence.view.lone import Lone, copied
from whence.view.reading import reads
from whence.view.rules import Deltas, Machine, Rules
from whence.view.values import ABSENT, Floats, Mask, Values, as_floats

_UNRANKED = 1 << 60
"""The rank of what has none yet: above all others."""


class AnnotatedRules(Rules):
    """The rules of a stratum of annotated relations; what they derive is offered as values."""

    def __init__(
        self,
        stratum: Stratum,
        values: Mapping[str, Values],
        scope: Scope,
        machine: Machine,
    ) -> None:
        super().__init__(stratum, machine.relations, scope, machine, 0)
        self._values = values
        self._plans = scope
        self._take: Callable[[Rows], None] = lambda rows: None
        self._instances: dict[int, Push] = {}

    def derive_once(self) -> None:
        """Offer what the rules without recursion give."""
        for plan in plan_stratum(self.stratum, self._sizes()).once:
            sink = self._admit_sink(plan.rule)
            runner = compile_plan(plan, self._plans, self._workers[0].chunks, sink)
            self._push_rows(runner.push, runner.source())

    def instances(self, name: str, keys: Rows, take: Callable[[Rows], None]) -> None:
        """Let `take` have the instances of all rules that derive a value for one of the keys.

        A row has the number of the key, the value, and value and rank of each recursive premise.
        """
        source = np.column_stack([keys, np.arange(keys.shape[0])])
        self._take = take
        for rule in self._by_head.get(name, ()):
            push = self._instances.get(id(rule))
            if push is None:
                push = self._instances[id(rule)] = self._instances_of(rule)
            self._push_rows(push, source)

    def _instances_of(self, rule: Rule) -> Push:
        own = {name: self._values[name].keyed for name in self.own}
        keyed = self._values[rule.head.relation].keyed
        plan = instances_plan(rule, keyed, own, self._sizes())
        chunks = self._workers[0].chunks
        return compile_steps(
            plan.steps, plan.head, {}, self._plans, chunks, lambda rows, n: self._take(rows[:n])
        )

    def _admit_sink(self, rule: Rule) -> Push:
        values = self._values[rule.head.relation]

        def sink(cand: Rows, n: int) -> None:
            values.offer(values.keys(cand[:n]), values.of(cand[:n]))

        return sink


class AnnotatedStratum:
    """A stratum of annotated relations that are computed together."""

    def __init__(self, stratum: Stratum, keyed: Mapping[str, Keyed], machine: Machine) -> None:
        self.stratum = stratum
        self.machine = machine
        self.reads = reads(stratum)
        self.choice = Choice(0.0)
        self.rules: Rules | None = None
        self._values = {n: Values(machine.relations[n], keyed[n]) for n in stratum.relations}
        scope = machine.evaluation.scope(machine.guard)
        self._rules = AnnotatedRules(stratum, self._values, scope, machine)
        self._touched: dict[str, list[Ints]] = {}
        self._copied = copied(stratum)
        self._lone: Lone | None = None
        if self._copied is not None:
            (values,) = self._values.values()
            self._lone = Lone(machine.relations[self._copied], values)

    def begin(self) -> None:
        """Take the values that an evaluation has found, and rank them.

        Where a value has an instance with better premises only, any rank will do; what equal
        values derive from each other is ranked from there on.
        """
        for values in self._values.values():
            values.adopt()
            values.relation.rows[: values.relation.size, -1] = _UNRANKED
        left = {name: values.relation.living() for name, values in self._values.items()}
        while self._rules.own and any(ids.shape[0] for ids in left.values()):
            found = {}
            for name, ids in left.items():
                supported = self._supported(name, ids)
                found[name], left[name] = ids[supported], ids[~supported]
            for name, ids in found.items():
                self._values[name].relation.rows[ids, -1] = self._rules.clock
            if not any(ids.shape[0] for ids in found.values()):
                raise AssertionError("an evaluated annotation has no derivation")
            self._rules.clock += 1
        for values in self._values.values():
            if not self._rules.own:
                values.relation.rows[: values.relation.size, -1] = 0
            values.relation.sync_all()
        self._rules.clock += 1
        if self._lone is not None:
            self._lone.begin()

    def maintain(self, strategy: str, deltas: Deltas) -> tuple[dict[str, Delta], StratumWork]:
        """Bring the stratum up to date with the changes below; return its own, and the work."""
        started = time.perf_counter()
        work = StratumWork(self.stratum.number, self.stratum.relations, "annotations")
        self._touched = {}
        followed = self._lone.follow(deltas.get(self._copied or "")) if self._lone else None
        if followed is not None:
            ((name, _),) = self._values.items()
            self._rules.took_out(followed.went.shape[0] - followed.came.shape[0])
            work.inserted, work.deleted = followed.came.shape[0], followed.went.shape[0]
            work.seconds = time.perf_counter() - started
            return ({name: followed} if followed else {}), work
        if strategy == "recompute":
            work.strategy = strategy
            for name, values in self._values.items():
                self._forget(name, values.relation.living())
            self._rules.derive_once()
            self._improve()
        else:
            for name, keys in self._remove(deltas, work).items():
                self._offer_again(name, keys)
            self._rules.gain(deltas)
            self._improve()
        found = self._net(work)
        work.seconds = time.perf_counter() - started
        return found, work

    # ── what goes ──

    def _remove(self, deltas: Deltas, work: StratumWork) -> dict[str, Rows]:
        """Take out what has no support left, to completion; return its keys."""
        rules = self._rules
        removed: dict[str, list[Rows]] = {}
        lost = {n: heads.ids for n, heads in rules.lose(deltas, ranked=False).items()}
        while lost:
            gone = {}
            for name, ids in lost.items():
                work.asked += ids.shape[0]
                ids = ids[~self._supported(name, ids)]
                if ids.shape[0]:
                    gone[name] = ids
            found = rules.lose_own(gone, ranked=False) if rules.own and gone else {}
            for name, ids in gone.items():
                work.removed += ids.shape[0]
                values = self._values[name]
                removed.setdefault(name, []).append(values.keys(values.relation.rows[ids]))
                self._forget(name, ids)
            lost = {}
            for name, heads in found.items():
                there = heads.ids[self._values[name].relation.dead[heads.ids] == 0]
                if there.shape[0]:
                    lost[name] = there
        return {name: np.concatenate(parts) for name, parts in removed.items()}

    def _supported(self, name: str, ids: Ints) -> Mask:
        """Say which rows an instance derives from premises that come before them."""
        values = self._values[name]
        rows = values.relation.rows[ids]
        have, rank = values.of(rows), rows[:, -1]
        supported = np.zeros(ids.shape[0], dtype=np.bool_)

        def mark(found: Rows) -> None:
            at = found[:, 0]
            holds = as_floats(found[:, 1]) == have[at]
            for column in range(2, found.shape[1], 2):
                premise = as_floats(found[:, column])
                earlier = (premise == have[at]) & (found[:, column + 1] < rank[at])
                holds &= values.better(premise, have[at]) | earlier
            supported[at[holds]] = True

        self._rules.instances(name, values.keys(rows), mark)
        return supported

    def _forget(self, name: str, ids: Ints) -> None:
        self._values[name].forget(ids)
        self._rules.took_out(ids.shape[0])
        self._touched.setdefault(name, []).append(ids)

    # ── what comes ──

    def _offer_again(self, name: str, keys: Rows) -> None:
        """Offer the best that instances give for these keys now."""
        values = self._values[name]
        best: Floats = np.full(keys.shape[0], ABSENT)
        self._rules.instances(
            name, keys, lambda found: values.keep_best(best, found[:, 0], as_floats(found[:, 1]))
        )
        there = ~np.isnan(best)
        values.offer(keys[there], best[there])

    def _improve(self) -> None:
        """Let what has been offered count where it is better, and follow it."""
        rules = self._rules
        while True:
            for name, values in self._values.items():
                rows, replaced = values.take_offers()
                if rows.shape[0]:
                    values.relation.bury(replaced)
                    rules.took_out(replaced.shape[0])
                    values.relation.admit(rows, rows.shape[0])
                    self._touched.setdefault(name, []).append(replaced)
            wave = rules.wave()
            for name, ids in wave.items():
                self._touched.setdefault(name, []).append(ids)
            if not wave or not rules.own:
                return
            rules.gain_own(wave)

    def _net(self, work: StratumWork) -> dict[str, Delta]:
        found = {}
        for name, parts in self._touched.items():
            relation = self._values[name].relation
            ids = np.unique(np.concatenate(parts)) if parts else NONE
            dead, was = relation.dead[ids] != 0, relation.was[ids] != 0
            delta = Delta(ids[~dead & was], ids[dead & ~was])
            work.inserted += delta.came.shape[0]
            work.deleted += delta.went.shape[0]
            if delta:
                found[name] = delta
        return found
