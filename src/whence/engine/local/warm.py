"""Load what nearly every evaluation calls, so that it is not loaded in the middle of one."""

from __future__ import annotations

import time

import numpy as np

from whence.engine.local.compile import compile_kernels
from whence.engine.local.kernels import groups, joins, live, live_joins, membership, support
from whence.engine.local.kernels.hashing import Ints, Rows

_warm = False
_warm_live = False


def prepare_kernels() -> float:
    """Switch to compiled kernels and load the common ones; return the seconds that took."""
    global _warm
    if _warm:
        return 0.0
    _warm = True
    started = time.perf_counter()
    compile_kernels()
    rows = np.zeros((0, 2), dtype=np.int64)
    ints = np.zeros(2, dtype=np.int64)
    small = np.zeros(2, dtype=np.int32)
    none = np.zeros(0, dtype=np.int32)
    words = np.zeros(2, dtype=np.uint64)
    flags = np.zeros(0, dtype=np.uint8)
    membership.bounds(rows, 0, 0, ints, ints)
    membership.fill_bitmap(rows, 0, ints, ints, words)
    membership.insert_bitmap(rows, 0, 0, ints, ints, ints, words, rows, 0)
    membership.unseen_bitmap(rows, 0, ints, ints, ints, words, rows)
    membership.fill_packed(rows, 0, ints, ints, words, 63)
    membership.insert_packed(rows, 0, 0, ints, ints, ints, words, 63, 0, rows, 0)
    membership.unseen_packed(rows, 0, ints, ints, ints, words, 63, rows)
    groups.group_rows(rows, 0, 0, ints, small, 63, small, 0, none)
    groups.place_groups(none, 0, small, ints, small, small, none, 0)
    groups.enter_groups(0, none, ints, small, none)
    groups.append_groups(0, 0, none, ints, small, small, none, 0)
    lists = (ints, small, small, rows, 0, flags, ints, ints, ints, ints, rows)
    joins.probe_dense(rows, 0, ints, 0, 0, 0, *lists)
    joins.probe_hashed(rows, 0, ints, ints, ints, ints, small, small, 63, *lists)
    return time.perf_counter() - started


def prepare_live_kernels() -> None:
    """Load what every live view calls, if kernels are compiled already."""
    global _warm_live
    if _warm_live or not _warm:
        return
    _warm_live = True
    rows = np.zeros((0, 3), dtype=np.int64)
    ints = np.zeros(2, dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    small = np.zeros(2, dtype=np.int32)
    flags = np.zeros(2, dtype=np.uint8)
    cells = np.zeros((1, 2), dtype=np.int64)
    table: tuple[Ints, Ints, Ints, Rows, Ints, int] = (ints, ints, ints, cells, none, 63)
    moves = (none, none, none, none, rows)
    live.find_rows(rows, 0, ints, ints, *table, rows, ints)
    live.fill_rows(rows, 0, 2, ints, ints, cells, none, 63)
    live.admit_rows(rows, 0, 0, *table, 0, rows, 0, flags, flags, none, ints, 0)
    live.revive_rows(none, flags, ints, 0)
    live.find_ranks(rows, 0, ints, ints, ints, ints, ints, cells, rows, ints, ints)
    live.sync_ranks(none, ints, ints, cells, rows)
    support.lost_heads(rows, 0, 0, 2, ints, ints, none, flags, ints, rows, 0)
    live_joins.probe_row(rows, 0, ints, rows, flags, False, -1, *moves)
    live_joins.exists_row(rows, 0, ints, rows, flags, False, -1, flags)
    live_joins.find_groups(rows, 0, ints, ints, ints, small, small, 63, True, 0, ints, rows, ints)
    lists = (ints, ints, small, small, rows)
    live_joins.probe_group(rows, 0, ints, *lists, flags, False, -1, *moves)
    live_joins.exists_group(rows, 0, *lists, flags, False, -1, flags)
    support.mark_joined(
        rows,
        0,
        0,
        ints,
        ints,
        small,
        small,
        rows,
        -1,
        ints,
        ints,
        ints,
        ints,
        ints,
        ints,
        cells,
        none,
        63,
        rows,
        -1,
        0,
        ints,
        ints,
        flags,
        ints,
    )
    support.mark_row(rows, 0, 0, ints, -1, 0, flags, ints)
    support.take_heads(none, rows, True, rows)
