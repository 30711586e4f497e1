"""One task of a gang: the embedded engine over its share, with what belongs to others sent."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa

from whence.analysis.kinds import record_fields, type_kinds
from whence.engine.base import Limits, Observer, RelationStats
from whence.engine.local.engine import LocalEvaluation, limits_told
from whence.engine.local.guard import Guard
from whence.engine.local.keyed import KeyedRelation, Unordered
from whence.engine.local.records import ExactRecordText
from whence.engine.local.relation import Relation
from whence.engine.local.values import Values
from whence.engine.spark.gang.exchange import Exchange
from whence.engine.spark.gang.fixpoint import GangFixpoint, Line
from whence.engine.spark.gang.post import Post
from whence.engine.spark.gang.routes import Owners, Route
from whence.engine.spark.gang.shares import Outbox, ShareRelation
from whence.engine.spark.gang.wire import Words
from whence.engine.spark.model import EVERYWHERE, By, Copy, Group
from whence.functor.user import UserFunctors
from whence.plan.build import build_plan, plan_stratum
from whence.plan.nodes import Plan, Stratum, StratumPlan
from whence.syntax.nodes import Atom, RelationDecl, Rule


def gang_plan(group: Group) -> Plan:
    """Return the plan of a group's program, with copies made from homes and homes from outboxes.

    The strata of such a program are in the order in which tuples arrive.
    """
    sources: dict[str, tuple[str, set[str]]] = {}
    for ship in group.ships:
        known = {ship.outbox, ship.home.name, *(copy.name for copy in ship.copies)}
        sources[ship.home.name] = ship.outbox, known
        sources.update((copy.name, (ship.home.name, known)) for copy in ship.copies)

    def routed(rule: Rule) -> Rule:
        source, known = sources.get(rule.head.relation, ("", set()))
        first = rule.body[0] if len(rule.body) == 1 else None
        if not isinstance(first, Atom) or first.relation not in known:
            return rule
        return replace(rule, body=(replace(first, relation=source),))

    program = replace(group.program, rules=tuple(map(routed, group.program.rules)))
    return build_plan(program, asked=group.asked, inputs={copy.name for copy in group.reads})


@dataclass(frozen=True, slots=True)
class Told:
    """What a task tells of itself when it is done."""

    seconds: float
    """Of evaluation, from the first rule on."""
    load_seconds: float
    waited_seconds: float
    """Of waiting for peers."""
    rounds: int
    derived: int
    """Tuples of this task's share, each counted at one task only."""
    relations: Mapping[str, RelationStats]
    """By the names of copies; of an outbox, what was sent."""
    sent: Mapping[str, int]
    """Tuples to peers, by the names of copies."""
    received: Mapping[str, int]
    sent_bytes: int
    received_bytes: int
    spilled_bytes: int
    peak_memory_bytes: int


