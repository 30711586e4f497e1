"""Aggregates under change: only the groups that a change touches are looked at again.

Counts and sums of integers are moved by what came and went; least and greatest values move when
something better came, and are looked for again when the best went. Floats are always summed anew,
so that the value never depends on the order of past changes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation
from whence.engine.local.live_operators import Mask
from whence.engine.local.operators import CHUNK, Chunks, Push
from whence.engine.local.rules import Scope, compile_steps
from whence.engine.local.values import Values
from whence.functor.aggregate import AGGREGATES
from whence.plan.nodes import Probe, Scan, Version
from whence.rewrite.materialise_aggregates import Grouping
from whence.syntax.nodes import Atom, Kind, Term, Variable
from whence.view.base import StratumWork


class Groups:
    """The relation of an aggregate's groups and how it follows its source."""

    def __init__(
        self,
        grouping: Grouping,
        relations: Mapping[str, LiveRelation],
        scope: Scope,
        values: Values,
    ) -> None:
        self.grouping = grouping
        self._source = relations[grouping.source]
        self._groups = relations[grouping.relation]
        self._values = values
        self._function = AGGREGATES[grouping.function, grouping.kind]
        self._found: list[Rows] = []
        self._scope = scope
        self._gather: Push | None = None
        self._current: Push | None = None

    def maintain(self, delta: Delta, work: StratumWork) -> Delta:
        """Bring the groups up to date with the change of their source; return their change."""
        source, groups, g = self._source, self._groups, self.grouping
        touched = np.concatenate([delta.came, delta.went])
        keys, of = _distinct(source.rows[touched][:, list(g.key)])
        work.asked += keys.shape[0]
        old = self._old_rows(keys)
        codes, there = self._values_of(keys, of, delta, old)
        was = old >= 0
        k = len(g.key)
        same = was & there
        same[same] = groups.rows[old[same], k] == codes[same]
        went = old[was & ~same]
        new = there & ~same
        rows = np.column_stack([keys[new], codes[new]]).astype(np.int64, copy=False)
        groups.bury(went)
        groups.admit(np.ascontiguousarray(rows), rows.shape[0])
        came = groups.wave()
        work.removed += went.shape[0]
        work.deleted += went.shape[0]
        work.inserted += came.shape[0]
        return Delta(came, went)

    def _old_rows(self, keys: Rows) -> Ints:
        """Return the row that each key has among the groups, -1 for none."""
        if self._current is None:
            self._current = self._reader(self.grouping.relation, len(self.grouping.key), None)
        out = np.full(keys.shape[0], -1, dtype=np.int64)
        found = self._run(self._current, keys)
        if found.shape[0]:
            number = found[:, 0]
            whole = np.column_stack([keys[number], found[:, 1]])
            out[number] = self._groups.find(np.ascontiguousarray(whole))
        return out

    def _values_of(self, keys: Rows, of: Ints, delta: Delta, old: Ints) -> tuple[Ints, Mask]:
        """Return each key's value as a code, and whether it has any rows."""
        g, n = self.grouping, keys.shape[0]
        came = delta.came.shape[0]
        if g.function == "count":
            moved = np.bincount(of[:came], minlength=n) - np.bincount(of[came:], minlength=n)
            before = np.where(old >= 0, self._groups.rows[old, len(g.key)], 0)
            codes = before + moved
            return codes, codes > 0
        return self._afresh(keys)

    def _afresh(self, keys: Rows) -> tuple[Ints, Mask]:
        g, n = self.grouping, keys.shape[0]
        if self._gather is None:
            self._gather = self._reader(g.source, None, g.target)
        found = self._run(self._gather, keys)
        of = np.ascontiguousarray(found[:, 0])
        kind = Kind.NUMBER if g.function == "count" else g.kind
        inside = self._values.decode(np.ascontiguousarray(found[:, 1]), kind)
        codes = self._values.encode(self._function.array(inside, of, n), self._function.result)
        return codes, np.bincount(of, minlength=n) > 0

    # ── reading ──

    def _reader(self, relation: str, value: int | None, target: int | None) -> Push:
        """Compile: for each key, followed by its number, the number and a column of its rows."""
        k = len(self.grouping.key)
        columns = range(k) if value is not None else self.grouping.key
        taken = value if value is not None else target
        takes = () if taken is None else ((taken, "@value"),)
        steps = (
            Scan(relation, Version.DELTA, (*((i, f"@{i}") for i in range(k)), (k, "@n"))),
            Probe(
                relation,
                Version.ALL,
                tuple((c, Variable(f"@{i}")) for i, c in enumerate(columns)),
                takes,
            ),
        )
        last: Term = Variable("@value") if taken is not None else Variable("@n")
        head = Atom("@group", (Variable("@n"), last))
        return compile_steps(
            steps,
            head,
            {},
            self._scope,
            Chunks(),
            lambda rows, n: self._found.append(rows[:n].copy()),
        )

    def _run(self, push: Push, keys: Rows) -> Rows:
        self._found.clear()
        n, k = keys.shape
        source = np.empty((n, k + 1), dtype=np.int64)
        source[:, :k] = keys
        source[:, k] = np.arange(n)
        for begin in range(0, n, CHUNK):
            chunk = source[begin : begin + CHUNK]
            push(chunk, chunk.shape[0])
        return np.concatenate(self._found) if self._found else np.empty((0, 2), dtype=np.int64)


def _distinct(keys: Rows) -> tuple[Rows, Ints]:
    """Return the different keys, and for each key which of them it is."""
    if keys.shape[1] == 0:
        return keys[:1], np.zeros(keys.shape[0], dtype=np.int64)
    found, of = np.unique(keys, axis=0, return_inverse=True)
    return found, of.reshape(-1)
