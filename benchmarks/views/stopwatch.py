"""What every section of views needs in its own process: views of edges, batches, answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from benchmarks.measured import timed
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
