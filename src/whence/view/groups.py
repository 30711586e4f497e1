"""Aggregates under change: only the groups that a change touches are looked at again.

Counts and sums of integers are moved by what came and went; least and greatest values move when
something better came, and are looked for again when the best went. Floats are always summed anew,
so that the value never depends on the order of past changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation
from whence.engine.local.live_operators import Mask, look
from whence.engine.local.operators import CHUNK, Chunks, Push
from whence.engine.local.rules import Scope, compile_steps
from whence.engine.local.values import Values
from whence.functor.aggregate import AGGREGATES
from whence.plan.nodes import Exists, Probe, Scan, Version
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
        self._exists: Callable[[Rows, int], Mask] | None = None

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
        g, came = self.grouping, delta.came.shape[0]
        match g.function:
            case "count":
                ones = np.ones(of.shape[0], dtype=np.int64)
                codes = self._moved(ones, of, came, old)
                return codes, codes > 0
            case "sum" if g.kind is not Kind.FLOAT:
                assert g.target is not None
                rows = self._source.rows[np.concatenate([delta.came, delta.went])]
                codes = self._moved(rows[:, g.target], of, came, old)
                return codes, self._any_rows(keys)
            case "min" | "max":
                return self._extreme(keys, of, delta, old)
            case _:
                return self._afresh(keys)

    def _moved(self, amounts: Ints, of: Ints, came: int, old: Ints) -> Ints:
        """Return the values with what came added and what went taken away; integers wrap round."""
        codes = np.where(old >= 0, self._groups.rows[old, len(self.grouping.key)], 0)
        np.add.at(codes, of[:came], amounts[:came])
        np.subtract.at(codes, of[came:], amounts[came:])
        return codes

    def _any_rows(self, keys: Rows) -> Mask:
        if self._exists is None:
            g = self.grouping
            key = tuple((c, Variable(f"@{i}")) for i, c in enumerate(g.key))
            step = Exists(g.source, Version.ALL, key, negated=False)
            slots = {f"@{i}": i for i in range(len(g.key))}
            self._exists = look(step, slots, self._source, self._scope.code)
        found = [
            self._exists(chunk, chunk.shape[0]).copy()
            for begin in range(0, keys.shape[0], CHUNK)
            if (chunk := np.ascontiguousarray(keys[begin : begin + CHUNK])) is not None
        ]
        return np.concatenate(found)

    def _extreme(self, keys: Rows, of: Ints, delta: Delta, old: Ints) -> tuple[Ints, Mask]:
        """Compare what came with the old best; look again where the best itself went."""
        g, n, k = self.grouping, keys.shape[0], len(self.grouping.key)
        assert g.target is not None
        came = delta.came.shape[0]
        new, gone = self._source.rows[delta.came], self._source.rows[delta.went]
        known = np.flatnonzero(old >= 0)
        before = self._groups.rows[old[known], k]
        values = np.concatenate([before, new[:, g.target]])
        groups = np.concatenate([known, of[:came]])
        codes = self._fold(values, groups, n)
        there = np.bincount(groups, minlength=n) > 0
        best = np.zeros(n, dtype=np.int64)
        best[known] = before
        again = np.unique(of[came:][best[of[came:]] == gone[:, g.target]])
        if again.shape[0]:
            codes[again], there[again] = self._afresh(keys[again])
        return codes, there

    def _fold(self, codes: Ints, of: Ints, n: int) -> Ints:
        inside = self._values.decode(np.ascontiguousarray(codes), self.grouping.kind)
        return self._values.encode(self._function.array(inside, of, n), self._function.result)

    def _afresh(self, keys: Rows) -> tuple[Ints, Mask]:
        g, n = self.grouping, keys.shape[0]
        if self._gather is None:
            self._gather = self._reader(g.source, None, g.target)
        found = self._run(self._gather, keys)
        of = np.ascontiguousarray(found[:, 0])
        return self._fold(found[:, 1], of, n), np.bincount(of, minlength=n) > 0

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
