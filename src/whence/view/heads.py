"""Heads to be asked: what has lost an instance, collected by each thread, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.engine.local.buffers import grown, reserve
from whence.engine.local.kernels import support as asking
from whence.engine.local.kernels.hashing import Flags, Ints, Rows
from whence.engine.local.live import LiveRelation
from whence.engine.local.operators import CHUNK, Chunks, Push


@dataclass(frozen=True, slots=True)
class Heads:
    """Rows to be asked, and the same as tuples, each with its rank and its number."""

    ids: Ints
    tuples: Rows


class Collector:
    """What one thread has: its buffers, and the heads that have lost an instance, each once."""

    def __init__(self, relations: Sequence[LiveRelation]) -> None:
        self.chunks = Chunks()
        self.met = 0
        self.count = {relation.name: 0 for relation in relations}
        self._ids: dict[str, Ints] = {r.name: np.empty(64, np.int64) for r in relations}
        self._heads: dict[str, Rows] = {
            r.name: np.empty((64, r.arity + 2), np.int64) for r in relations
        }
        self._seen: dict[str, Flags] = {r.name: np.zeros(64, np.uint8) for r in relations}

    def sink(self, relation: LiveRelation, width: int) -> Push:
        """Return what takes heads of a relation, with the ranks of their premises behind."""
        name, k = relation.name, relation.arity
        premises = max(width - k, 0)
        none: Ints = np.empty(0, dtype=np.int64)
        at, ranks = (np.empty(CHUNK, dtype=np.int64) for _ in range(2))

        def sink(cand: Rows, n: int) -> None:
            have = self.count[name]
            self.met += n
            ids = self._ids[name] = grown(self._ids[name], have, have + n)
            heads = self._heads[name] = grown(self._heads[name], have, have + n)
            if self._seen[name].shape[0] < relation.size:
                self._widen(name, relation.size)
            relation.find_ranks(cand, n, (relation.slots, relation.consts), at, ranks)
            witness = relation.witness if width else none  # DRed asks nobody
            self.count[name] = asking.lost_heads(
                cand, n, premises, k, at, ranks, witness, self._seen[name], ids, heads, have
            )

        return sink

    def _widen(self, name: str, size: int) -> None:
        before = self._seen[name]
        self._seen[name] = reserve(2 * size, np.uint8)
        self._seen[name][: before.shape[0]] = before

    def take(self, name: str) -> Heads:
        """Return what was collected of a relation, and begin anew."""
        n = self.count[name]
        ids = self._ids[name][:n].copy()
        self._seen[name][ids] = 0
        self.count[name] = 0
        return Heads(ids, self._heads[name][:n].copy())

    def join(self, name: str, other: Collector) -> None:
        """Take over what the other has collected of a relation and this one has not."""
        more = other.take(name)
        n = self.count[name]
        if int(more.ids.max()) >= self._seen[name].shape[0]:
            self._widen(name, int(more.ids.max()) + 1)
        fresh = self._seen[name][more.ids] == 0
        ids = more.ids[fresh]
        m = n + ids.shape[0]
        self._seen[name][ids] = 1
        self._ids[name] = grown(self._ids[name], n, m)
        self._ids[name][n:m] = ids
        heads = self._heads[name] = grown(self._heads[name], n, m)
        heads[n:m] = more.tuples[fresh]
        heads[n:m, -1] = np.arange(n, m)
        self.count[name] = m
