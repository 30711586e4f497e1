"""Who owns a row: the owners of a column's values, by the codes that this task has for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whence.engine.local.kernels.hashing import Ints, Rows, Small
from whence.engine.local.kernels.routing import count_owners, scatter_rows, split_rows
from whence.engine.local.records import RecordText
from whence.engine.spark.gang.wire import Words
from whence.engine.spark.model import ALONE, By, Placement
from whence.engine.spark.owner import hash_bits, hash_texts, owners
from whence.syntax.nodes import Kind

_TABLE_VALUES = 1 << 22
"""Of a wider range of numbers the owners are computed each time."""

_NO_TABLE: Small = np.empty(0, dtype=np.int32)


class Owners:
    """The owners of the values of one column, as a table that grows with the codes."""

    def __init__(
        self, words: Words, records: RecordText, relation: str, column: int, tasks: int
    ) -> None:
        self._words = words
        self._records = records
        self._kind = words.kinds[relation][column]
        self._type = words.decls[relation].attributes[column].type
        self._dictionary = words.columns.dictionary(relation, column)
        self._tasks = tasks
        self.lo = 0
        self.table: Small = _NO_TABLE
        self._known = 0
        if self._dictionary is None and self._kind not in (Kind.SYMBOL, Kind.RECORD):
            ranges = words.columns.ranges(relation, len(words.kinds[relation]))
            if (
                ranges is not None
                and int(ranges[1][column]) - int(ranges[0][column]) < _TABLE_VALUES
            ):
                self.lo = int(ranges[0][column])
                values = np.arange(self.lo, int(ranges[1][column]) + 1, dtype=np.int64)
                self.table = owners(hash_bits(values), tasks).astype(np.int32)

    def extend(self) -> None:
        """Have an entry for every code that there is now."""
        size = self._size()
        if self._known >= size:
            return
        codes = np.arange(self._known, size, dtype=np.int64)
        if self.table.shape[0] < size:
            wider = np.zeros(2 * size, dtype=np.int32)
            wider[: self._known] = self.table[: self._known]
            self.table = wider
        self.table[codes] = self._owners(codes)
        self._known = size

    def _size(self) -> int:
        if self._dictionary is not None:
            return self._dictionary.size
        return self._codes()

    def _codes(self) -> int:
        """Return how many codes of symbols, or of records of the type, there are."""
        values = self._words.values
        if self._kind is Kind.SYMBOL:
            return len(values.symbols)
        if self._kind is Kind.RECORD:
            found = values.records.get(len(self._words.fields[self._type]))
            return 1 + (0 if found is None else found.size)
        return 0

    def _owners(self, codes: Ints) -> Ints:
        if self._dictionary is not None:
            codes = self._dictionary.rows[codes, 0]
        if self._kind is Kind.SYMBOL:
            return owners(hash_texts(self._words.values.symbols.texts(codes).tolist()), self._tasks)
        if self._kind is Kind.RECORD:
            return owners(hash_texts(self._records.print(self._type, codes)), self._tasks)
        return owners(hash_bits(np.ascontiguousarray(codes)), self._tasks)


class Route:
    """Where the rows of a copy belong, seen from one task."""

    def __init__(self, placement: Placement, owners_of: Owners | None, me: int, tasks: int) -> None:
        self.placement = placement
        self._owners = owners_of
        self.me = me
        self.tasks = tasks
        self._own: Rows = np.empty((0, 0), dtype=np.int64)
        self._foreign: Rows = np.empty((0, 0), dtype=np.int64)

    @property
    def column(self) -> int | None:
        """The column whose values have owners."""
        return self.placement.column if isinstance(self.placement, By) else None

    def split(self, cand: Rows, n: int) -> tuple[Rows, int, Rows, int]:
        """Return the rows that belong here, and those that belong to peers, until the next call."""
        if self._owners is None:
            here = self.placement is not ALONE or self.me == 0
            return (cand, n, cand, 0) if here else (cand, 0, cand, n)
        if self._own.shape[0] < n or self._own.shape[1] != cand.shape[1]:
            self._own = np.empty((max(n, 1024), cand.shape[1]), dtype=np.int64)
            self._foreign = np.empty_like(self._own)
        owned = self._owners
        owned.extend()
        mine, others = split_rows(
            cand,
            n,
            self.placement.column if isinstance(self.placement, By) else 0,
            owned.table,
            owned.lo,
            self.tasks,
            self.me,
            self._own,
            self._foreign,
        )
        return self._own, mine, self._foreign, others

    def mine(self, rows: Rows) -> Rows:
        """Return the rows that belong here."""
        own, n, _, _ = self.split(rows, rows.shape[0])
        return own[:n]

    def addressed(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        """Return the rows for each peer; those that belong here are left out."""
        if rows.shape[0] == 0:
            return
        if self._owners is None:
            peers = (0,) if self.placement is ALONE else range(self.tasks)
            yield from ((peer, rows) for peer in peers if peer != self.me)
            return
        self._owners.extend()
        column = self.placement.column if isinstance(self.placement, By) else 0
        at = column, self._owners.table, self._owners.lo, self.tasks
        counts = np.zeros(self.tasks, dtype=np.int64)
        count_owners(rows, *at, counts)
        ends = np.cumsum(counts)
        if int(counts.max()) == rows.shape[0]:  # with two tasks a row that is not here is there
            sorted_ = rows
        else:
            sorted_ = np.empty_like(rows)
            scatter_rows(rows, *at, ends - counts, sorted_)
        for peer in range(self.tasks):
            if counts[peer] and peer != self.me:
                yield peer, sorted_[ends[peer] - counts[peer] : ends[peer]]
