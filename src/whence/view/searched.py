"""A stratum that is a search, brought up to date by repairing what hung on changed steps."""

from __future__ import annotations

import time

import numpy as np

from whence.engine.local.best import Best
from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.live import Delta, LiveRelation, replace_rows
from whence.engine.local.reach import Reach
from whence.engine.local.searched import SearchedRelation, joined
from whence.plan.nodes import Stratum
from whence.view.apart import Searched, Source
from whence.view.base import StratumWork
from whence.view.choice import Choice
from whence.view.rules import Deltas, Machine


class SearchedStratum:
    """A stratum whose relation is the outcome of searches over steps and seeds."""

    def __init__(
        self, stratum: Stratum, searched: Searched, machine: Machine, *, read: bool
    ) -> None:
        self.stratum = stratum
        self.machine = machine
        self.rules = None
        started = time.perf_counter()
        self._steps, self._seeds = searched.steps, searched.seeds
        self.reads = frozenset({self._steps.relation, self._seeds.relation})
        search, pool = searched.search, machine.pool() if machine.threads > 1 else None
        kind = Reach if search.keyed is None else Best
        self._searches = kind(search, machine.guard, machine.threads, pool)
        came = self._searches.begin(self._all(self._steps), self._all(self._seeds))
        self.choice = Choice(time.perf_counter() - started)
        self.relation: LiveRelation
        if read:
            self.relation = machine.evaluation.live(search.relation)
            self.relation.adopt(joined(came, self._searches.width))
        else:
            width = self._searches.width
            self.relation = SearchedRelation(search.relation, width, self._searches)

    def maintain(self, strategy: str, deltas: Deltas) -> tuple[dict[str, Delta], StratumWork]:
        """Bring the stratum up to date with the changes below; return its own, and the work."""
        started = time.perf_counter()
        work = StratumWork(self.stratum.number, self.stratum.relations, "search")
        if isinstance(self.relation, SearchedRelation):
            self.relation.forget_change()
        steps, seeds = self._changed(self._steps, deltas), self._changed(self._seeds, deltas)
        size = sum(r.shape[0] for r in (steps[1], seeds[1])), steps[0].shape[0] + seeds[0].shape[0]
        if strategy == "recompute" or self.choice.pick(*size)[0] == "recompute":
            work.strategy = "recompute"
            came, went = self._searches.again(steps, seeds)
            self.choice.learn_recompute(*size, time.perf_counter() - started)
        else:
            came, went = self._searches.apply(steps, seeds)
            taken = time.perf_counter() - started
            self.choice.learn_ranked(*size, taken, ended=True, cold=False)
        relation = self.relation
        if isinstance(relation, SearchedRelation):
            delta = relation.change(came, went)
        else:
            new, gone = joined(came, relation.arity), joined(went, relation.arity)
            delta = replace_rows(relation, gone, new)
        work.asked, work.removed = int(self._searches.work[1]), int(self._searches.work[0])
        work.inserted, work.deleted = delta.came.shape[0], delta.went.shape[0]
        work.restored = max(0, work.removed - work.deleted)
        work.seconds = time.perf_counter() - started
        return ({relation.name: delta} if delta else {}), work

    def _all(self, source: Source) -> Rows:
        return self.machine.relations[source.relation].live_rows()[:, source.columns]

    def _changed(self, source: Source, deltas: Deltas) -> tuple[Rows, Rows]:
        relation = self.machine.relations[source.relation]
        delta = deltas.get(source.relation)
        if delta is None:
            none: Rows = np.empty((0, len(source.columns)), dtype=np.int64)
            return none, none
        came, went = relation.tuples_of(delta)
        return came[:, source.columns], went[:, source.columns]
