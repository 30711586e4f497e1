"""Which columns hold renumbered values, and the ranges that classes of columns keep to.

Columns that meet only in equality are renumbered when their values are sparse, so that tuples
pack into bitmaps and keys address lists directly, whatever the identifiers look like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from whence.engine.local.dictionary import Dictionary
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.values import Values
from whence.plan.classes import Classes
from whence.syntax.nodes import Constant, Kind

_SLACK = 65536


def is_sparse(lo: int, hi: int, rows: int) -> bool:
    """Say whether a range is too wide for the number of values in it to be addressed directly."""
    return hi - lo >= 8 * rows + _SLACK


class Columns:
    """The dictionaries of the classes that were renumbered, and the range of each class."""

    def __init__(
        self,
        classes: Classes,
        kinds: Mapping[str, tuple[Kind, ...]],
        values: Values,
        inputs: Mapping[str, Rows],
    ) -> None:
        self._classes = classes
        self._values = values
        self._dictionaries: dict[int, Dictionary] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        for number, members in classes.members().items():
            if any(kinds[relation][column] is Kind.RECORD for relation, column in members):
                continue
            constants = [values.code(c) for c in classes.constants.get(number, ())]
            arrays = [inputs[r][:, c] for r, c in members if r in inputs and len(inputs[r])]
            self._settle(number, arrays, constants)

    def _settle(self, number: int, arrays: list[Ints], constants: list[int]) -> None:
        if not arrays and not constants:
            return
        lo = min([int(a.min()) for a in arrays] + constants)
        hi = max([int(a.max()) for a in arrays] + constants)
        rows = sum(len(a) for a in arrays) + len(constants)
        if not is_sparse(lo, hi, rows):
            self._ranges[number] = lo, hi
            return
        dictionary = self._dictionaries[number] = Dictionary(1)
        for array in arrays:
            # In place: the array is a column of the input rows.
            array[:] = dictionary.encode(np.ascontiguousarray(array).reshape(-1, 1))
        if constants:
            dictionary.encode(np.array(constants, dtype=np.int64).reshape(-1, 1))
        self._ranges[number] = 0, dictionary.size - 1

    @property
    def size(self) -> int:
        """How many values have been renumbered."""
        return sum(dictionary.size for dictionary in self._dictionaries.values())

    def code(self, relation: str, column: int, constant: Constant) -> int:
        """Return the code of a constant in this column."""
        code = self._values.code(constant)
        dictionary = self.dictionary(relation, column)
        if dictionary is None:
            return code
        return int(dictionary.encode(np.array([[code]], dtype=np.int64))[0])

    def renumber(self, relation: str, rows: Rows, columns: Iterable[int]) -> None:
        """Turn the original codes of these columns into their own, in place."""
        for place, column in enumerate(columns):
            dictionary = self.dictionary(relation, column)
            if dictionary is not None:
                codes = np.ascontiguousarray(rows[:, place]).reshape(-1, 1)
                rows[:, place] = dictionary.encode(codes)

    def restore(self, relation: str, rows: Rows, columns: Iterable[int]) -> list[Ints]:
        """Return these columns of the rows with their original codes."""
        return [self._restored(relation, c, np.ascontiguousarray(rows[:, c])) for c in columns]

    def _restored(self, relation: str, column: int, codes: Ints) -> Ints:
        dictionary = self.dictionary(relation, column)
        return codes if dictionary is None else dictionary.rows[codes, 0]

    def renumbered(self, relation: str) -> tuple[int, ...]:
        """Return the columns of the relation that hold renumbered values."""
        return tuple(
            c
            for (name, c), number in self._classes.of.items()
            if name == relation and number in self._dictionaries
        )

    def dictionary(self, relation: str, column: int) -> Dictionary | None:
        """Return what numbers the values of a column, None when they are their own codes."""
        number = self._classes.of.get((relation, column))
        return None if number is None else self._dictionaries.get(number)

    def ranges(self, relation: str, arity: int) -> tuple[Ints, Ints] | None:
        """Return the range that every column keeps to, when all are known."""
        found = [self._ranges.get(self._classes.of.get((relation, c), -1)) for c in range(arity)]
        known = [r for r in found if r is not None]
        if len(known) < arity:
            return None
        lo, hi = [r[0] for r in known], [r[1] for r in known]
        return np.array(lo, dtype=np.int64), np.array(hi, dtype=np.int64)
