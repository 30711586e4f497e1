"""Counting: each tuple with the number of its derivations (Gupta, Mumick and Subrahmanian 1993).

A change adds and takes away derivations, and a tuple goes with its last one: nothing is asked and
nothing comes back. That holds where no derivation can go through its own tuple, so here: in strata
without recursion. The count, less one, stands where other strategies have the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation
from whence.engine.local.live_operators import Mask, look
from whence.engine.local.operators import CHUNK, Chunks, Push
from whence.engine.local.rules import Scope, compile_steps
from whence.plan.delta import Place, Sizes, counting_plan, places
from whence.plan.nodes import Exists, Stratum, Version
from whence.syntax.nodes import Atom, Negation, Rule, Variable, Wildcard
from whence.view.base import StratumWork
from whence.view.rules import Deltas


class Counts:
    """The derivation counts of one relation that is not recursive."""

    def __init__(self, stratum: Stratum, scope: Scope, relation: LiveRelation) -> None:
        self.stratum = stratum
        self.valid = False
        """Whether the counts are up to date; other strategies do not keep them."""
        self._relation = relation
        self._scope = scope
        self._chunks = Chunks()
        self._compiled: dict[tuple[object, ...], Push] = {}
        self._touched: list[Ints] = []
        self._sign = 1

    def maintain(self, deltas: Deltas, work: StratumWork) -> dict[str, Delta]:
        """Bring the counts up to date with the changes below; return the tuples that flipped."""
        if not self.valid:
            self._count_all()
        self._touched.clear()
        for sign in (1, -1):
            self._sign = sign
            for rule in self.stratum.rules:
                for place in places(rule):
                    delta = deltas.get(place.relation)
                    if delta is not None:
                        self._run(rule, place, self._changed(rule, place, delta, sign))
        return self._net(work)

    def _changed(self, rule: Rule, place: Place, delta: Delta, sign: int) -> Rows:
        """Return the rows that add derivations, or take them away."""
        relation = self._live(place.relation)
        if not place.negated:
            return relation.rows[delta.came if sign > 0 else delta.went]
        rows = relation.rows[np.concatenate([delta.came, delta.went])]
        return self._flipped(rule, place, rows, sign)

    def _flipped(self, rule: Rule, place: Place, rows: Rows, sign: int) -> Rows:
        """Return one row for each key of a negation that is now true, or false, and was not."""
        literal = rule.body[place.position]
        assert isinstance(literal, Negation)
        assert isinstance(literal.literal, Atom)
        columns = [c for c, a in enumerate(literal.literal.args) if not isinstance(a, Wildcard)]
        rows = _distinct(rows, columns)
        key = tuple((c, Variable(f"@{c}")) for c in columns)
        slots = {f"@{c}": c for c in columns}
        relation = self._live(place.relation)
        masks = []
        for version in (Version.BEFORE, Version.ALL):
            exists = Exists(place.relation, version, key, negated=False)
            masks.append(_everywhere(look(exists, slots, relation, self._scope.code), rows))
        before, now = masks
        return rows[before & ~now] if sign > 0 else rows[now & ~before]

    def _run(self, rule: Rule, place: Place, rows: Rows) -> None:
        if not rows.shape[0]:
            return
        key = (id(rule), place)
        push = self._compiled.get(key)
        if push is None:
            plan = counting_plan(rule, place, self._sizes())
            push = self._compiled[key] = compile_steps(
                plan.steps, plan.head, {}, self._scope, self._chunks, self._sink
            )
        for begin in range(0, rows.shape[0], CHUNK):
            chunk = rows[begin : begin + CHUNK]
            push(chunk, chunk.shape[0])

    def _sink(self, cand: Rows, n: int) -> None:
        ids = self._relation.ensure(cand, n)
        np.add.at(self._relation.rows[:, -1], ids, self._sign)
        self._touched.append(ids)

    def _net(self, work: StratumWork) -> dict[str, Delta]:
        relation = self._relation
        ids = np.unique(np.concatenate(self._touched)) if self._touched else np.empty(0, np.int64)
        there = relation.rows[ids, -1] >= 0
        was = relation.was[ids] == 0
        delta = Delta(ids[there & ~was], ids[was & ~there])
        relation.sync(ids)
        relation.dead[delta.came] = 0
        relation.dead[delta.went] = 1
        relation.alive_rows += delta.came.shape[0] - delta.went.shape[0]
        work.asked += ids.shape[0]
        work.removed += delta.went.shape[0]
        work.inserted += delta.came.shape[0]
        work.deleted += delta.went.shape[0]
        return {relation.name: delta} if delta else {}

    def _count_all(self) -> None:
        """Count the derivations of all tuples as they were before the change."""
        relation = self._relation
        relation.rows[: relation.size, -1] = -1
        self._sign = 1
        for rule in self.stratum.rules:
            plan = counting_plan(rule, None, self._sizes())
            push = compile_steps(plan.steps, plan.head, {}, self._scope, self._chunks, self._sink)
            push(np.zeros((1, 1), dtype=np.int64), 1)
        self.valid = True

    def _sizes(self) -> Sizes:
        return {name: relation.alive for name, relation in self._scope.relations.items()}

    def _live(self, name: str) -> LiveRelation:
        relation = self._scope.relations[name]
        assert isinstance(relation, LiveRelation)
        return relation


def _distinct(rows: Rows, columns: Sequence[int]) -> Rows:
    """Return one of the rows for each value of these columns."""
    if not columns:
        return rows[:1]
    _, first = np.unique(rows[:, list(columns)], axis=0, return_index=True)
    return rows[np.sort(first)]


def _everywhere(holds: Callable[[Rows, int], Mask], rows: Rows) -> Mask:
    out = np.zeros(rows.shape[0], dtype=np.bool_)
    for begin in range(0, rows.shape[0], CHUNK):
        chunk = rows[begin : begin + CHUNK]
        out[begin : begin + CHUNK] = holds(chunk, chunk.shape[0])
    return out
