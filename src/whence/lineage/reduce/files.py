"""Reduction of a file of JSON lines, and reduced graphs as files: Parquet or Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError
from whence.facts.schema import OnBadRow
from whence.lineage.jsonl import Reading, read_lines
from whence.lineage.partitioning import Strategy, check, split
from whence.lineage.reduce.local_global import Flow, LocalGlobal, Settings
from whence.lineage.reduced import REDUCED

SUFFIXES: Final = (".parquet", ".arrow")


class FileReduction:
    """Reduces a file of JSON lines; `flow` and `diagnostics` tell about it at the end."""

    def __init__(
        self,
        path: Path | str,
        settings: Settings = Settings(),  # noqa: B008
        *,
        partitions: int = 1,
        strategy: Strategy = "random",
        on_bad_row: OnBadRow = "stop",
    ) -> None:
        check(strategy, partitions)
        self.path = path
        self.reading = Reading(str(path), on_bad_row)
        self.reducer = LocalGlobal(partitions, settings, alone=partitions == 1)
        self.partitions: int = partitions
        self.strategy: Strategy = strategy
        self.flow = self.reducer.flow
        self.diagnostics = self.reducer.diagnostics

    def at_once(self, progress: Callable[[Flow], None] | None = None) -> Iterator[pa.RecordBatch]:
        """Give the reduced graph."""
        for batch in read_lines(self.path, reading=self.reading):
            if self.partitions == 1:
                self.reducer.add(0, batch)
            else:
                for partition, part in split(batch, self.strategy, self.partitions):
                    self.reducer.add(partition, part)
            if progress is not None:
                progress(self.flow)
            yield from self.reducer.drain()
        yield from self.reducer.finish()


def check_place(path: Path | None) -> None:
    """Refuse a file of which the name does not say the format, or that cannot be there."""
    if path is None:
        return
    if path.suffix not in SUFFIXES:
        told = f"`{path}` does not say in which format to write"
        raise UsageError(Diagnostic("W1130", told, hint="end the name in `.parquet` or `.arrow`"))
    # The rename at the end would only fail after all the work.
    if path.is_dir():
        raise UsageError(Diagnostic("W1202", f"`{path}` is a folder", hint="name a file"))
    if not path.parent.is_dir():
        raise UsageError(Diagnostic("W1202", f"there is no folder `{path.parent}`"))


def write(batches: Iterable[pa.RecordBatch], path: Path | None) -> int:
    """Write a reduced graph, whole or not at all; return how many links it has.

    Without a path they are only counted.
    """
    if path is None:
        return sum(batch.num_rows for batch in batches)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    rows = 0
    try:
        with _writer(beside, path.suffix) as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
        _sync(beside)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    return rows


def _writer(path: Path, suffix: str) -> Any:
    if suffix == ".arrow":
        # A stream, whose dictionaries may change from batch to batch.
        return pa.ipc.new_stream(str(path), REDUCED)
    import pyarrow.parquet as pq

    return pq.ParquetWriter(str(path), REDUCED)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
