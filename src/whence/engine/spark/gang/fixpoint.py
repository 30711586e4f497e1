"""Buffered semi-naive evaluation of one stratum by several tasks, in rounds.

A task runs its delta rules over its share, sends what belongs to others, and takes in what is
its own; when in some round nobody sent anything and nobody has new tuples, all are done.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.diagnostics import Diagnostic, LimitError
from whence.engine.base import Observer, Round
from whence.engine.local.buckets import Buckets
from whence.engine.local.fixpoint import Fixpoint
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.keyed import KeyedRelation, Unordered
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Scope
from whence.engine.spark.gang.post import End, Post
from whence.engine.spark.gang.routes import Route
from whence.engine.spark.gang.shares import Outbox
from whence.plan.nodes import StratumPlan


@dataclass(frozen=True, slots=True)
class Line:
    """The way of a relation's tuples to a copy of it."""

    source: str
    copy: str
    route: Route
    once: bool
    """Whether each tuple of the source is at one task only."""


class GangFixpoint(Fixpoint):
    """One stratum at one task; `lines` lead to relations of the stratum.

    `counted` are the relations whose tuples count as this task's: each tuple at one task only;
    `shown` is what people call the relations.
    """

    def __init__(
        self,
        plan: StratumPlan,
        scope: Scope,
        guard: Guard,
        *,
        lines: Sequence[Line],
        counted: Collection[str],
        shown: tuple[str, ...],
        post: Post,
        max_tuples: int | None,
    ) -> None:
        super().__init__(plan, scope, guard, threads=1, pool=None, limits={})
        self._post = post
        self._names = shown
        self._max_tuples = max_tuples
        self._lines: dict[str, list[Line]] = {}
        for line in lines:
            self._lines.setdefault(line.source, []).append(line)
        self._passed = dict.fromkeys(self._lines, 0)
        self._kept = [r for r in self._relations if not isinstance(r, Outbox)]
        self._counted = [r for r in self._kept if r.name in counted]
        self._given = sum(r.size for r in self._counted)
        # A copy that only its home sends to gets no tuple twice.
        self._fed = {
            line.copy
            for line in lines
            if line.once
            and scope.relations[line.copy].size == 0
            and not isinstance(scope.relations[line.copy], KeyedRelation)
            and not any(p.head.relation == line.copy for p in (*plan.once, *plan.repeated))
        } - {line.copy for line in lines if not line.once}
        self._unordered = False

    def run(self, observer: Observer | None, strata: int) -> int:
        """Evaluate to the fixpoint of all tasks and return the number of rounds."""
        started = time.perf_counter()
        plan, recursive = self._plan, self._plan.recursive
        self._derive([self._compile(rule, self._scope) for rule in plan.once])
        rules = [self._compile(rule, self._scope) for rule in plan.repeated] if recursive else []
        buckets = self._buckets()
        rounds = 0
        while True:
            ends = self._exchange(first=rounds == 0)
            if any(end.unordered for end in ends):
                raise Unordered
            if rounds and buckets is not None:
                buckets.advance()
            else:
                for relation in self._kept:
                    if rounds:
                        relation.advance()
                    elif recursive or plan.dominations:
                        relation.restart()
            self._dominate()
            if observer is not None:
                new, total = sum(end.new for end in ends), sum(end.total for end in ends)
                seconds = time.perf_counter() - started
                observer.on_round(
                    Round(plan.number, strata, self._names, rounds, new, total, seconds)
                )
            if not recursive or not any(end.busy for end in ends):
                break
            rounds += 1
            self._derive(rules)
        for relation in self._kept:
            relation.settle()
        return rounds

    def _derive(self, rules: Sequence[Any]) -> None:
        """Run rules once, unless all are about to begin again."""
        if self._unordered:
            return
        try:
            for rule in rules:
                self._run_rule(rule)
        except Unordered:
            self._unordered = True
        self._guard.check()

    def _exchange(self, *, first: bool) -> list[End]:
        """Send what is new, take in what comes, and return what all tasks say of themselves."""
        sent = not self._unordered and self._send(first=first)
        pending = any(r.size > 0 if first else _pending(r) for r in self._kept)
        new = sum(max(r.size - r.mark, 0) for r in self._counted)
        total = sum(r.size for r in self._counted) - self._given
        end = End(sent or pending or self._unordered, self._unordered, new, total)
        ends = self._post.finish(end, self._take)
        if self._max_tuples is not None and sum(e.total for e in ends) > self._max_tuples:
            raise LimitError(
                Diagnostic(
                    "W0704",
                    f"more than {self._max_tuples:,} tuples were derived",
                    notes=("nothing was written",),
                    hint="raise `--max-tuples`, or ask for less with `whence query`",
                )
            )
        return ends

    def _send(self, *, first: bool) -> bool:
        """Send what belongs to others, and take in what belongs here; say whether there was any."""
        some = False
        for source, lines in self._lines.items():
            rows = self._fresh(source, first=first)
            if rows.shape[0] == 0:
                continue
            for line in lines:
                some |= self._post.send(line.copy, line.route, rows)
                if not self._is_outbox(source):
                    mine = line.route.mine(rows)
                    self._take(line.copy, mine)
                    some |= mine.shape[0] > 0
        return some

    def _fresh(self, source: str, *, first: bool) -> Rows:
        """Return the rows of a relation that its lines have not carried yet."""
        relation = self._scope.relations[source]
        if source not in self._plan.relations:  # complete before this stratum began
            return relation.live_rows() if first else relation.rows[:0]
        if isinstance(relation, Outbox):
            if relation.everywhere:
                # What came from peers is older than the last round, or not here yet.
                return _changed(relation.home)
            rows = _changed(relation.sent)
            relation.sent.advance()
            return rows
        if isinstance(relation, KeyedRelation):
            return relation.delta()
        begin, self._passed[source] = self._passed[source], relation.size
        rows = relation.rows[begin : relation.size]
        if relation.dead.shape[0]:
            dead = relation.dead[begin : relation.size]
            alive = np.ones(rows.shape[0], dtype=np.bool_)
            alive[: dead.shape[0]] = dead == 0
            rows = rows[alive]
        return rows

    def _take(self, copy: str, rows: Rows) -> None:
        """Take in rows that belong here."""
        n = rows.shape[0]
        if self._unordered or n == 0:
            return
        relation = self._scope.relations[copy]
        if copy in self._fed:
            relation.append(rows, n)
        else:
            try:
                self._guard.tuples += relation.insert(rows, n)
            except Unordered:
                self._unordered = True
        self._guard.work += n
        self._guard.check()

    def _buckets(self) -> Buckets | None:
        """Return the buckets of relations that all keep what is best in one order."""
        keyed = [r for r in self._kept if isinstance(r, KeyedRelation)]
        orders = {(r.keyed.kind, r.keyed.greatest) for r in keyed}
        everywhere = any(isinstance(r, Outbox) and r.everywhere for r in self._relations)
        if len(keyed) < len(self._kept) or len(orders) != 1 or everywhere or self._dominators:
            return None
        return Buckets(keyed)

    def _is_outbox(self, relation: str) -> bool:
        return isinstance(self._scope.relations[relation], Outbox)


def _changed(relation: Relation) -> Rows:
    """Return the rows that came since the last round."""
    if isinstance(relation, KeyedRelation):
        return relation.waiting()
    return relation.rows[relation.mark : relation.size]


def _pending(relation: Relation) -> bool:
    """Say whether there are rows to derive from in the next round."""
    if isinstance(relation, KeyedRelation):
        return relation.changed > 0
    return relation.size > relation.mark
