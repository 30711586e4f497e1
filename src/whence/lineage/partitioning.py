"""Which partition an edge goes to: by function, by worker, or at random (paper 003, section IV-B).

All edges of a function execution go to one partition: an execution that is split loses paths. So
partitions follow from what all its edges share, and any task can find them without asking others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.lineage.events import Kind

Strategy: TypeAlias = Literal["horizontal", "vertical", "random"]
"""By function, by worker (node or input split), or at random."""

MOST: Final = 10_000
"""Partitions that there can be: each has a reducer, or a file."""

STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)

Words: TypeAlias = npt.NDArray[np.uint64]


def assign(
    batch: pa.RecordBatch,
    strategy: Strategy,
    partitions: int,
    *,
    seed: int = 0,
    functions: Sequence[str] = (),
) -> npt.NDArray[np.int64]:
    """Return the partition of each edge.

    `horizontal` gives the functions that are named a partition each, in turn, and any other one
    that its name chooses. `vertical` takes the worker, which is the same for a whole execution;
    where a batch says otherwise, the first edge of the execution counts. `random` depends on the
    seed and the execution alone.
    """
    check(strategy, partitions)
    if strategy == "horizontal":
        return _by_function(batch, partitions, functions)
    if strategy == "vertical":
        return _by_worker(batch) % partitions
    start = np.full(batch.num_rows, seed & 0xFFFFFFFFFFFFFFFF, np.uint64)
    return (_executions(batch, _mixed(start)) % np.uint64(partitions)).astype(np.int64)


def split(
    batch: pa.RecordBatch,
    strategy: Strategy,
    partitions: int,
    *,
    seed: int = 0,
    functions: Sequence[str] = (),
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Give the edges of each partition that has some, in the order they had."""
    places = assign(batch, strategy, partitions, seed=seed, functions=functions)
    order = np.argsort(places, kind="stable")
    sizes = np.bincount(places, minlength=partitions)
    sorted_ = batch.take(pa.array(order))
    ends = np.cumsum(sizes)
    for partition in np.flatnonzero(sizes).tolist():
        size = int(sizes[partition])
        yield partition, sorted_.slice(int(ends[partition]) - size, size)


def check(strategy: str, partitions: int) -> None:
    """Refuse what is no strategy, and no number of partitions."""
    if strategy not in STRATEGIES:
        close = nearest(strategy, STRATEGIES)
        hint = f"did you mean `{close}`?" if close else f"one of {', '.join(STRATEGIES)}"
        raise UsageError(
            Diagnostic("W1115", f"there is no partition strategy `{strategy}`", hint=hint)
        )
    if not 1 <= partitions <= MOST:
        told = f"edges cannot go to {partitions:,} partitions"
        raise UsageError(Diagnostic("W1115", told, hint=f"give 1 to {MOST:,}"))


def _unit(batch: pa.RecordBatch) -> tuple[Any, Any, Any, Any]:
    """Return, for each edge, the space and number of its activity, or of its source if it has none.

    Spaces are codes of the dictionary of sources and, above those, of targets; the hashes of
    their texts and the texts come with them.
    """
    kinds = batch.column("kind").to_numpy(zero_copy_only=False)
    generated = kinds == Kind.GENERATED
    source, target = batch.column("source_space"), batch.column("target_space")
    texts = source.dictionary.to_pylist() + target.dictionary.to_pylist()
    codes = np.where(
        generated, _numbers(target.indices) + len(source.dictionary), _numbers(source.indices)
    )
    numbers = np.where(
        generated, _numbers(batch.column("target")), _numbers(batch.column("source"))
    )
    hashes = np.array([crc32(text.encode()) for text in texts] or [0], np.uint64)
    return codes, numbers, hashes, texts


def _numbers(array: pa.Array) -> npt.NDArray[np.int64]:
    if array.null_count:
        array = array.fill_null(0)
    return np.asarray(array.to_numpy(zero_copy_only=False), np.int64)


def _by_function(
    batch: pa.RecordBatch, partitions: int, functions: Sequence[str]
) -> npt.NDArray[np.int64]:
    codes, _, hashes, texts = _unit(batch)
    homes = (_mixed(hashes) % np.uint64(partitions)).astype(np.int64)
    known = {name: i % partitions for i, name in enumerate(functions)}
    for code, text in enumerate(texts):
        homes[code] = known.get(text, homes[code])
    return np.asarray(homes[codes])


def _by_worker(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    workers = _numbers(batch.column("worker"))
    executions = _executions(batch, np.zeros(batch.num_rows, np.uint64))
    _, first, inverse = np.unique(executions, return_index=True, return_inverse=True)
    return np.asarray(workers[first[inverse]])


def _executions(batch: pa.RecordBatch, hashed: Words) -> Words:
    """Return a hash of each edge's execution, by its names and not by their codes."""
    codes, numbers, hashes, _ = _unit(batch)
    hashed = _mixed(hashed ^ hashes[codes])
    hashed = _mixed(hashed ^ numbers.view(np.uint64))
    return _mixed(hashed ^ _numbers(batch.column("attempt")).view(np.uint64))


def _mixed(words: Words) -> Words:
    """Return each word mixed well (Steele et al. 2014, splitmix64)."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