class GangEvaluation(LocalEvaluation):
    """A group's program at one task; with no exchange it is the only one."""

    def __init__(
        self,
        group: Group,
        inputs: Mapping[str, pa.Table],
        functors: UserFunctors,
        exchange: Exchange | None,
    ) -> None:
        self._group = group
        self._exchange = exchange
        self._me, self._tasks = (0, 1) if exchange is None else (exchange.me, exchange.tasks)
        self._ships = {ship.outbox: ship for ship in group.ships}
        copies = [*group.reads, *group.writes]
        copies += [copy for ship in group.ships for copy in (ship.home, *ship.copies)]
        self._placed: dict[str, Copy] = {copy.name: copy for copy in copies}
        self._lines: dict[str, list[tuple[str, Copy]]] = {}
        """By the copy that they lead to."""
        for ship in group.ships:
            self._lines.setdefault(ship.home.name, []).append((ship.outbox, ship.home))
            for copy in ship.copies:
                self._lines.setdefault(copy.name, []).append((ship.home.name, copy))
        super().__init__(gang_plan(group), inputs, Values(), functors, ExactRecordText)
        program = self._plan.program
        self._words = Words(
            self.values,
            self._columns,
            self._decls,
            self._kinds,
            type_kinds(program),
            record_fields(program),
        )
        self._post = Post(exchange, self._words)
        self._route = cache(self._make_route)
        self._max_tuples: int | None = None
        self._rounds = 0

    def evaluate(self, limits: Limits, observer: Observer | None = None) -> None:
        """Evaluate to the end, together with the peers."""
        self._max_tuples = limits.max_tuples
        with limits_told():
            self.run(limits, 1, observer)

    def told(self) -> Told:
        """Return what is to be known about this task."""
        exchange, stats, post = self._exchange, self.stats, self._post
        given = {copy.name for copy in self._group.reads}
        return Told(
            stats.evaluate_seconds,
            stats.load_seconds + stats.prepare_seconds,
            0.0 if exchange is None else exchange.waited,
            self._rounds,
            sum(
                found.tuples
                for name, found in stats.relations.items()
                if name not in given and name not in self._ships and self._counts(name)
            ),
            dict(stats.relations),
            dict(post.sent),
            dict(post.received),
            0 if exchange is None else exchange.sent_bytes,
            0 if exchange is None else exchange.received_bytes,
            0 if exchange is None else exchange.spilled_bytes,
            stats.peak_memory_bytes,
        )

    def run_stratum(
        self,
        stratum: Stratum,
        guard: Guard,
        threads: int,
        pool: ThreadPoolExecutor | None,
        observer: Observer | None,
    ) -> None:
        """Evaluate one stratum; where tuples are to be sent, in rounds with the peers."""
        if not any(name in self._lines for name in stratum.relations):
            super().run_stratum(stratum, guard, threads, pool, None)  # only this task's share
            return
        # What a selection would not follow here may be what a peer waits for.
        own = replace(
            stratum,
            rules=tuple(rule for rule in stratum.rules if not self._copies(rule)),
            selections=(),
            assumes=(),
        )
        tuples = guard.tuples
        try:
            self._run_gang(own, plan_stratum(own, self._sizes(own)), guard, observer)
        except Unordered:  # all tasks begin again
            guard.tuples = tuples
            for name in stratum.relations:
                self.relations[name] = self._relation(self._decls[name])
            plan = plan_stratum(own, self._sizes(own), keyed=False)
            self._run_gang(own, plan, guard, observer)
        for name in stratum.relations:
            self._inputs.pop(name, None)
            for source, _ in self._lines.get(name, ()):
                if source in self._ships:  # nobody else reads it
                    self.relations[source] = Relation(source, self._decls[source].arity)

    def _run_gang(
        self, stratum: Stratum, plan: StratumPlan, guard: Guard, observer: Observer | None
    ) -> None:
        names = set(stratum.relations)
        for name, keyed in plan.keyed:
            self.relations[name] = KeyedRelation(name, self._decls[name].arity, keyed)
        for name in names & self._ships.keys():
            home = self._ships[name].home
            if home.name in names:
                route, sent = self._route(home), self.relations[name]
                self.relations[name] = Outbox(name, route, self.relations[home.name], sent)
        self._load(stratum, guard)
        fixpoint = GangFixpoint(
            replace(
                plan,
                dominations=tuple(d for d in plan.dominations if d.relation not in self._ships),
            ),
            self.scope(guard),
            guard,
            lines=[
                Line(source, copy.name, self._route(copy), self._is_once(source))
                for name in stratum.relations
                for source, copy in self._lines.get(name, ())
            ],
            counted=[name for name in stratum.relations if self._counts(name)],
            shown=tuple(dict.fromkeys(self._shown(name) for name in stratum.relations)),
            post=self._post,
            max_tuples=self._max_tuples,
        )
        rounds = fixpoint.run(observer, len(self._plan.strata))
        self._rounds += rounds + 1
        for name in stratum.relations:
            relation = self.relations[name]
            kept = relation.sent if isinstance(relation, Outbox) else relation
            self.stats.relations[name] = RelationStats(kept.alive, rounds)

    def _relation(self, decl: RelationDecl) -> Relation:
        copy = self._placed.get(decl.name)
        hint = self._columns.ranges(decl.name, decl.arity)
        if copy is None or not isinstance(copy.placement, By) or self._tasks == 1:
            return Relation(decl.name, decl.arity, hint)
        return ShareRelation(decl.name, decl.arity, hint, copy.placement.column, self._tasks)

    def _make_route(self, copy: Copy) -> Route:
        owners = None
        if isinstance(copy.placement, By):
            column = copy.placement.column
            owners = Owners(self._words, self._records, copy.name, column, self._tasks)
        return Route(copy.placement, owners, self._me, self._tasks)

    def _is_once(self, source: str) -> bool:
        """Say whether no tuple of a relation is at two tasks; in outboxes several may have it."""
        return source not in self._ships and self._placed[source].placement is not EVERYWHERE

    def _copies(self, rule: Rule) -> bool:
        """Say whether a rule only copies what is sent."""
        sources = [source for source, _ in self._lines.get(rule.head.relation, ())]
        first = rule.body[0] if len(rule.body) == 1 else None
        return isinstance(first, Atom) and first.relation in sources

    def _shown(self, name: str) -> str:
        """Return what people call a relation."""
        if name in self._ships:
            return self._ships[name].relation
        return self._placed[name].relation if name in self._placed else name

    def _counts(self, name: str) -> bool:
        """Say whether tuples of the relation count as this task's."""
        if any(source not in self._ships for source, _ in self._lines.get(name, ())):
            return False
        copy = self._placed.get(name)
        return copy is None or copy.placement is not EVERYWHERE or self._me == 0
