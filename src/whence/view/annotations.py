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
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import grown
from whence.engine.local.dictionary import Dictionary
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.live import NONE, Delta, LiveRelation
from whence.engine.local.operators import Push
from whence.engine.local.rules import Scope, compile_plan, compile_steps
from whence.plan.build import plan_stratum
from whence.plan.delta import instances_plan
from whence.plan.nodes import Keyed, RulePlan, Stratum
from whence.syntax.nodes import Rule
from whence.view.base import StratumWork
from whence.view.choice import Choice
from whence.view.reading import reads
from whence.view.rules import Deltas, Machine, Rules

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Values:
    """The value of each key of a relation that has one."""

    def __init__(self, relation: LiveRelation, keyed: Keyed) -> None:
        self.relation = relation
        self.keyed = keyed
        self._keys = Dictionary(len(keyed.key))
        self._value: Floats = np.zeros(16)
        self._there: Flags = np.zeros(16, dtype=np.uint8)

    def better(self, a: Floats, b: Floats) -> Mask:
        return a > b if self.keyed.greatest else a < b

    def of(self, rows: Rows) -> Floats:
        """Return the values of rows."""
        return np.ascontiguousarray(rows[:, self.keyed.value]).view(np.float64)

    def keys(self, rows: Rows) -> Rows:
        """Return the key columns of rows."""
        return np.ascontiguousarray(rows[:, self.keyed.key])

    def row(self, keys: Rows, values: Floats) -> Rows:
        """Return rows with these keys and values."""
        rows = np.empty((keys.shape[0], self.relation.arity), dtype=np.int64)
        rows[:, self.keyed.key] = keys
        rows[:, self.keyed.value] = values.view(np.int64)
        return rows

    def adopt(self) -> None:
        """Take the values from the rows that are there."""
        self._there[:] = 0
        rows = self.relation.live_rows()
        self._set(self._number(self.keys(rows)), self.of(rows))

    def forget(self, ids: Ints) -> None:
        """Take out rows that are there."""
        self.relation.bury(ids)
        self._there[self._number(self.keys(self.relation.rows[ids]))] = 0

    def improve(self, candidates: Rows) -> tuple[Rows, Ints]:
        """Return the candidates that are better than what is there, and the rows they replace."""
        best = self.best(self._number(self.keys(candidates)), self.of(candidates))
        numbers, values = best
        there = self._there[numbers] != 0
        better = ~there | self.better(values, self._value[numbers])
        numbers, values, there = numbers[better], values[better], there[better]
        keys = self._keys.rows[numbers]
        replaced = self.relation.find(self.row(keys[there], self._value[numbers[there]]))
        self._set(numbers, values)
        return self.row(keys, values), replaced

    def best(self, numbers: Ints, values: Floats) -> tuple[Ints, Floats]:
        """Return each number once, with the best of its values."""
        order = np.lexsort((-values if self.keyed.greatest else values, numbers))
        numbers, values = numbers[order], values[order]
        first = np.ones(numbers.shape[0], dtype=np.bool_)
        first[1:] = numbers[1:] != numbers[:-1]
        return numbers[first], values[first]

    def _set(self, numbers: Ints, values: Floats) -> None:
        self._value[numbers] = values
        self._there[numbers] = 1

    def _number(self, keys: Rows) -> Ints:
        numbers = self._keys.encode(keys)
        have, need = self._there.shape[0], self._keys.size
        if need > have:
            self._value = grown(self._value, have, need)
            self._there = grown(self._there, have, need)
            self._there[have:] = 0
        return numbers


