"""What every section needs in its own process: views of edges, timed batches, memory, answers."""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from whence import session
from whence.view.base import Batch, Update, View

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def columns(rows: Sequence[Sequence[int]], arity: int = 2) -> pa.Table:
    """Return rows of numbers as a table."""
    array = np.array(rows, dtype=np.int64).reshape(-1, arity)
    names = ("x", "y", "z")[:arity]
    return pa.table([np.ascontiguousarray(array[:, i]) for i in range(arity)], names=list(names))


def edges(rows: Sequence[Sequence[int]], relation: str = "edge") -> dict[str, pa.Table]:
    """Return edges as the inputs of a program."""
    return {relation: columns(rows)}


def batch(
    comes: Sequence[Sequence[int]] = (),
    goes: Sequence[Sequence[int]] = (),
    relation: str = "edge",
) -> Batch:
    """Return a batch of edges."""
    inserted = columns(comes) if len(comes) else None
    deleted = columns(goes) if len(goes) else None
    return {relation: Update(inserted=inserted, deleted=deleted)}


def timed(view: View, update: Batch) -> tuple[float, int]:
    """Apply a batch and read all of the change; return the seconds and the tuples read."""
    started = time.perf_counter()
    changes = view.apply(update)
    read = sum(c.inserted.num_rows + c.deleted.num_rows for c in changes.values())
    return time.perf_counter() - started, read


def warm_up(threads: int, strategies: Iterable[str] = ("auto",)) -> None:
    """Load the machine code of all kernels, which belongs to no measurement."""
    small = [(i, (i * 7 + 1) % 90) for i in range(90)]
    program = session.compile(session.parse(CLOSURE), keep_all=True)
    for strategy in strategies:
        view = session.maintain(program, edges(small), strategy=strategy, threads=threads)
        for edge in small[:10]:
            timed(view, batch(goes=[edge]))
            timed(view, batch(comes=[edge]))
        timed(view, batch(goes=small[:30]))


def sorted_pairs(table: pa.Table) -> np.ndarray:
    """Return pairs of numbers as one sorted number each, to be compared quickly."""
    x, y = (column.to_numpy() for column in table.columns)
    return np.sort((x << 32) | y)


def same(view: View, inputs: dict[str, pa.Table], program: session.Compiled, relation: str) -> bool:
    """Whether a relation of pairs is what evaluation from nothing gives."""
    evaluation = session.evaluate(program, inputs)
    if evaluation.size(relation) != view.size(relation):
        return False
    needed = sorted_pairs(evaluation.table(relation))
    return bool(np.array_equal(needed, sorted_pairs(view.table(relation))))


def resident_bytes() -> int:
    """Return the memory of this process after a collection; its peak where no more is known."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def tell(found: object) -> None:
    """Print what was found, for the process that asked."""
    print(json.dumps(found))


def progress(line: str) -> None:
    """Say how far it is."""
    print(line, file=sys.stderr, flush=True)
