"""A partition with its local reducer, whose output can be looked at, sized, and sent elsewhere."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from whence.lineage.events import Kind
from whence.lineage.jsonl import write_lines
from whence.lineage.reduce.grouping import Grouping
from whence.lineage.reduce.local_global import ExactLocal, Local, PaperLocal, Settings, reducer


def settings_of(mode: str, local_batch: int) -> Settings:
    """Return settings with which executions are passed on as soon as they have ended.

    The traces here are in order, so nothing comes after an end marker.
    """
    watermark = 0.0 if mode == "exact" else None
    return Settings(mode=mode, attempts=True, local_batch=local_batch, watermark=watermark)


class Partition:
    """Reduces one partition, and gives what it passes on whenever a batch is full."""

    def __init__(self, settings: Settings) -> None:
        exact = settings.mode == "exact"
        self._local: Local = ExactLocal(settings, 1) if exact else PaperLocal(reducer(settings))
        self._size, self._since = settings.local_batch, 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take in edges."""
        begin = 0
        while begin < batch.num_rows:
            part = batch.slice(begin, self._size - self._since)
            begin += part.num_rows
            self._local.add(part)
            self._since += part.num_rows
            if self._since >= self._size:
                self._since = 0
                yield self._local.flush(over=False)

    def finish(self) -> pa.RecordBatch:
        """Return what is left; the partition is over."""
        return self._local.flush(over=True)


class Global:
    """The global reducer behind partitions."""

    def __init__(self, settings: Settings) -> None:
        self._reducer: Any = reducer(settings)
        self._links: list[pa.RecordBatch] = []

    def add(self, passed: pa.RecordBatch) -> None:
        """Take in what a local reducer passed on."""
        if passed.num_rows:
            self._reducer.add(passed)
            if isinstance(self._reducer, Grouping):
                self._reducer.settle()
            self._links += self._reducer.drain()

    def finish(self) -> pa.Table:
        """Return the reduced graph."""
        self._links += self._reducer.finish()
        return pa.Table.from_batches(self._links)


def edges_in(batch: pa.RecordBatch) -> int:
    """Count edges, without end markers."""
    return int((batch.column(0).to_numpy() != Kind.END).sum())


class Sized(io.RawIOBase):
    """A file that only counts what is written."""

    def __init__(self) -> None:
        self.bytes = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Count."""
        self.bytes += len(data)
        return len(data)


def line_bytes(batch: pa.RecordBatch) -> int:
    """Return how large edges are as JSON lines."""
    counted = Sized()
    write_lines([batch], counted)  # type: ignore[arg-type]
    return counted.bytes
