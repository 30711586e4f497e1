"""A live view: all strata in order, each brought up to date with the changes below it."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pyarrow as pa

from whence.diagnostics import WhenceError
from whence.engine.base import Limits, Observer, Stats
from whence.engine.local.engine import MAX_THREADS, LocalEvaluation, limits_told
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation, replace_rows
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.records import RecordText
from whence.engine.local.rules import compile_steps
from whence.engine.local.searches import Unsuited
from whence.engine.local.values import Values
from whence.engine.local.warm import prepare_live_kernels
from whence.functor.user import UserFunctors
from whence.plan.nodes import Probe, Scan, Stratum, Version
from whence.plan.pivot import pivot
from whence.syntax.nodes import Atom, Program, Variable
from whence.view.annotations import AnnotatedStratum
from whence.view.base import Batch, Change, Changes, Work
from whence.view.program import Maintained, maintained
from whence.view.recompute import RoundSizes
from whence.view.rules import Machine
from whence.view.searched import SearchedStratum
from whence.view.stratum import LiveStratum

_LARGE = 100_000
"""Tuples of a stratum above which its indexes are built before the first change needs them."""

_RECLAIM = 4, 100_000
"""Values are reclaimed when there are so many times as many as at first, and so many more."""


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
        records: type[RecordText] = RecordText,
    ) -> None:
        self._program = program
        self._records = records
        self._strategy = strategy
        self._functors = functors or UserFunctors()
        self._observer = observer
        self._guard = Guard(limits)
        self._threads = min(max(1, threads or os.cpu_count() or 1), MAX_THREADS)
        self._stale: dict[str, pa.Table] | None = None
        self._unsearched: set[str] = set()
        self.work = Work()
        with limits_told():
            self._build_searching(inputs.keys(), inputs)

    # ── making it ──

    def _build_searching(
        self, given: Collection[str], inputs: Mapping[str, pa.Table], *, facts: bool = True
    ) -> None:
        """Make everything; relations that cannot be kept as searches are kept otherwise."""
        while True:
            program = self._to_maintain(given)
            try:
                self._build(program if facts else program.without_facts(), inputs)
                return
            except Unsuited as error:
                self._unsearched.add(error.relation)

    def _to_maintain(self, given: Collection[str]) -> Maintained:
        # The other strategies are asked for by who wants to see them at work.
        reach = self._strategy == "auto"
        return maintained(self._program, given, unsearched=self._unsearched, reach=reach)

    def _build(self, program: Maintained, inputs: Mapping[str, pa.Table]) -> None:
        """Evaluate everything and make it live."""
        given = {program.base[name]: table for name, table in inputs.items()}
        evaluation = LocalEvaluation(program.plan, given, Values(), self._functors, self._records)
        self._guard.restart()
        self._guard.tuples = 0
        relations: dict[str, LiveRelation] = {}
        costs = {}
        special: dict[int, SearchedStratum | AnnotatedStratum] = {}
        sizes = RoundSizes(evaluation.relations, self._observer)
        machine = Machine(evaluation, relations, self._guard, self._threads)
        pool = machine.pool() if self._threads > 1 else None
        for stratum in program.plan.strata:
            started = time.perf_counter()
            search = program.searches.get(stratum.relations[0])
            if search is not None:
                (name,) = stratum.relations
                found = SearchedStratum(stratum, search, machine, read=name in program.read)
                special[stratum.number] = found
                relations[name] = evaluation.relations[name] = found.relation
            elif stratum.rules and not program.annotated.keys().isdisjoint(stratum.relations):
                special[stratum.number] = self._annotated(stratum, program, machine, pool)
            else:
                evaluation.run_stratum(stratum, self._guard, self._threads, pool, sizes)
                ranks, along = sizes.ranks(stratum), pivot(stratum)
                for name in stratum.relations:
                    self._adopt(machine, name, ranks[name], along)
            costs[stratum.number] = time.perf_counter() - started
        prepare_live_kernels()  # now that the evaluation has shown whether kernels pay
        without_facts = program.without_facts()
        strata: list[LiveStratum | SearchedStratum | AnnotatedStratum] = []
        for stratum in without_facts.plan.strata:
            if stratum.number in special:
                strata.append(special[stratum.number])
                continue
            grouping = program.groupings.get(stratum.relations[0])
            live_stratum = LiveStratum(stratum, program.plan.program, grouping, machine)
            live_stratum.choice.recompute = costs[stratum.number]
            rules = live_stratum.rules
            if rules is not None and sum(relations[n].size for n in stratum.relations) > _LARGE:
                rules.prepare()
            strata.append(live_stratum)
        for relation in relations.values():
            relation.settle_all()
        # What was there before stays in use if anything above fails.
        self._maintained, self._strata = without_facts, strata
        self.evaluation, self.relations = evaluation, relations
        self._unsettled: dict[str, Delta] = {}
        self._reclaim_at = _RECLAIM[0] * evaluation.interned + _RECLAIM[1]

    def _adopt(
        self, machine: Machine, name: str, ranks: Ints | None = None, along: int | None = None
    ) -> None:
        """Make an evaluated relation live."""
        relations = machine.evaluation.relations
        live = machine.relations[name] = machine.evaluation.live(name)
        live.pivot = along
        live.adopt(relations[name].live_rows(), ranks)
        relations[name] = live

    def _annotated(
        self,
        stratum: Stratum,
        program: Maintained,
        machine: Machine,
        pool: ThreadPoolExecutor | None,
    ) -> AnnotatedStratum:
        """Make relations live that keep the best annotations."""
        machine.evaluation.run_stratum(stratum, self._guard, self._threads, pool, self._observer)
        for name in stratum.relations:
            self._adopt(machine, name)
        found = AnnotatedStratum(stratum, program.annotated, machine)
        found.begin()
        return found

    def _fresh(self) -> None:
        """Make everything again from base facts, after a batch that failed half-way."""
        if self._stale is not None:
            with limits_told():
                self._build_searching(self._maintained.base.keys(), self._stale, facts=False)
            self._stale = None

    # ── batches ──

    def apply(self, batch: Batch) -> Changes:
        """Apply the whole batch, or nothing when it fails, and return the net changes."""
        started = time.perf_counter()
        self._fresh()
        self._settle()
        self._guard.restart()
        self.work = Work()
        missing = [name for name in batch if name not in self._maintained.base]
        if missing:
            self._give_facts_to(missing)
        updates = [
            (base, self._encode(base, update.deleted), self._encode(base, update.inserted))
            for name, update in batch.items()
            if (base := self._maintained.base[name])
        ]
        self._guard.tuples = sum(relation.alive for relation in self.relations.values())
        try:
            with limits_told():
                try:
                    deltas = self._maintain(updates)
                except Unsuited as error:
                    self._undo()
                    self._unsearched.add(error.relation)
                    return self.apply(batch)
            changes = self._changes(deltas)
            self.work.seconds = time.perf_counter() - started
            # Nothing may fail once the batch counts: what is left to do waits for the next one.
            self._unsettled = deltas
            return changes
        except BaseException:
            self._undo()
            raise

    def _settle(self) -> None:
        """End the last transaction, and drop what nobody needs any more."""
        for name, delta in self._unsettled.items():
            self.relations[name].settle_rows(delta.came)
            self.relations[name].settle_rows(delta.went)
        settled, self._unsettled = self._unsettled, {}
        for name in settled:
            self.relations[name].compact()
        if self.evaluation.interned > self._reclaim_at:
            self._reclaim()

    def _maintain(self, updates: list[tuple[str, Rows | None, Rows | None]]) -> dict[str, Delta]:
        deltas: dict[str, Delta] = {}
        for base, gone, new in updates:
            delta = replace_rows(self.relations[base], gone, new)
            if delta:
                deltas[base] = delta
                self._guard.tuples += delta.came.shape[0] - delta.went.shape[0]
                self._guard.check()
        if deltas:
            for stratum in self._strata:
                if not stratum.reads.isdisjoint(deltas):
                    found, work = stratum.maintain(self._strategy, deltas)
                    self.work.strata.append(work)
                    deltas.update(found)
        return deltas

    def _undo(self) -> None:
        """Go back to the base facts before the batch; the rest is made again when it is needed."""
        base = {}
        for name, holder in self._maintained.base.items():
            relation = self.relations[holder]
            rows = relation.rows[: relation.size][relation.was[: relation.size] == 0]
            base[name] = self.evaluation.decode(holder, rows)
        self._stale, self._unsettled = base, {}

    def _encode(self, relation: str, table: pa.Table | None) -> Rows | None:
        if table is None or not table.num_rows:
            return None
        return self.evaluation.encode(relation, table)

    def _reclaim(self) -> None:
        """Make everything again, so that values which are nowhere any more are forgotten.

        If a limit is in the way, or a functor fails, they are not forgotten yet.
        """
        base = {name: self.base(name) for name in self._maintained.base}
        try:
            with limits_told():
                self._build_searching(base.keys(), base, facts=False)
        except WhenceError:
            self._reclaim_at *= 2
        # Compiled rules and relations know each other, so only the collector frees the old ones.
        gc.collect()

    def _give_facts_to(self, names: list[str]) -> None:
        """Let relations that have rules be given facts as well; everything is made again."""
        base = {name: self.base(name) for name in self._maintained.base}
        given = {*self._maintained.base, *names}
        with limits_told():
            self._build_searching(given, base, facts=False)

    def _changes(self, deltas: Mapping[str, Delta]) -> Changes:
        found = {}
        for name in self._maintained.visible:
            delta = deltas.get(name)
            if delta is None or name in self.evaluation.selected:
                continue
            found[name] = self._change(name, *self.relations[name].parts_of(delta))
        return Changes(found)

    def _change(self, name: str, came: list[Rows], went: list[Rows]) -> Change:
        decode = self.evaluation.decode

        def table(parts: list[Rows]) -> pa.Table:
            if not parts:
                return decode(name, np.empty((0, 64), dtype=np.int64))
            tables = [decode(name, part) for part in parts]
            return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

        insertions, deletions = (sum(p.shape[0] for p in parts) for parts in (came, went))
        return Change(name, insertions, deletions, partial(table, came), partial(table, went))

    # ── reading ──

    @property
    def stats(self) -> Stats:
        """What the first evaluation cost."""
        return self.evaluation.stats

    @property
    def selected(self) -> frozenset[str]:
        """The relations that may lack rows that are not best."""
        self._fresh()
        return self.evaluation.selected

    @property
    def holders(self) -> Mapping[str, str]:
        """For each relation that may be given facts, the relation that holds them."""
        self._fresh()
        return self._maintained.base

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        self._fresh()
        return self.relations[relation].alive

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, decoded."""
        self._fresh()
        return self.evaluation.table(relation, ordered=ordered)

    def base(self, relation: str) -> pa.Table:
        """Return the base facts of the relation."""
        self._fresh()
        base = self._maintained.base.get(relation)
        if base is None:
            return self.evaluation.decode(relation, np.empty((0, 64), dtype=np.int64))
        return self.evaluation.decode(base, self.relations[base].live_rows())

    def matching(self, relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
        """Return the base facts whose columns have the values of some row of `keys`."""
        self._fresh()
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
