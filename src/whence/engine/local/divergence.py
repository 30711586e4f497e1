"""Recursion that can be seen never to end.

Let a column be free when no rule of the recursion depends on it (`plan/growth.py`). Which rules
apply to a row then depends on its other columns alone. If a chain of rules leads from a row to
another one that agrees with it in those, the same chain applies to that one, and again, for ever.
Each time round does the same to the free columns: a record becomes part of a record, a text is
made longer, or the same amount is added. If that changed the row once, every row is new.

With aggregate selection only the best rows of a group are followed. A cycle round which the
selected value becomes better has no best row. If it stays the same, and ties are kept, go round
with the best row of the group: each row on the way is best, because a better one would come back
better than the best. So all of them are followed, and there is no end either. (A float that is
too small to change a sum counts as zero.)

Such chains are looked for by walking from new rows, now and then. What is not found, goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from whence.diagnostics import DataError, Diagnostic, ProgramError, WhenceError
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.operators import Chunks
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Scope, compile_plan
from whence.engine.local.selection import Followed, order_of
from whence.plan.bodies import known_name
from whence.plan.nodes import Growth, RulePlan, Selection
from whence.syntax.nodes import Kind, RelationDecl

_ROUNDS = 8
_TUPLES = 4096
_STEPS = 128
_WALKS = 16
_SHOWN = 6

_SHARE = 0.05
_FLOOR = 0.05
"""Looking takes no more than this share of the time, beside so many seconds in all."""

_FAR = 1 << 32
"""Adding less than this goes round all numbers only after more rows than a relation can have."""

_FINE = 2.0**-13
"""Adding no less than this part of a float goes on changing it for 2⁴⁰ times."""

Show = Callable[[str, Rows], list[tuple[object, ...]]]
"""Rows of a relation as values."""


class Watch:
    """Looks for a recursion without end, at rounds and sizes that double."""

    def __init__(
        self,
        growth: Growth,
        decl: RelationDecl,
        kinds: Sequence[Kind],
        reads: Relation,
        selections: Sequence[Selection],
        plans: Sequence[RulePlan],
        scope: Scope,
        show: Show,
        why_not: str,
    ) -> None:
        self._growth = growth
        self._decl = decl
        self._kinds = kinds
        self._reads = reads
        self._selections = selections
        self._show = show
        self._why_not = why_not
        self._rounds = _ROUNDS
        self._tuples = _TUPLES
        self._found: list[Rows] = []
        chunks = Chunks()
        self._runners = [compile_plan(p, scope, chunks, self._collect) for p in plans]
        self._rest = [c for c in range(decl.arity) if c not in growth.free]
        self._random = np.random.default_rng(0)
        self._started = time.perf_counter()
        self._spent = 0.0

    def _collect(self, rows: Rows, n: int) -> None:
        self._found.append(rows[:n].copy())

    def look(self, rounds: int) -> None:
        """Raise if the recursion is seen never to end; only looks now and then."""
        delta = self._reads.delta()
        if delta.shape[0] == 0 or (rounds < self._rounds and self._reads.size < self._tuples):
            return
        steps = _STEPS
        while self._rounds <= rounds:
            self._rounds *= 2
            steps = _STEPS + rounds  # enough to come round a cycle of as many rows
        while self._tuples <= self._reads.size:
            self._tuples *= 2
        now = time.perf_counter()
        until = now + _FLOOR + _SHARE * (now - self._started) - self._spent
        for _ in range(_WALKS):
            start = delta[int(self._random.integers(delta.shape[0]))]
            steps -= self._walk(start, steps, until)
            if steps <= 0 or time.perf_counter() > until:
                break
        self._spent += time.perf_counter() - now

    def _walk(self, start: Ints, steps: int, until: float) -> int:
        """Go from row to row that is derived from it; return how many steps that was."""
        path = [start]
        seen = {tuple(start[self._rest].tolist()): 0}
        for step in range(steps):
            children = self._children(path[-1])
            if children.shape[0] == 0 or time.perf_counter() > until:
                return step + 1
            row = children[int(self._random.integers(children.shape[0]))]
            rest = tuple(row[self._rest].tolist())
            if rest in seen:
                cycle = np.array([*path[seen[rest] :], row])
                if self._goes_on(cycle):
                    raise self._error(cycle)
            seen[rest] = len(path)
            path.append(row)
        return steps

    def _children(self, row: Ints) -> Rows:
        self._found.clear()
        for runner in self._runners:
            runner.push(row.reshape(1, -1).copy(), 1)
        found = [rows for rows in self._found if rows.shape[0]]
        if not found:
            return np.empty((0, self._decl.arity), dtype=np.int64)
        rows = np.concatenate(found)
        if isinstance(self._reads, Followed):
            rows = rows[self._reads.selector.as_good(rows)]
        return rows

    def _goes_on(self, cycle: Rows) -> bool:
        """Say whether the way from one row to another of equal rest can be gone for ever."""
        before, after = cycle[0], cycle[-1]
        if not any(self._changes(c, before[c], after[c]) for c in self._growth.certain):
            return False
        return not self._selections or any(
            self._no_worse(selection, cycle) for selection in self._selections
        )

    def _changes(self, column: int, before: np.int64, after: np.int64) -> bool:
        if before == after:
            return False
        kind = self._kinds[column]
        if kind is Kind.FLOAT:
            a, b = (float(x.view(np.float64)) for x in (before, after))
            return bool(
                np.isfinite(a) and np.isfinite(b) and abs(b - a) >= _FINE * max(abs(a), abs(b))
            )
        if kind in (Kind.NUMBER, Kind.UNSIGNED):
            return abs(int(after) - int(before)) < _FAR
        return True

    def _no_worse(self, selection: Selection, cycle: Rows) -> bool:
        growth, value = self._growth, selection.value
        if not set(selection.key).isdisjoint(growth.free):
            return False
        codes = np.ascontiguousarray(cycle[:, value])
        if value in growth.scaled:
            return selection.ties and self._keeps_all(value, codes)
        if value in growth.free and value not in growth.certain:
            return False
        first, *_, last = order_of(codes, selection)
        return bool(last < first or (last == first and selection.ties))

    def _keeps_all(self, column: int, codes: Ints) -> bool:
        """Say whether factors that gave the first value back would do so with any other.

        Those of numbers are above zero, so each is one. Floats have been multiplied by powers of
        two, which is exact, if their fractions are all the same.
        """
        if codes[0] != codes[-1] or codes[0] == 0:
            return False
        if self._kinds[column] is not Kind.FLOAT:
            return True
        values = codes.view(np.float64)
        return bool(np.isfinite(values).all() and np.unique(np.frexp(values)[0]).size == 1)

    def _error(self, path: Rows) -> WhenceError:
        names = [a.name for a in self._decl.attributes]
        rows = self._show(self._decl.name, path[: _SHOWN + 1])
        relation = known_name(self._decl.name)
        shown = ["(" + ", ".join(str(row[c]) for c in self._rest) + ")" for row in rows]
        if len(path) > len(rows):
            shown.append("…")
        rest = ", ".join(names[c] for c in self._rest)
        notes = [f"({rest}) is derived from itself: {' → '.join(shown)}"] if rest else []
        grown = [c for c in self._growth.certain if path[0][c] != path[-1][c]]
        columns = ", ".join(f"`{names[c]}`" for c in grown)
        span = self._growth.span
        if not self._selections:
            best = f", or read `{relation}` only through the `min` or `max` of a column"
            return ProgramError(
                Diagnostic(
                    "W0707",
                    f"the recursion of `{relation}` never ends",
                    span,
                    f"makes another {columns} each time round",
                    notes=(*notes, *((self._why_not,) if self._why_not else ())),
                    hint=f"bound {columns} by a test{best if rest else ''}",
                )
            )
        listed = dict.fromkeys(names[s.value] for s in self._selections if self._no_worse(s, path))
        values = ", ".join(f"`{name}`" for name in listed)
        return DataError(
            Diagnostic(
                "W0708",
                f"the best rows of `{relation}` never end: round a cycle {values} is no worse",
                span,
                f"makes another {columns} each time round",
                notes=tuple(notes),
                hint="give every cycle in the data a cost: "
                "only then going round once more is not worth it",
            )
        )
