"""Rows of one relation by the values of some columns, for those who ask for few of them.

An index on one column is small and soon made; the rows it gives are filtered by the other columns.
Only where every column has long lists is there an index on all of those that are known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.engine.local.cells import expected_cells, find_cells
from whence.engine.local.index import Index
from whence.engine.local.kernels.hashing import Ints
from whence.engine.local.kernels.joins import group_of
from whence.engine.local.live import LiveRelation
from whence.engine.local.relation import Relation
from whence.engine.local.searched import SearchedRelation

FEW = 256
"""Rows of a relation that are looked at one by one."""

SHORT = 4096
"""Rows of an index's list that are filtered rather than indexed by more columns."""

_NONE: Ints = np.zeros(0, dtype=np.int64)


def find_rows(relation: Relation, known: Mapping[int, int]) -> Ints:
    """Return the numbers of the rows that have these codes and are there, in ascending order."""
    if isinstance(relation, SearchedRelation):
        return find_cells(relation.searches, known)
    size = relation.size
    if not known:
        return _alive(relation, np.arange(size, dtype=np.int64))
    if size <= FEW:
        found = np.arange(size, dtype=np.int64)
        return _alive(relation, _filtered(relation, found, known))
    if isinstance(relation, LiveRelation) and len(known) == relation.arity:
        row = relation.find(np.array([[known[c] for c in range(relation.arity)]], dtype=np.int64))
        return _alive(relation, row[row >= 0])
    column, listed = _shortest(relation, known)
    if listed.shape[0] <= SHORT or len(known) == 1:
        rest = {c: code for c, code in known.items() if c != column}
        return _alive(relation, _filtered(relation, listed, rest))
    columns = tuple(sorted(known))
    key = tuple(known[c] for c in columns)
    return _alive(relation, _listed(relation.index(columns), key, relation))


def expected_rows(relation: Relation, columns: Mapping[int, int], arity: int) -> float:
    """Return about how many rows have these codes, without making an index."""
    if isinstance(relation, SearchedRelation):
        return expected_cells(relation.searches, columns)
    size = float(relation.size)
    if len(columns) >= arity:
        return min(1.0, size)
    guess: float = size ** (1.0 - len(columns) / arity) if size > 1 else size
    for column, code in columns.items():
        index = relation.indexes.get((column,))
        if index is None and size <= 8 * FEW and columns:
            index = relation.index((column,))
        if index is not None:
            guess = min(guess, float(_listed(index, (code,), relation).shape[0]))
    return guess


def row_rank(relation: LiveRelation, row: int) -> int:
    """Return the rank of a row of a live relation, followed or idle."""
    return int(relation.ranks(np.array([row]))[0])


def below_rank(relation: LiveRelation, rows: Ints, rank: int) -> Ints:
    """Return those of the rows that have a lower rank, lowest first."""
    ranks = relation.ranks(rows)
    kept = ranks < rank
    order = np.argsort(ranks[kept], kind="stable")
    return rows[kept][order]


def _shortest(relation: Relation, known: Mapping[int, int]) -> tuple[int, Ints]:
    """Return a column and the rows that have its code: few, if any column has few.

    Indexes that are there are asked first; others are made one after the other.
    """
    best: tuple[int, Ints] | None = None
    for there in (True, False):
        for column, code in known.items():
            if ((column,) in relation.indexes) is not there:
                continue
            listed = _listed(relation.index((column,)), (code,), relation)
            if best is None or listed.shape[0] < best[1].shape[0]:
                best = column, listed
            if listed.shape[0] <= SHORT and not there:
                return best
        if best is not None and best[1].shape[0] <= SHORT:
            return best
    assert best is not None
    return best


def _listed(index: Index, key: tuple[int, ...], relation: Relation) -> Ints:
    """Return the rows that an index lists under a key."""
    if index.dense:
        group = key[0] - index.lo
        if not 0 <= group < index.start.shape[0]:
            return _NONE
    else:
        if not index.groups:
            return _NONE
        out = np.empty(1, dtype=np.int64)
        slots = np.arange(len(key), dtype=np.int64)
        group_of(
            np.array([key], dtype=np.int64),
            1,
            slots,
            np.zeros_like(slots),
            index.key_array,
            index.table,
            index.first,
            index.shift,
            relation.rows,
            out,
        )
        group = int(out[0])
        if group < 0:
            return _NONE
    start = int(index.start[group])
    return index.pool[start : start + int(index.count[group])].astype(np.int64)


def _filtered(relation: Relation, rows: Ints, known: Mapping[int, int]) -> Ints:
    for column, code in known.items():
        rows = rows[relation.rows[rows, column] == code]
    return rows


def _alive(relation: Relation, rows: Ints) -> Ints:
    dead = relation.dead
    return rows if dead.shape[0] == 0 else rows[dead[rows] == 0]
