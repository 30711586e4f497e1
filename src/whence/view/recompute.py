"""Recomputation: evaluate a stratum from nothing over what lies below, and compare."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from whence.engine.base import Observer, Round
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation
from whence.engine.local.relation import Relation
from whence.plan.nodes import Stratum
from whence.view.base import StratumWork
from whence.view.reading import reads


class RoundSizes:
    """An observer that keeps the sizes of relations computed together, round by round.

    Row numbers of one relation are ranks, but not across relations: a tuple of a later round may
    have a lower row number than its premise in another relation.
    """

    def __init__(self, relations: Mapping[str, Relation], observer: Observer | None = None) -> None:
        self._relations = relations
        self._observer = observer
        self._sizes: dict[str, list[int]] = {}

    def on_round(self, event: Round) -> None:
        """Note the sizes, and tell the other observer."""
        if self._observer is not None:
            self._observer.on_round(event)
        if len(event.relations) > 1:
            for name in event.relations:
                sizes = self._sizes.setdefault(name, [])
                if event.round == 0:
                    sizes.clear()
                sizes.append(self._relations[name].size)

    def ranks(self, stratum: Stratum) -> dict[str, Ints | None]:
        """Return the ranks of the rows of each relation, None where row numbers do."""
        if len(stratum.relations) == 1:
            return dict.fromkeys(stratum.relations)
        found: dict[str, Ints | None] = {}
        out = {n: np.empty(s[-1], dtype=np.int64) for n, s in self._sizes.items()}
        rank = 0
        for round_ in range(len(self._sizes[stratum.relations[0]])):
            for name in stratum.relations:
                sizes = self._sizes[name]
                begin, end = sizes[round_ - 1] if round_ else 0, sizes[round_]
                out[name][begin:end] = np.arange(rank, rank + end - begin)
                rank += end - begin
        for name in stratum.relations:
            found[name] = out[name]
        return found


def recompute(
    stratum: Stratum,
    evaluation: LocalEvaluation,
    guard: Guard,
    threads: int,
    pool: ThreadPoolExecutor | None,
    work: StratumWork,
) -> tuple[dict[str, Delta], int]:
    """Evaluate the stratum again; return its changes, and the first rank that is free."""
    relations = evaluation.relations
    evaluation.selected -= {*stratum.relations}
    live = {name: relations[name] for name in stratum.relations}
    own = sum(relation.alive for relation in live.values())
    below = {
        name: relations[name]
        for name in reads(stratum)
        if name not in live and relations[name].alive <= own
    }
    sizes = RoundSizes(relations)
    try:
        for name in live:
            guard.tuples -= relations[name].alive
            relations[name] = evaluation.fresh(name)
        for name in below:
            # Joins with a relation that does not change are quicker; it is copied if that is cheap.
            relations[name] = _copy(evaluation, name)
        evaluation.run_stratum(stratum, guard, threads, pool, sizes)
        fresh = {name: relations[name] for name in stratum.relations}
    finally:
        relations.update(live)
        relations.update(below)
    ranks = sizes.ranks(stratum)
    found, clock = {}, 0
    for name in stratum.relations:
        target = live[name]
        assert isinstance(target, LiveRelation)
        rows = fresh[name].live_rows()
        delta = _replace(target, rows, ranks[name])
        clock += rows.shape[0]
        work.inserted += delta.came.shape[0]
        work.deleted += delta.went.shape[0]
        if delta:
            found[name] = delta
    return found, clock


def _copy(evaluation: LocalEvaluation, name: str) -> Relation:
    copy = evaluation.fresh(name)
    rows = np.ascontiguousarray(evaluation.relations[name].live_rows())
    copy.insert(rows, rows.shape[0])
    copy.settle()
    return copy


def _replace(relation: LiveRelation, rows: Rows, ranks: Ints | None) -> Delta:
    """Let the relation hold exactly these tuples, with these ranks; return what changed.

    The relation may be in the middle of a transaction: what counts is what it was before.
    """
    n = rows.shape[0]
    relation.waiting = 0
    ids = relation.ensure(rows, n)
    size = relation.size
    dead = np.ones(size, dtype=np.uint8)
    dead[ids] = 0
    rank = np.full(size, -1, dtype=np.int64)
    rank[ids] = np.arange(n, dtype=np.int64) if ranks is None else ranks
    relation.dead[:size] = dead
    relation.rows[:size, relation.arity] = rank
    relation.sync_all()
    relation.forget_witnesses()
    relation.alive_rows = n
    return relation.changed()
