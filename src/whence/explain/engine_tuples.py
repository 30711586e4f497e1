"""The tuples of an evaluation or of a live view, looked up through the engine's indexes.

Relations may have more columns than the program declares, such as an annotation: only the first
ones are looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.kernels.hashing import Ints
from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.live import LiveRelation
from whence.engine.local.lookup import below_rank, expected_rows, find_rows, row_rank
from whence.explain.lookup import Known, Row
from whence.explain.model import Fact, Value
from whence.syntax.nodes import Kind, Program
from whence.view.live import LiveView

Given: TypeAlias = Callable[[Fact], bool]
_NONE: Ints = np.zeros(0, dtype=np.int64)
_REMEMBERED = 100_000
"""Facts whose rows are remembered: proofs ask for the same ones again."""
_CHUNKS = 8, 1024
"""Rows that are decoded at a time, at first and at most."""


class EngineTuples:
    """The relations of a program as the embedded engine has them."""

    def __init__(
        self,
        program: Program,
        evaluation: LocalEvaluation,
        holders: Mapping[str, str] | None = None,
        given: Given | None = None,
        *,
        exact: bool = True,
    ) -> None:
        """`holders` says of a view's relations where their base facts are.

        `given` knows base facts where the rows of an evaluation do not tell.
        """
        self._arity = {d.name: d.arity for d in program.relations}
        self._evaluation = evaluation
        self._relations = evaluation.relations
        self._codec = evaluation.codec
        self._holders = holders
        self._given = given
        self.exact = exact and holders is None
        self.selected = evaluation.selected
        self._rows: dict[Fact, int | None] = {}

    @staticmethod
    def of_view(program: Program, view: LiveView) -> EngineTuples:
        """Return the tuples of a view, as they are now."""
        holders = view.holders  # first: it brings the view up to date
        return EngineTuples(program, view.evaluation, holders)

    def matching(self, relation: str, known: Known, below: int | None = None) -> Iterator[Row]:
        if len(known) == self._arity[relation] and self._holders is None:
            row = self._row(Fact(relation, tuple([known[c] for c in range(len(known))])))
            rows = _NONE if row is None else np.array([row], dtype=np.int64)
        else:
            rows = self._find(relation, known)
        if below is not None:
            rows = self._below(relation, rows, below)
        return self._decoded(relation, rows)

    def expected(self, relation: str, known: Known) -> float:
        found = self._relations.get(relation)
        codes = self._codes(relation, known)
        if found is None or codes is None:
            return 0.0
        return expected_rows(found, codes, self._arity[relation])

    def count(self, relation: str, known: Known) -> int:
        return int(self._find(relation, known).shape[0])

    def holds(self, fact: Fact) -> bool:
        return self._row(fact) is not None

    def is_base(self, fact: Fact) -> bool:
        name = fact.relation
        if self._holders is not None:
            holder = self._holders.get(name)
            if holder is None:
                return False
            return holder == name or self._row(Fact(holder, fact.row)) is not None
        found = self._relations.get(name)
        if found is None or not self._evaluation.loaded.get(name):
            return False
        if isinstance(found, KeyedRelation):
            return self._given is not None and self._given(fact)
        row = self._row(fact)
        return row is not None and row < self._evaluation.loaded[name]

    def has_base(self, relation: str) -> bool:
        if self._holders is not None:
            return relation in self._holders
        return bool(self._evaluation.loaded.get(relation))

    def rank(self, fact: Fact) -> int | None:
        found, row = self._relations.get(fact.relation), self._row(fact)
        if found is None or row is None:
            return None
        if isinstance(found, LiveRelation):
            return row_rank(found, row)
        sizes = self._evaluation.rounds.get(fact.relation)
        if isinstance(found, KeyedRelation) or sizes is None:
            return None
        return bisect_right(sizes, row)

    def ordinal(self, value: Value, kind: Kind) -> int:
        return self._codec.ordinal(value)

    def reread(self, value: Value, type_: str) -> Value:
        """Return a value as `as` gives it: the same code, read as another type."""
        return self._codec.reread(value, type_)

    # ── how ──

    def _codes(self, relation: str, known: Known) -> dict[int, int] | None:
        """Return the codes of values, None when one of them is nowhere."""
        code = self._codec.code
        found: dict[int, int] = {}
        for column, value in known.items():
            number = code(relation, column, value)
            if number is None:
                return None
            found[column] = number
        return found

    def _find(self, relation: str, known: Known) -> Ints:
        found = self._relations.get(relation)
        codes = None if found is None else self._codes(relation, known)
        if found is None or codes is None:
            return _NONE
        return find_rows(found, codes)

    def _row(self, fact: Fact) -> int | None:
        """Return the row of a fact, None when it is not there; an evaluation never changes."""
        if fact in self._rows:
            return self._rows[fact]
        found = self._find(fact.relation, dict(enumerate(fact.row)))
        row = int(found[0]) if found.shape[0] else None
        if self._holders is None and len(self._rows) < _REMEMBERED:
            self._rows[fact] = row
        return row

    def _below(self, relation: str, rows: Ints, rank: int) -> Ints:
        found = self._relations[relation]
        if isinstance(found, LiveRelation):
            return below_rank(found, rows, rank)
        sizes = self._evaluation.rounds.get(relation)
        if isinstance(found, KeyedRelation) or sizes is None:
            return rows
        end = sizes[min(rank, len(sizes)) - 1] if rank > 0 and sizes else 0
        return rows[: int(np.searchsorted(rows, end))]

    def _decoded(self, relation: str, rows: Ints) -> Iterator[Row]:
        """Yield the tuples of rows, few at first: often the first one will do."""
        source, row = self._relations[relation], self._codec.row
        arity = self._arity[relation]
        begin, step = 0, _CHUNKS[0]
        while begin < rows.shape[0]:
            chunk = source.at(rows[begin : begin + step])[:, :arity]
            for codes in chunk.tolist():
                yield row(relation, codes)
            begin += step
            step = min(2 * step, _CHUNKS[1])
