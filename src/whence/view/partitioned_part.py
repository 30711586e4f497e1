"""Relations that several tasks keep current together: ranked support across tasks.

Each task derives what its rules derive from its copies, into outboxes. A home holds, for every
tuple, which senders derive it; a sender tells of a tuple's first derivation and of the loss of its
support, and keeps further derivations to itself, as MinShip does (Liu et al. 2009). Ranks are times
of a Lamport clock: what comes from another task ranks above what it rests on there. So support is
well founded across tasks, as it is within one: (a) what has lost its support is taken out, at all
tasks, until none has anything to tell; (b) only then it comes back where it still has support, and
what is new is derived, until none has anything to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from whence.analysis.kinds import relation_kinds
from whence.engine.base import Limits
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import NONE, Delta, replace_rows
from whence.engine.local.operators import Chunks
from whence.engine.local.records import ExactRecordText
from whence.engine.local.rules import compile_steps
from whence.engine.local.values import Values
from whence.engine.local.warm import prepare_live_kernels
from whence.engine.spark.model import Copy
from whence.engine.spark.shuffle import shares
from whence.functor.user import UserFunctors
from whence.plan.compile_rule import compile_rule
from whence.plan.delta import places
from whence.plan.nodes import Stratum
from whence.rewrite.reorder_body import order_body
from whence.syntax.nodes import Rule
from whence.view.base import Batch, StratumWork
from whence.view.partitioned_exchange import Parcel, Post
from whence.view.partitioned_plan import Part, support_of
from whence.view.program import Maintained, maintained
from whence.view.ranked import note, restore, still_there, take_out
from whence.view.recompute import RoundSizes
from whence.view.rules import Machine, Rules
from whence.view.stratum import LiveStratum

Moved = dict[str, tuple[pa.Table | None, pa.Table | None]]
"""For each copy or relation that changed, what came and what went."""


class SharedPart:
    """One task's side of the relations of a shared part."""

    def __init__(
        self,
        part: Part,
        given: Collection[str],
        *,
        task: int,
        tasks: int,
        threads: int = 1,
        limits: Limits = Limits(),
        functors: UserFunctors | None = None,
    ) -> None:
        self.part = part
        self.task, self.tasks = task, tasks
        self.work = StratumWork(0, tuple(sorted(part.own)), "ranked")
        self._guard = Guard(limits)
        self._external = frozenset(part.external)
        self._supports = frozenset(support_of(ship) for ship in part.ships)
        self._maintained = maintained(part.program, (*part.external, *given), unsearched=None)
        self._build(threads, functors or UserFunctors())
        self._first = True
        self._unsettled: dict[str, Delta] = {}

    def _build(self, threads: int, functors: UserFunctors) -> None:
        """Make all relations; those that tasks share are empty until the first batch."""
        program = self._maintained
        evaluation = LocalEvaluation(program.plan, {}, Values(), functors, ExactRecordText)
        machine = Machine(evaluation, {}, self._guard, threads)
        own = self.part.own
        sizes = RoundSizes(evaluation.relations)
        pool = machine.pool() if threads > 1 else None
        for stratum in program.plan.strata:
            if own.isdisjoint(stratum.relations):
                evaluation.run_stratum(stratum, self._guard, threads, pool, sizes)
            for name in stratum.relations:
                live = machine.relations[name] = evaluation.live(name)
                rows = evaluation.relations[name].live_rows()
                live.adopt(np.ascontiguousarray(rows))
                evaluation.relations[name] = live
        prepare_live_kernels()
        self.evaluation, self.relations = evaluation, machine.relations
        kinds = relation_kinds(program.plan.program)
        self._kinds = {d.name: tuple(kinds[d.name]) for d in program.plan.program.relations}
        self._below = self._lower_strata(program.without_facts(), machine)
        merged = Stratum(
            len(program.plan.strata),
            tuple(name for s in program.plan.strata for name in s.relations if name in own),
            True,
            (),
            tuple(r for s in program.plan.strata if own & {*s.relations} for r in s.rules),
            (),
        )
        self.rules = Rules(merged, self.relations, evaluation.scope(self._guard), machine, 0)
        for relation in self.relations.values():
            relation.settle_all()

    def _lower_strata(self, program: Maintained, machine: Machine) -> list[LiveStratum]:
        found = []
        for stratum in program.plan.strata:
            if self.part.own.isdisjoint(stratum.relations):
                grouping = program.groupings.get(stratum.relations[0])
                found.append(LiveStratum(stratum, program.plan.program, grouping, machine))
        return found

    # ── a batch ──

    def apply(self, batch: Batch, post: Post) -> Moved:
        """Apply the changes of what the part reads, together with all tasks; return its own."""
        self._settle()
        self._removed: dict[str, list[Ints]] = {}
        self._came: dict[str, list[Ints]] = {}
        deltas = self._lower(batch)
        rules, self.work.asked = self.rules, 0
        gone = take_out(rules, rules.lose(deltas, ranked=True), self.work, True)
        note(self._removed, gone)
        self._until_quiet(gone, self._lose, post)
        # Support that is left now rests on what is left, at all tasks.
        came: dict[str, list[Ints]] = {}
        removed = {
            name: np.concatenate(ids)
            for name, ids in self._removed.items()
            if name not in self._external
        }
        back = restore(rules, removed, came)
        rules.gain(deltas)
        if self._first:
            self._derive_unread()
        self._follow(back, came)
        self._until_quiet(_joined(came), self._gain, post)
        self._first = False
        return self._net(deltas)

    def _until_quiet(
        self,
        changed: dict[str, Ints],
        step: Callable[[Mapping[int, Parcel]], dict[str, Ints]],
        post: Post,
    ) -> None:
        """Tell what has changed, and take in what others tell, until none has anything to tell.

        What this task tells itself does not wait for a round.
        """
        while True:
            parcels = self._parcels(changed)
            while parcels[self.task].tables:
                own, parcels[self.task] = parcels[self.task], Parcel()
                for parcel, more in zip(
                    parcels, self._parcels(step({self.task: own})), strict=True
                ):
                    parcel.join(more)
            for parcel in parcels:
                parcel.clock = self.rules.clock
            incoming = post.swap(parcels)
            if incoming is None:
                return
            changed = step(dict(enumerate(incoming)))

    def _lower(self, batch: Batch) -> dict[str, Delta]:
        """Apply changes of what is read; return what changed below the shared relations."""
        deltas: dict[str, Delta] = {}
        for name, update in batch.items():
            base = self._maintained.base[name]
            gone, new = self._encode(base, update.deleted), self._encode(base, update.inserted)
            delta = replace_rows(self.relations[base], gone, new)
            if delta:
                deltas[base] = delta
        for stratum in self._below:
            if not stratum.reads.isdisjoint(deltas):
                found, _ = stratum.maintain("auto", deltas)
                deltas.update(found)
        if self._first:  # what holds whatever is read counts as new
            for stratum in self._below:
                for name in stratum.stratum.relations:
                    deltas[name] = Delta(self.relations[name].living(), NONE)
        return deltas

    def _encode(self, name: str, table: pa.Table | None) -> Rows | None:
        return None if table is None or not table.num_rows else self.evaluation.encode(name, table)

    def _lose(self, incoming: Mapping[int, Parcel]) -> dict[str, Ints]:
        """Take out what other tasks have taken out, and what only rested on it."""
        rules, gone = self.rules, {}
        for name, rows in self._received(incoming).items():
            relation = self.relations[name]
            ids = relation.find(rows)
            ids = np.unique(ids[ids >= 0])
            gone[name] = ids[relation.dead[ids] == 0]
        found = rules.lose_own(gone, ranked=True)
        for name, ids in gone.items():
            self.relations[name].bury(ids)
            rules.took_out(ids.shape[0])
        lost = {
            name: left
            for name, heads in found.items()
            if (left := still_there(self.relations[name], heads)) is not None
        }
        further = take_out(rules, lost, self.work, True)
        note(self._removed, gone)
        note(self._removed, further)
        return further

    def _gain(self, incoming: Mapping[int, Parcel]) -> dict[str, Ints]:
        """Take in what other tasks have derived, and derive what follows."""
        for name, rows in self._received(incoming).items():
            self.relations[name].admit(np.ascontiguousarray(rows), rows.shape[0])
        came: dict[str, list[Ints]] = {}
        self._follow({}, came)
        return _joined(came)

    def _received(self, incoming: Mapping[int, Parcel]) -> dict[str, Rows]:
        """Return the tuples for each relation; those for a home say who derives them."""
        found: dict[str, list[Rows]] = {}
        for sender, parcel in incoming.items():
            self.rules.clock = max(self.rules.clock, parcel.clock)
            for name, tables in parcel.tables.items():
                for table in tables:
                    if name in self._supports:
                        table = _with_sender(table, sender)
                    found.setdefault(name, []).append(self.evaluation.encode(name, table))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _follow(self, back: dict[str, Ints], came: dict[str, list[Ints]]) -> None:
        """Derive semi-naively what follows at this task."""
        rules = self.rules
        while True:
            wave = rules.wave()
            note(came, wave)
            for name, ids in back.items():
                wave[name] = np.concatenate([ids, wave[name]]) if name in wave else ids
            back = {}
            if not any(ids.shape[0] for ids in wave.values()):
                break
            rules.gain_own(wave)
        for name, parts in came.items():
            self._came.setdefault(name, []).extend(parts)

    def _derive_unread(self) -> None:
        """Derive what rules derive that wait for nothing to come: negations of what is absent."""
        chunks = Chunks()
        for rule in self.rules.stratum.rules:
            if all(place.negated for place in places(rule)):
                self._run(rule, chunks)

    def _run(self, rule: Rule, chunks: Chunks) -> None:
        sizes = {name: relation.alive for name, relation in self.relations.items()}
        ordered = order_body(rule, None, sizes)
        plan = compile_rule(rule, rule.head, ordered, {}, None)
        relation = self.relations[rule.head.relation]

        def sink(cand: Rows, n: int) -> None:
            relation.admit(cand, n)

        scope = self.evaluation.scope(self._guard)
        push = compile_steps(plan.steps, plan.head, {}, scope, chunks, sink)
        push(np.zeros((1, 1), dtype=np.int64), 1)

    # ── what goes out ──

    def _parcels(self, rows: Mapping[str, Ints]) -> list[Parcel]:
        """Return what to tell each task about rows of this one that came or went."""
        parcels = [Parcel() for _ in range(self.tasks)]
        for ship in self.part.ships:
            home = ship.home
            self._send(parcels, rows.get(ship.outbox, NONE), ship.outbox, support_of(ship), home)
            for copy in ship.copies:
                self._send(parcels, rows.get(home.name, NONE), home.name, copy.name, copy)
        return parcels

    def _send(
        self, parcels: list[Parcel], ids: Ints, source: str, target: str, place: Copy
    ) -> None:
        if not ids.shape[0]:
            return
        table = self.evaluation.decode(source, self.relations[source].rows[ids])
        parts = shares(table, place.placement, self._kinds[source], self.tasks)
        for parcel, rows in zip(parcels, parts, strict=True):
            parcel.add(target, rows)

    def _net(self, deltas: dict[str, Delta]) -> Moved:
        """Return the net change of what the part derives."""
        moved: Moved = {}
        for name in self.rules.stratum.relations:
            relation = self.relations[name]
            out = np.concatenate(self._removed.get(name, [NONE]))
            new = np.concatenate(self._came.get(name, [NONE]))
            delta = Delta(new[relation.was[new] != 0], np.unique(out[relation.dead[out] != 0]))
            if not delta:
                continue
            deltas[name] = delta
            if name not in self._supports:  # copies may be read by other parts
                came, went = relation.tuples_of(delta)
                decode = self.evaluation.decode
                moved[name] = decode(name, came), decode(name, went)
        self._unsettled = deltas
        return moved

    def _settle(self) -> None:
        for name, delta in self._unsettled.items():
            self.relations[name].settle_rows(delta.came)
            self.relations[name].settle_rows(delta.went)
        settled, self._unsettled = self._unsettled, {}
        for name in settled:
            self.relations[name].compact()

    def table(self, name: str) -> pa.Table:
        """Return the tuples of a copy, decoded."""
        return self.evaluation.table(name)


def _joined(parts: Mapping[str, Sequence[Ints]]) -> dict[str, Ints]:
    return {name: np.concatenate(ids) for name, ids in parts.items() if ids}


def _with_sender(table: pa.Table, sender: int) -> pa.Table:
    return table.append_column("@sender", pa.array(np.full(table.num_rows, sender)))
