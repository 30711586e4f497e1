"""Reduction of a topic of a log: in one go, or step by step with its state in a folder.

With a folder, a process that is killed goes on where the last step that counts ended, and the
reduced graph is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError
from whence.lineage.log.base import Log
from whence.lineage.reduce.durable import Committed, Steps
from whence.lineage.reduce.local_global import Flow, LocalGlobal, Settings
from whence.store.files import Files
from whence.store.lock import Lock

STEP: Final = 1 << 20
"""Edges of a partition in one step."""

Progress = Callable[[Flow], None]


class LogReduction:
    """Reduces a topic; `flow` and `diagnostics` tell about it, after the last batch."""

    def __init__(self, log: Log, topic: str, settings: Settings = Settings()) -> None:  # noqa: B008
        self.log, self.topic = log, log.topic(topic)
        self.settings = replace(settings, attempts=settings.attempts or self.topic.attempts)
        self.flow = Flow()
        self.diagnostics: list[Diagnostic] = []

    def at_once(self, progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """Give the reduced graph, from the beginning of the topic to its end."""
        partitions = self.topic.partitions
        reducer = LocalGlobal(partitions, self.settings, alone=partitions == 1)
        self.flow, self.diagnostics = reducer.flow, reducer.diagnostics
        offsets: list[int | None] = [None] * partitions
        while True:
            if not self._read(reducer, offsets, progress) and not self._wait(offsets):
                break
            yield from reducer.drain()
        yield from reducer.finish()

    def _read(
        self, reducer: LocalGlobal, offsets: list[int | None], progress: Progress | None
    ) -> int:
        """Read all partitions in turns, so that none runs ahead of the others' watermarks."""
        readers = {p: self.log.read(self.topic.name, p, offset) for p, offset in enumerate(offsets)}
        rows = 0
        while readers:
            for partition, reader in list(readers.items()):
                found = next(reader, None)
                if found is None:
                    del readers[partition]
                    continue
                offsets[partition], batch = found
                reducer.add(partition, batch)
                rows += batch.num_rows
                if progress is not None:
                    progress(reducer.flow)
        return rows

    def _wait(self, offsets: Sequence[int | None]) -> bool:
        """Wait for further events as long as the flush time says; say whether some came."""
        if self.settings.flush_time is None:
            return False
        until = time.monotonic() + self.settings.flush_time
        begin = self.log.begin_offsets(self.topic.name)
        read = [first if at is None else at for first, at in zip(begin, offsets, strict=True)]
        while time.monotonic() < until:
            ends = self.log.end_offsets(self.topic.name)
            if any(end > at for end, at in zip(ends, read, strict=True)):
                return True
            time.sleep(min(0.05, self.settings.flush_time / 10))
        return False

    def in_steps(
        self, folder: Path | str, *, step: int = STEP, progress: Progress | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Give the reduced graph, with a state in the folder that survives this process."""
        if self.settings.mode != "exact":
            told = f"the mode `{self.settings.mode}` keeps no state in a folder"
            raise UsageError(Diagnostic("W1127", told, hint="use the mode `exact`"))
        steps = Steps(folder)
        lock = Lock(Files(), steps.path)
        try:
            yield from self._in_steps(steps, step, progress)
        finally:
            lock.release()

    def _in_steps(
        self, steps: Steps, step: int, progress: Progress | None
    ) -> Iterator[pa.RecordBatch]:
        committed = steps.committed(self._asked())
        steps.clean(committed)
        while True:
            after = self._step(steps, committed, step)
            if after is None:
                if not self._wait(self._offsets(committed)):
                    break
                continue
            steps.commit(after)
            committed = after
            self._told(committed)
            if progress is not None:
                progress(self.flow)
        self._told(committed)
        yield from self.of_state(steps, committed, self.topic.partitions)

    def of_state(
        self, steps: Steps, committed: Committed, partitions: int
    ) -> Iterator[pa.RecordBatch]:
        """Give the reduced graph that a state comes to."""
        reducer = replace(self.settings, watermark=None).exact()
        for batch in steps.state(committed, partitions):
            reducer.add(batch)
        for batch in reducer.finish():
            self.flow.global_out += batch.num_rows
            yield batch
        self.flow.uncommitted = reducer.counts.uncommitted
        self.diagnostics += reducer.diagnostics

    def _asked(self) -> dict[str, object]:
        watermark = self.settings.watermark
        return {
            "topic": self.topic.name,
            "attempts": self.settings.attempts,
            "watermark": watermark,
        }

    def _offsets(self, committed: Committed) -> list[int]:
        """Return where partitions are read on; before the first step, where they begin."""
        if not committed.offsets:
            return self.log.begin_offsets(self.topic.name)
        if len(committed.offsets) != self.topic.partitions:
            told = f"the state is of {len(committed.offsets)} partitions"
            what = f"{told}, and `{self.topic.name}` has {self.topic.partitions}"
            hint = "give another folder for the state of another topic"
            raise UsageError(Diagnostic("W1129", what, hint=hint))
        return list(committed.offsets)

    def _told(self, committed: Committed) -> None:
        self.flow.edges, self.flow.local_out = committed.edges, committed.local_out
        self.flow.late = committed.late

    def _step(self, steps: Steps, before: Committed, size: int) -> Committed | None:
        """Take the next step, unless there is nothing to read."""
        offsets = self._offsets(before)
        number, edges, out, late, rows = before.step + 1, 0, 0, 0, 0
        for partition in range(self.topic.partitions):
            batches: list[pa.RecordBatch] = []
            held = 0
            for offset, batch in self.log.read(self.topic.name, partition, offsets[partition]):
                batches.append(batch)
                offsets[partition] = offset
                held += batch.num_rows
                if held >= size:
                    break
            told = steps.take(number, partition, before.step, batches, self.settings)
            rows += held
            edges, out, late = edges + told.edges, out + told.local_out, late + told.late
        if not rows:
            return None
        return replace(
            before,
            step=number,
            offsets=tuple(offsets),
            edges=before.edges + edges,
            local_out=before.local_out + out,
            late=before.late + late,
        )
