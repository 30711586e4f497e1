"""Load what nearly every evaluation calls, so that it is not loaded in the middle of one."""

from __future__ import annotations

import time

import numpy as np

from whence.engine.local.compile import compile_kernels
from whence.engine.local.kernels import groups, joins, membership

_warm = False


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
