"""What searches have found, cell by cell: a number for each search and state.

Numbers of cells stay the same until something changes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.engine.local.dictionary import Dictionary
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.searches import Searches


def find_cells(searches: Searches, known: Mapping[int, int]) -> Ints:
    """Return the cells of the rows that have these codes."""
    pivot, state, parent = searches.search.pivot, searches.search.state, searches.parent
    at = _matching(searches.pivots, {i: known[c] for i, c in enumerate(pivot) if c in known})
    of = _matching(searches.states, {i: known[c] for i, c in enumerate(state) if c in known})
    if not pivot:
        at = np.arange(searches.pivots.size)
    found, which = np.nonzero(parent[at[:, None], of[None, :]])
    cells: Ints = at[found] * parent.shape[1] + of[which]
    rest = {c: code for c, code in known.items() if c not in pivot and c not in state}
    for column, code in rest.items():
        cells = cells[cell_rows(searches, cells)[:, column] == code]
    return cells


def expected_cells(searches: Searches, known: Mapping[int, int]) -> float:
    """Return about how many rows have these codes."""
    found, search = float(searches.alive), searches.search
    for columns, numbers in ((search.pivot, searches.pivots), (search.state, searches.states)):
        if columns:
            share = sum(c in known for c in columns) / len(columns)
            found /= max(1.0, float(numbers.size)) ** share
    return found


def cell_rows(searches: Searches, cells: Ints) -> Rows:
    """Return the rows of cells."""
    return searches.rows_at(*np.divmod(cells, max(1, searches.parent.shape[1])))


def cell_depths(searches: Searches, cells: Ints) -> Ints:
    """Return for each cell how many steps it is from a seed, along parents."""
    at, state = np.divmod(cells, max(1, searches.parent.shape[1]))
    depth = np.zeros(cells.shape[0], dtype=np.int64)
    left = np.arange(cells.shape[0])
    while True:
        step = searches.parent[at[left], state[left]]
        left, step = left[step > 0], step[step > 0]
        if not left.shape[0]:
            return depth
        depth[left] += 1
        state[left] = searches.src[step - 1]


def _matching(numbers: Dictionary, known: Mapping[int, int]) -> Ints:
    """Return the numbers of the rows that have these codes in these columns."""
    rows = numbers.rows[: numbers.size]
    chosen = np.ones(rows.shape[0], dtype=np.bool_)
    for column, code in known.items():
        chosen &= rows[:, column] == code
    return np.flatnonzero(chosen)
