"""A live view: all strata in order, each brought up to date with the changes below it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from whence.engine.base import Limits, Observer, Stats
from whence.engine.local.engine import MAX_THREADS, LocalEvaluation
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.live import NONE, Delta, LiveRelation
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.rules import compile_steps
from whence.engine.local.values import Values
from whence.functor.user import UserFunctors
from whence.plan.delta import places
from whence.plan.nodes import Probe, Scan, Stratum, Version
from whence.syntax.nodes import Atom, Program, Variable
from whence.view.base import Batch, Change, Changes, StratumWork, Work
from whence.view.groups import Groups
from whence.view.program import Maintained, maintained, why_recomputed
from whence.view.ranked import Endless, Rules, maintain
from whence.view.recompute import RoundSizes, recompute


class LiveView:
    """The relations of a rewritten program, as live relations of one evaluation."""

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, pa.Table],
        *,
        strategy: str,
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
        functors: UserFunctors | None = None,
    ) -> None:
        self._program = program
        self._strategy = strategy
        self._functors = functors or UserFunctors()
        self._guard = Guard(limits)
        self._threads = min(max(1, threads or os.cpu_count() or 1), MAX_THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self.work = Work()
        self._build(maintained(program, inputs.keys()), inputs)

    # ── making it ──

    def _build(self, program: Maintained, inputs: Mapping[str, pa.Table]) -> None:
        """Evaluate everything and make it live."""
        given = {program.base[name]: table for name, table in inputs.items()}
        evaluation = LocalEvaluation(program.plan, given, Values(), self._functors)
        self.evaluation = evaluation
        sizes = RoundSizes(evaluation.relations)
        ranks = {}
        for stratum in program.plan.strata:
            evaluation.run_stratum(stratum, self._guard, self._threads, self._pool, sizes)
            ranks.update(sizes.ranks(stratum))
        self.relations: dict[str, LiveRelation] = {}
        for name, relation in evaluation.relations.items():
            live = evaluation.live(name)
            live.adopt(relation.live_rows(), ranks.get(name))
            self.relations[name] = live
        evaluation.relations.update(self.relations)
        self._maintained = program.without_facts()
        scope = evaluation.scope(self._guard)
        self._rules: dict[int, Rules] = {}
        self._groups: dict[int, Groups] = {}
        for stratum in self._maintained.plan.strata:
            first = stratum.relations[0]
            if first in program.groupings:
                self._groups[stratum.number] = Groups(
                    program.groupings[first], self.relations, scope, evaluation.values
                )
            elif stratum.rules and why_recomputed(stratum, program.plan.program) is None:
                clock = sum(self.relations[name].size for name in stratum.relations)
                rules = Rules(stratum, self.relations, scope, self._guard, clock)
                self._rules[stratum.number] = rules
                self._select(rules)
                for name in rules.selected:
                    self.relations[name].settle_all()
        self._reads = {s.number: _reads(s) for s in self._maintained.plan.strata}

    def _select(self, rules: Rules) -> None:
        """Follow only best rows where the evaluation did; drop what only others support."""
        for name, selections in rules.stratum.selections:
            relation = self.relations[name]
            if name in self.evaluation.selected:
                relation.select(selections)
            else:
                relation.selector = None
        rules.selected = tuple(
            n for n in rules.stratum.relations if self.relations[n].selector is not None
        )
        if rules.selected:
            suspects = {n: self.relations[n].living() for n in rules.stratum.relations}
            work = StratumWork(rules.stratum.number, rules.stratum.relations, "ranked")
            maintain(rules, {}, work, ranked=True, suspects=suspects)

    # ── batches ──

    def apply(self, batch: Batch) -> Changes:
        """Apply the whole batch and return the net changes."""
        started = time.perf_counter()
        self._guard.restart()
        self.work = Work()
        missing = [name for name in batch if name not in self._maintained.base]
        if missing:
            self._give_facts_to(missing)
        deltas: dict[str, Delta] = {}
        for name, update in batch.items():
            base = self._maintained.base[name]
            gone = self._encode(base, update.deleted)
            new = self._encode(base, update.inserted)
            delta = _apply_base(self.relations[base], gone, new)
            if delta:
                deltas[base] = delta
        if deltas:
            for stratum in self._maintained.plan.strata:
                if any(name in deltas for name in self._reads[stratum.number]):
                    deltas.update(self._maintain(stratum, deltas))
        changes = self._changes(deltas)
        for name, delta in deltas.items():
            relation = self.relations[name]
            relation.settle_rows(delta.came)
            relation.settle_rows(delta.went)
            relation.compact()
        self.work.seconds = time.perf_counter() - started
        return changes

    def _maintain(self, stratum: Stratum, deltas: Mapping[str, Delta]) -> dict[str, Delta]:
        started = time.perf_counter()
        work = StratumWork(stratum.number, stratum.relations, "")
        groups = self._groups.get(stratum.number)
        rules = self._rules.get(stratum.number)
        found: dict[str, Delta]
        if groups is not None:
            work.strategy = "groups"
            delta = groups.maintain(deltas[groups.grouping.source], work)
            found = {groups.grouping.relation: delta} if delta else {}
        elif rules is not None and self._strategy != "recompute":
            work.strategy = "dred" if self._strategy == "dred" else "ranked"
            try:
                found = maintain(rules, deltas, work, ranked=work.strategy == "ranked")
            except Endless:
                found = self._recompute(stratum, rules, work)
        else:
            found = self._recompute(stratum, rules, work)
        work.seconds = time.perf_counter() - started
        self.work.strata.append(work)
        return found

    def _recompute(
        self, stratum: Stratum, rules: Rules | None, work: StratumWork
    ) -> dict[str, Delta]:
        work.strategy = "recompute"
        found, clock = recompute(
            stratum, self.evaluation, self._guard, self._threads, self._pool, work
        )
        if rules is not None:
            rules.clock = clock
            self._select(rules)
            if rules.selected:
                found = {name: self.relations[name].changed() for name in stratum.relations}
                found = {name: delta for name, delta in found.items() if delta}
        return found

    def _encode(self, relation: str, table: pa.Table | None) -> Rows | None:
        if table is None or not table.num_rows:
            return None
        return self.evaluation.encode(relation, table)

    def _give_facts_to(self, names: list[str]) -> None:
        """Let relations that have rules be given facts as well; everything is made again."""
        base = {name: self.base(name) for name in self._maintained.base}
        given = {*self._maintained.base, *names}
        self._build(maintained(self._program, given).without_facts(), base)

    def _changes(self, deltas: Mapping[str, Delta]) -> Changes:
        found = {}
        for name in self._maintained.visible:
            delta = deltas.get(name)
            if delta is None or name in self.selected:
                continue
            rows = self.relations[name].rows
            found[name] = self._change(name, rows[delta.came], rows[delta.went])
        return Changes(found)

    def _change(self, name: str, came: Rows, went: Rows) -> Change:
        decode = self.evaluation.decode
        return Change(
            name,
            came.shape[0],
            went.shape[0],
            lambda: decode(name, came),
            lambda: decode(name, went),
        )

    # ── reading ──

    @property
    def stats(self) -> Stats:
        """What the first evaluation cost."""
        return self.evaluation.stats

    @property
    def selected(self) -> frozenset[str]:
        """The relations that may lack rows that are not best."""
        return self.evaluation.selected

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self.relations[relation].alive

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, decoded."""
        return self.evaluation.table(relation, ordered=ordered)

    def base(self, relation: str) -> pa.Table:
        """Return the base facts of the relation."""
        base = self._maintained.base.get(relation)
        if base is None:
            return self.evaluation.decode(relation, np.empty((0, 64), dtype=np.int64))
        return self.evaluation.decode(base, self.relations[base].live_rows())

    def matching(self, relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
        """Return the base facts whose columns have the values of some row of `keys`."""
        base = self._maintained.base.get(relation)
        if base is None or not keys.num_rows:
            return self.base(relation).slice(0, 0)
        live = self.relations[base]
        wanted = self.evaluation.encode(base, keys, columns)
        return self.evaluation.decode(base, self._having(live, columns, wanted))

    def _having(self, relation: LiveRelation, columns: tuple[int, ...], keys: Rows) -> Rows:
        """Return the tuples that have one of the keys in these columns."""
        names = [Variable(f"@{i}") for i in range(relation.arity)]
        scan = Scan(
            relation.name, Version.DELTA, tuple((i, f"@{c}") for i, c in enumerate(columns))
        )
        probe = Probe(
            relation.name,
            Version.ALL,
            tuple((c, names[c]) for c in columns),
            tuple((i, n.name) for i, n in enumerate(names) if i not in columns),
        )
        found: list[Rows] = []
        push = compile_steps(
            (scan, probe),
            Atom("@having", tuple(names)),
            {},
            self.evaluation.scope(self._guard),
            Chunks(),
            lambda rows, n: found.append(rows[:n].copy()),
        )
        keys = np.unique(keys, axis=0)
        for begin in range(0, keys.shape[0], CHUNK):
            push(keys[begin : begin + CHUNK], min(CHUNK, keys.shape[0] - begin))
        empty = np.empty((0, relation.arity), dtype=np.int64)
        return np.concatenate(found) if found else empty


def _reads(stratum: Stratum) -> frozenset[str]:
    return frozenset(p.relation for rule in stratum.rules for p in places(rule))


def _apply_base(relation: LiveRelation, gone: Rows | None, new: Rows | None) -> Delta:
    """Delete, then insert; return the net change."""
    removed = NONE
    if gone is not None:
        found = relation.find(gone)
        found = np.unique(found[found >= 0])
        removed = found[relation.dead[found] == 0]
        relation.bury(removed)
    came = NONE
    if new is not None:
        relation.admit(new, new.shape[0])
        ids = relation.wave()
        came = ids[relation.was[ids] != 0]
        removed = removed[relation.dead[removed] != 0]
    return Delta(came, removed)
