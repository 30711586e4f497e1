"""The durable state of a reduction: what local reducers made of each stretch of a stream.

`steps/N-P` is what the local reducer of partition P passed on in step N, and what it holds open
after it. `committed` says which steps count and where the stream is read on. Files are whole
and under checksums, and a step that is made twice is the same: state is a set of edges.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.lineage.events import EDGES
from whence.lineage.reduce.forget import everything, pass_on
from whence.lineage.reduce.graph import Graph
from whence.lineage.reduce.local_global import Settings
from whence.store import codec
from whence.store.files import Files
from whence.store.framing import (
    FILE_HEADER,
    SNAPSHOT,
    FileHeader,
    write_file_header,
    write_record_header,
)
from whence.store.layout import write_whole
from whence.store.snapshot import STATE, read_snapshot

_FILES: Final = Files()
_STORE: Final = bytes(16)
_NAME: Final = re.compile(r"(\d{12,})-\d{5,}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Committed:
    """The last step that counts, where partitions are read on, and what it is the state of."""

    step: int = -1
    offsets: tuple[int, ...] = ()
    edges: int = 0
    """Edges read so far, without end markers."""
    local_out: int = 0
    """Edges that local reducers passed on."""
    late: int = 0
    asked: dict[str, object] = field(default_factory=dict)
    """What the steps were made with: the stream, and settings that change them."""
    files: int | None = None
    """How many files of steps count, so that none can be lost unseen."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a local reducer did in a step."""

    edges: int
    local_out: int
    late: int


class Steps:
    """The folder of a reduction's state."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        (self.path / "steps").mkdir(parents=True, exist_ok=True)

    def committed(self, asked: dict[str, object]) -> Committed:
        """Return what counts; refuse the state of another reduction, unless nothing is asked."""
        path = self.path / "committed"
        if not path.exists():
            return Committed(asked=asked)
        told = json.loads(read_snapshot(_FILES, path, None, 0))
        if asked and told["asked"] != asked:
            other = ", ".join(sorted(k for k in asked if told["asked"].get(k) != asked[k]))
            what = f"`{self.path}` is the state of another reduction: it differs in {other}"
            hint = "give the settings it was begun with, or another folder"
            raise UsageError(Diagnostic("W1129", what, hint=hint))
        found = Committed(**{**told, "offsets": tuple(told["offsets"])})
        there = len(self._names(found.step))
        if found.files not in (None, there):
            what = f"`{self.path}` has {there} files of steps, and {found.files} were written"
            hint = "restore a copy, or begin again in another folder"
            raise DataError(Diagnostic("W1200", what, hint=hint))
        return found

    def commit(self, committed: Committed) -> None:
        """Let a step count."""
        committed = replace(committed, files=len(self._names(committed.step)))
        told = {name: getattr(committed, name) for name in committed.__slots__}
        _put(self.path / "committed", 0, json.dumps(told).encode())

    def take(
        self,
        step: int,
        partition: int,
        before: int,
        batches: Iterable[pa.RecordBatch],
        settings: Settings,
    ) -> Told:
        """Have the local reducer of a partition take a step, after the one `before`."""
        local = settings.exact()
        graph, late = local.graph, 0
        if (found := self._latest(before, partition)) is not None:
            told, tables = found
            for batch in _edges(tables["open"]):
                graph.add(batch, None)
            graph.clock = int(told["clock"])
        edges = 0
        for batch in batches:
            local.add_only(batch)
            edges += batch.num_rows - int((batch.column(0).to_numpy() == 4).sum())
        late = graph.late
        passed = pass_on(graph, local.delay, over=False, keep=local.delay is not None)
        self._put(step, partition, graph, passed)
        markers = int((passed.column(0).to_numpy() == 4).sum())
        return Told(edges, passed.num_rows - markers, late)

    def _put(self, step: int, partition: int, graph: Graph, passed: pa.RecordBatch) -> None:
        tables = {
            "passed": pa.Table.from_batches([passed], EDGES),
            "open": pa.Table.from_batches([everything(graph)], EDGES),
        }
        body = codec.encode({"clock": graph.clock}, tables)
        _put(self._file(step, partition), step, body)

    def _get(self, step: int, partition: int) -> tuple[dict[str, Any], dict[str, pa.Table]] | None:
        path = self._file(step, partition)
        if not path.exists():
            return None
        header, tables = codec.decode(read_snapshot(_FILES, path, None, step))
        return dict(header), tables

    def _latest(
        self, step: int, partition: int
    ) -> tuple[dict[str, Any], dict[str, pa.Table]] | None:
        """Return the last file of a partition up to a step: it may have had nothing to do since."""
        names = [n for n in self._names(step) if n.endswith(f"-{partition:05d}")]
        steps = [int(name.split("-")[0]) for name in names]
        return self._get(max(steps), partition) if steps else None

    def _names(self, step: int) -> list[str]:
        """Return the names of the files of all steps up to this one."""
        found = map(_NAME.fullmatch, os.listdir(self.path / "steps"))
        return [name[0] for name in found if name and int(name[1]) <= step]

    def state(self, committed: Committed, partitions: int) -> Iterator[pa.RecordBatch]:
        """Give all edges of the state: what was passed on, and what is open."""
        for partition in range(partitions):
            for step in range(committed.step + 1):
                found = self._get(step, partition)
                if found is not None:
                    yield from _edges(found[1]["passed"])
            last = self._latest(committed.step, partition)
            if last is not None:
                yield from _edges(last[1]["open"])

    def clean(self, committed: Committed) -> None:
        """Remove what a process that was killed left behind."""
        for name in os.listdir(self.path / "steps"):
            number = name.split("-")[0]
            if not number.isdigit() or int(number) > committed.step or "." in name:
                with contextlib.suppress(OSError):
                    os.unlink(self.path / "steps" / name)

    def _file(self, step: int, partition: int) -> Path:
        return self.path / "steps" / f"{step:012d}-{partition:05d}"


def _put(path: Path, number: int, body: bytes) -> None:
    header = FileHeader(SNAPSHOT, _STORE, os.urandom(16), number)
    head = write_record_header(header.seed, FILE_HEADER, STATE, number, number, body)
    # Two attempts of a task may write the same file at once, each beside it.
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    write_whole(_FILES, beside, [write_file_header(header), head, body])
    _FILES.rename(beside, path)
    _FILES.sync_folder(path.parent)


def _edges(table: pa.Table) -> list[pa.RecordBatch]:
    found: list[pa.RecordBatch] = table.cast(EDGES).combine_chunks().to_batches()
    return found
