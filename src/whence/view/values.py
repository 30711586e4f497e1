"""The values of an annotated relation that is kept current: one for each key, and offers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import grown
from whence.engine.local.dictionary import Dictionary
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import NONE, LiveRelation
from whence.plan.nodes import Keyed

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ABSENT = np.nan
"""Where a key has no value; no annotation is NaN."""


class Values:
    """The value of each key of a relation that has one, and what has been offered beside it."""

    def __init__(self, relation: LiveRelation, keyed: Keyed) -> None:
        self.relation = relation
        self.keyed = keyed
        self._keys = Dictionary(len(keyed.key))
        self._value: Floats = np.full(16, ABSENT)
        self._offered: Floats = np.full(16, ABSENT)
        self._numbers: list[Ints] = []

    def better(self, a: Floats, b: Floats) -> Mask:
        """Say which values are better than others, or where there are no others."""
        return (a > b if self.keyed.greatest else a < b) | np.isnan(b)

    def keep_best(self, best: Floats, at: Ints, values: Floats) -> None:
        """Let each place hold the best of what it has and is given."""
        (np.fmax if self.keyed.greatest else np.fmin).at(best, at, values)

    def of(self, rows: Rows) -> Floats:
        """Return the values of rows."""
        return as_floats(rows[:, self.keyed.value])

    def keys(self, rows: Rows) -> Rows:
        """Return the key columns of rows."""
        return np.ascontiguousarray(rows[:, self.keyed.key])

    def adopt(self) -> None:
        """Take the values from the rows that are there."""
        rows = self.relation.live_rows()
        self.have(self.number(self.keys(rows)), self.of(rows))

    def forget(self, ids: Ints) -> None:
        """Take out rows that are there."""
        self.relation.bury(ids)
        self.lose(self.number(self.keys(self.relation.rows[ids])))

    def have(self, numbers: Ints, values: Floats) -> None:
        """Note the values that keys have from now on."""
        self._value[numbers] = values

    def lose(self, numbers: Ints) -> None:
        """Note that keys have no value any more."""
        self._value[numbers] = ABSENT

    def offer(self, keys: Rows, values: Floats) -> None:
        """Note values that are better than what is there and what has been offered."""
        numbers = self.number(keys)
        good = self.better(values, self._value[numbers])
        good &= self.better(values, self._offered[numbers])
        if good.any():
            numbers = numbers[good]
            self.keep_best(self._offered, numbers, values[good])
            self._numbers.append(numbers)

    def take_offers(self) -> tuple[Rows, Ints]:
        """Let the best offers count; return them as rows, and the rows that they replace."""
        parts, self._numbers = self._numbers, []
        numbers = np.unique(np.concatenate(parts)) if parts else NONE
        values, before = self._offered[numbers], self._value[numbers]
        self._offered[numbers] = ABSENT
        self._value[numbers] = values
        keys = self._keys.rows[numbers]
        there = ~np.isnan(before)
        return self._rows(keys, values), self.relation.find(self._rows(keys[there], before[there]))

    def _rows(self, keys: Rows, values: Floats) -> Rows:
        rows = np.empty((keys.shape[0], self.relation.arity), dtype=np.int64)
        rows[:, self.keyed.key] = keys
        rows[:, self.keyed.value] = values.view(np.int64)
        return rows

    @property
    def size(self) -> int:
        """How many keys have a number."""
        return self._keys.size

    def number(self, keys: Rows) -> Ints:
        """Return the numbers of keys, which those that are new get."""
        numbers = self._keys.encode(keys)
        have, need = self._value.shape[0], self._keys.size
        if need > have:
            self._value = grown(self._value, have, need)
            self._offered = grown(self._offered, have, need)
            self._value[have:] = self._offered[have:] = ABSENT
        return numbers


def as_floats(codes: Ints) -> Floats:
    """Return the numbers that are coded by their bits."""
    return np.ascontiguousarray(codes).view(np.float64)
