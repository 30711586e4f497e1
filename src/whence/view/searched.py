"""A stratum that is a search, brought up to date by repairing what hung on changed steps."""

from __future__ import annotations

import time

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import NONE, Delta, LiveRelation, replace_rows
from whence.engine.local.searches import Searches
from whence.plan.nodes import Search, Stratum
from whence.plan.search import SEED, STEP
from whence.view.base import StratumWork
from whence.view.choice import Choice
from whence.view.rules import Deltas, Machine


class SearchedRelation(LiveRelation):
    """A relation that nobody joins with: its tuples are the values of searches."""

    __slots__ = ("_came", "_went", "searches")

    def __init__(self, name: str, arity: int, searches: Searches) -> None:
        super().__init__(name, arity)
        self.searches = searches
        self._came = self._went = self.rows[:0]

    def change(self, came: Rows, went: Rows) -> Delta:
        """Return a delta of so many tuples, which `tuples_of` knows."""
        self._came, self._went = came, went
        return Delta(np.arange(came.shape[0]), np.arange(went.shape[0]))

    def tuples_of(self, delta: Delta) -> tuple[Rows, Rows]:
        return self._came, self._went

    @property
    def alive(self) -> int:
        return self.searches.alive

    @property
    def method(self) -> str:
        return "a value for each state of each search"

    def live_rows(self) -> Rows:
        return self.searches.rows()

    def settle_all(self) -> None:
        """Nothing to do: values know no transaction."""

    def settle_rows(self, ids: Ints) -> None:
        """Nothing to do: values know no transaction."""

    def compact(self) -> bool:
        return False


class SearchedStratum:
    """A stratum whose relation is the outcome of searches over steps and seeds."""

    def __init__(self, stratum: Stratum, search: Search, machine: Machine, *, read: bool) -> None:
        self.stratum = stratum
        self.machine = machine
        self.rules = None
        self.choice = Choice(0.0)
        self._step, self._seed = STEP + search.relation, SEED + search.relation
        self.reads = frozenset({self._step, self._seed})
        pool = machine.pool() if machine.threads > 1 else None
        self._searches = Searches(search, machine.guard, machine.threads, pool)
        steps, seeds = (machine.relations[n].live_rows() for n in (self._step, self._seed))
        came, _ = self._searches.apply((steps, steps[:0]), (seeds, seeds[:0]))
        name, evaluation = search.relation, machine.evaluation
        self.relation: LiveRelation
        if read:
            self.relation = evaluation.live(name)
            self.relation.adopt(_joined(came, self.relation.arity))
        else:
            arity = len(search.keyed.key) + 1
            self.relation = SearchedRelation(name, arity, self._searches)

    def maintain(self, strategy: str, deltas: Deltas) -> tuple[dict[str, Delta], StratumWork]:
        """Bring the stratum up to date with the changes below; return its own, and the work."""
        started = time.perf_counter()
        work = StratumWork(self.stratum.number, self.stratum.relations, "search")
        steps, seeds = self._changed(self._step, deltas), self._changed(self._seed, deltas)
        if strategy == "recompute":
            work.strategy = strategy
            came, went = self._searches.again(steps, seeds)
        else:
            came, went = self._searches.apply(steps, seeds)
        relation = self.relation
        new, gone = _joined(came, relation.arity), _joined(went, relation.arity)
        if isinstance(relation, SearchedRelation):
            delta = relation.change(new, gone)
        else:
            delta = replace_rows(relation, gone, new)
        work.asked, work.removed = int(self._searches.work[1]), int(self._searches.work[0])
        work.inserted, work.deleted = delta.came.shape[0], delta.went.shape[0]
        work.seconds = time.perf_counter() - started
        return ({relation.name: delta} if delta else {}), work

    def _changed(self, name: str, deltas: Deltas) -> tuple[Rows, Rows]:
        relation = self.machine.relations[name]
        delta = deltas.get(name, Delta(NONE, NONE))
        k = relation.arity
        return relation.rows[delta.came, :k], relation.rows[delta.went, :k]


def _joined(parts: list[Rows], arity: int) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, arity), dtype=np.int64)
