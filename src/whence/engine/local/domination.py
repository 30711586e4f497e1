"""General subsumption: after each round, tombstone the rows that other rows dominate.

Rows are judged in the order they were derived: a new row that a living row dominates dies, else
it kills the living rows that it dominates. So of rows that dominate each other the first stays.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.kernels.hashing import Rows
from whence.engine.local.kernels.keyed import judge_pairs
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.rules import Scope, compile_plan
from whence.plan.nodes import Domination


class Dominator:
    """One subsumption of a relation."""

    def __init__(self, domination: Domination, scope: Scope) -> None:
        self._relation = scope.relations[domination.relation]
        self._pairs: list[Rows] = []
        self._runners = [compile_plan(p, scope, Chunks(), self._collect) for p in domination.pairs]

    def _collect(self, pairs: Rows, n: int) -> None:
        self._pairs.append(pairs[:n].copy())

    def bury(self) -> None:
        """Tombstone what is dominated now that the last round's rows are there."""
        relation = self._relation
        for runner in self._runners:
            rows = runner.source()
            for begin in range(0, rows.shape[0], CHUNK):
                chunk = rows[begin : begin + CHUNK]
                runner.push(chunk, chunk.shape[0])
        if not self._pairs:
            return
        found = np.concatenate(self._pairs)
        self._pairs.clear()
        worse = relation.find(np.ascontiguousarray(found[:, : relation.arity]))
        better = relation.find(np.ascontiguousarray(found[:, relation.arity :]))
        different = worse != better
        worse, better = worse[different], better[different]
        newest = np.maximum(worse, better)
        order = np.lexsort((better == newest, newest))
        relation.bury(np.zeros(0, dtype=np.int64))
        dead = np.zeros(relation.size, dtype=np.uint8)
        dead[: relation.dead.shape[0]] = relation.dead[: relation.size]
        judge_pairs(worse[order], better[order], dead)
        relation.bury(np.flatnonzero(dead))