class AnnotatedRules(Rules):
    """The rules of a stratum of annotated relations; what they derive is collected."""

    def __init__(
        self,
        stratum: Stratum,
        values: Mapping[str, Values],
        scope: Scope,
        machine: Machine,
    ) -> None:
        super().__init__(stratum, machine.relations, scope, machine, 0)
        self._values = values
        self._scope_of = scope
        self._derived: dict[str, list[Rows]] = {name: [] for name in stratum.relations}
        self._met: list[Rows] = []
        self._instances: dict[int, tuple[Push, RulePlan]] = {}

    def take_derived(self, name: str) -> Rows:
        """Return what has been derived since the last time."""
        parts, self._derived[name] = self._derived[name], []
        arity = self.relations[name].arity
        return np.concatenate(parts) if parts else np.empty((0, arity), dtype=np.int64)

    def derive(self, name: str, rows: Rows) -> None:
        """Count rows as derived."""
        self._derived[name].append(rows)

    def derive_once(self) -> None:
        """Derive what the rules without recursion give."""
        for plan in plan_stratum(self.stratum, self._sizes()).once:
            runner = compile_plan(
                plan, self._scope_of, self._workers[0].chunks, self._admit_sink(plan.rule)
            )
            self._push_rows(runner.push, runner.source())

    def instances(self, name: str, keys: Rows) -> list[Rows]:
        """Return for each rule the instances that derive a value for one of the keys.

        A row has the number of the key, the value, and value and rank of each recursive premise.
        """
        source = np.column_stack([keys, np.arange(keys.shape[0])])
        found = []
        for rule in self._by_head.get(name, ()):
            push, plan = self._instances_of(rule)
            self._met.clear()
            self._push_rows(push, source)
            empty = np.empty((0, len(plan.head.args)), dtype=np.int64)
            found.append(np.concatenate(self._met) if self._met else empty)
        return found

    def _instances_of(self, rule: Rule) -> tuple[Push, RulePlan]:
        found = self._instances.get(id(rule))
        if found is None:
            own = {name: self._values[name].keyed for name in self.own}
            keyed = self._values[rule.head.relation].keyed
            plan = instances_plan(rule, keyed, own, self._sizes())
            push = compile_steps(
                plan.steps,
                plan.head,
                {},
                self._scope_of,
                self._workers[0].chunks,
                lambda rows, n: self._met.append(rows[:n].copy()),
            )
            found = self._instances[id(rule)] = push, plan
        return found

    def _admit_sink(self, rule: Rule) -> Push:
        derived, name = self._derived, rule.head.relation

        def sink(cand: Rows, n: int) -> None:
            derived[name].append(cand[:n].copy())

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

    def begin(self) -> None:
        """Derive everything; ranks are when a value became what it is."""
        if self.stratum.recursive:
            self._rules.derive_once()
            self._improve()
        else:
            for values in self._values.values():
                values.adopt()
        self._touched = {}

    def maintain(self, strategy: str, deltas: Deltas) -> tuple[dict[str, Delta], StratumWork]:
        """Bring the stratum up to date with the changes below; return its own, and the work."""
        started = time.perf_counter()
        work = StratumWork(self.stratum.number, self.stratum.relations, "annotations")
        self._touched = {}
        if strategy == "recompute":
            work.strategy = strategy
            for name, values in self._values.items():
                self._forget(name, values.relation.living())
            self._rules.derive_once()
            self._improve()
        else:
            removed = self._remove(deltas, work)
            for name, keys in removed.items():
                self._rules.derive(name, self._offers(name, keys))
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
        for found in self._rules.instances(name, values.keys(rows)):
            at = found[:, 0]
            holds = _floats(found[:, 1]) == have[at]
            for column in range(2, found.shape[1], 2):
                premise = _floats(found[:, column])
                earlier = (premise == have[at]) & (found[:, column + 1] < rank[at])
                holds &= values.better(premise, have[at]) | earlier
            supported[at[holds]] = True
        return supported

    def _forget(self, name: str, ids: Ints) -> None:
        self._values[name].forget(ids)
        self._rules.took_out(ids.shape[0])
        self._touched.setdefault(name, []).append(ids)

    # ── what comes ──

    def _offers(self, name: str, keys: Rows) -> Rows:
        """Return the best that instances offer for these keys now."""
        values = self._values[name]
        found = [part[:, :2] for part in self._rules.instances(name, keys)]
        whole = np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)
        numbers, best = values.best(whole[:, 0], _floats(whole[:, 1]))
        return values.row(keys[numbers], best)

    def _improve(self) -> None:
        """Let what has been derived count where it is better, and follow it."""
        rules = self._rules
        while True:
            wave: dict[str, Ints] = {}
            for name, values in self._values.items():
                candidates = rules.take_derived(name)
                if candidates.shape[0]:
                    rows, replaced = values.improve(candidates)
                    values.relation.bury(replaced)
                    rules.took_out(replaced.shape[0])
                    values.relation.admit(rows, rows.shape[0])
                    self._touched.setdefault(name, []).append(replaced)
            for name, ids in rules.wave().items():
                self._touched.setdefault(name, []).append(ids)
                wave[name] = ids
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


def _floats(codes: Ints) -> Floats:
    return np.ascontiguousarray(codes).view(np.float64)
