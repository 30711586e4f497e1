"""Aggregates: the rows of a complete relation grouped by key, and one value per group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.engine.local.index import Index
from whence.engine.local.kernels import joins as kernels
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.relation import Relation
from whence.engine.local.values import Values
from whence.functor.aggregate import AGGREGATES
from whence.plan.nodes import Fold
from whence.syntax.nodes import Kind


@dataclass(slots=True)
class Groups:
    """The value of each group as a code; `default` is the one of a key without rows, if any."""

    index: Index
    rows: Rows
    codes: Ints
    default: int | None

    def find(self, binding: Rows, n: int, slots: Ints, consts: Ints) -> Ints:
        """Return the group of each binding, -1 for none."""
        out = np.empty(n, dtype=np.int64)
        index = self.index
        kernels.group_of(
            binding,
            n,
            slots,
            consts,
            index.key_array,
            index.table,
            index.first,
            index.shift,
            self.rows,
            out,
        )
        return out

    def values_at(self, groups: Ints) -> Ints:
        """Return the codes of the groups; -1 has the default."""
        if self.default is None:
            return self.codes[groups]
        padded = np.append(self.codes, self.default)
        return padded[groups]


class Folds:
    """The groups made so far in one stratum, by relation, key and function."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._made: dict[tuple[object, ...], Groups] = {}

    def of(self, step: Fold, relation: Relation) -> Groups:
        """Return the groups that the step asks for."""
        columns = tuple(column for column, _ in step.key)
        known = (step.relation, columns, step.function, step.kind, step.target)
        if known not in self._made:
            self._made[known] = self._group(step, columns, relation)
        return self._made[known]

    def _group(self, step: Fold, columns: tuple[int, ...], relation: Relation) -> Groups:
        rows = relation.live_rows()
        index = Index(columns, hashed=True)
        of = index.number_groups(rows, rows.shape[0])
        kind = Kind.NUMBER if step.function == "count" else step.kind
        function = AGGREGATES[step.function, kind]
        codes = np.zeros(rows.shape[0], np.int64) if step.target is None else rows[:, step.target]
        values = self._values.decode(np.ascontiguousarray(codes), kind)
        result = function.array(values, of.astype(np.int64), index.groups)
        default = 0 if function.total else None
        return Groups(index, rows, self._values.encode(result, function.result), default)
