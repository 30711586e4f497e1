"""Local reducers, one for each partition, and the global one behind them (the paper's figure 6).

A local reducer passes on what it has after so many edges, its batch size; the global one forgets
what it may after so many of those. An execution is never split between partitions, so a local
reducer can replace a complete one by derivations. What is open stays: a flush loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError
from whence.lineage.reduce.exact import FORGET_EVERY, Exact
from whence.lineage.reduce.forget import pass_on
from whence.lineage.reduce.grouping import Grouping
from whence.lineage.reduce.ordered import Ordered
from whence.lineage.reduce.window import Window

LOCAL_BATCH: Final = 20_000
GLOBAL_BATCH: Final = 100_000
"""The sizes of the paper's second experiment, in edges."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a stream is reduced; the same for local reducers and the global one."""

    mode: str = "exact"
    attempts: bool = False
    inputs: Collection[str] = ()
    outputs: Collection[str] = ()
    local_batch: int = LOCAL_BATCH
    global_batch: int = GLOBAL_BATCH
    watermark: float | None = None
    """Exact mode: how many seconds after its end an execution may still be spoken of."""
    window: int = 1000
    """Window mode: how many past edges are looked at."""
    flush_time: float | None = None
    """The seconds without an event after which a stream counts as over."""
    memory: int | None = None
    folder: Path | str | None = None

    def exact(self, share: int = 1, forget_every: int = FORGET_EVERY) -> Exact:
        """Return a new exact reducer with its share of the memory."""
        return Exact(
            attempts=self.attempts,
            inputs=self.inputs,
            outputs=self.outputs,
            watermark=self.watermark,
            memory=None if self.memory is None else self.memory // share,
            folder=self.folder,
            forget_every=forget_every,
        )


@dataclass(slots=True)
class Flow:
    """How many edges came in, and what local reducers and the global one made of them."""

    edges: int = 0
    """Edges in, without end markers."""
    local_out: int = 0
    """Edges that local reducers passed on."""
    global_out: int = 0
    """Links of the reduced graph."""
    late: int = 0
    uncommitted: int = 0
    flushes: int = 0
    by_partition: dict[int, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return plain data."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


class Local(Protocol):
    """Reduces one partition, and passes on edges."""

    def add(self, batch: pa.RecordBatch) -> None: ...

    def flush(self, *, over: bool) -> pa.RecordBatch: ...


class ExactLocal:
    """A local reducer that contracts complete executions, and nothing else."""

    def __init__(self, settings: Settings, share: int) -> None:
        self.reducer = settings.exact(share)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in edges of the partition."""
        self.reducer.add_only(batch)

    def flush(self, *, over: bool) -> pa.RecordBatch:
        """Return what is complete, and keep what is open."""
        return pass_on(self.reducer.graph, self.reducer.delay, over=over)

    @property
    def late(self) -> int:
        """Rows that came too late."""
        return self.reducer.graph.late


class PaperLocal:
    """A local reducer of the paper: its whole state is passed on, and forgotten."""

    def __init__(self, reducer: Grouping | Window) -> None:
        self.reducer = reducer

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in edges of the partition."""
        self.reducer.add(batch)

    def flush(self, *, over: bool) -> pa.RecordBatch:
        """Return the state as derivations and open edges."""
        if over:
            self.reducer.settle()
        return self.reducer.flush()


_PAPER: Final[Mapping[str, Callable[[Settings], Any]]] = {
    "grouping": lambda s: Grouping(attempts=s.attempts),
    "window": lambda s: Window(s.window, attempts=s.attempts),
    "ordered": lambda s: Ordered(attempts=s.attempts),
}

MODES: Final = ("exact", *_PAPER)


def reducer(settings: Settings) -> Any:
    """Return one reducer of the mode, for a stream that is not split."""
    return settings.exact() if settings.mode == "exact" else _PAPER[settings.mode](settings)


class LocalGlobal:
    """Reduces the partitions of a stream, then what comes of them.

    The ordered baseline knows no partitions: it takes all edges as they come. So does a reducer
    that is `alone`, without local ones before it.
    """

    def __init__(
        self,
        partitions: int,
        settings: Settings = Settings(),  # noqa: B008
        *,
        alone: bool = False,
    ) -> None:
        self.settings = settings
        self.flow = Flow()
        self.diagnostics: list[Diagnostic] = []
        alone = alone or settings.mode == "ordered"
        shares = 1 if alone else partitions + 1
        self._locals: list[Local] = []
        _check(settings)
        if settings.mode == "exact":
            if alone:
                self._global: Any = settings.exact()
            else:
                self._global = settings.exact(shares, settings.global_batch)
                self._locals = [ExactLocal(settings, shares) for _ in range(partitions)]
        else:
            self._global = _PAPER[settings.mode](settings)
            if not alone:
                made = _PAPER[settings.mode]
                self._locals = [PaperLocal(made(settings)) for _ in range(partitions)]
        self._since = [0] * partitions

    def add(self, partition: int, batch: pa.RecordBatch) -> None:
        """Take in edges of a partition, and flush whenever its batch size is reached."""
        markers = _markers(batch)
        self.flow.edges += batch.num_rows - markers
        counts = self.flow.by_partition
        counts[partition] = counts.get(partition, 0) + batch.num_rows - markers
        if not self._locals:
            self._global.add(batch)
            self.flow.local_out += batch.num_rows - markers
            return
        size, begin = self.settings.local_batch, 0
        while begin < batch.num_rows:
            part = batch.slice(begin, size - self._since[partition])
            begin += part.num_rows
            self._locals[partition].add(part)
            self._since[partition] += part.num_rows
            if self._since[partition] >= size:
                self.flush(partition)

    def flush(self, partition: int, *, over: bool = False) -> None:
        """Have a local reducer pass on what it has."""
        self._since[partition] = 0
        passed = self._locals[partition].flush(over=over)
        self.flow.flushes += 1
        self.flow.local_out += passed.num_rows - _markers(passed)
        if passed.num_rows:
            self._global.add(passed)
            if isinstance(self._global, Grouping):
                self._global.settle()

    def drain(self) -> list[pa.RecordBatch]:
        """Return the links that are final already."""
        ready: list[pa.RecordBatch] = self._global.drain()
        self.flow.global_out += sum(batch.num_rows for batch in ready)
        return ready

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Give the rest of the reduced graph; the stream is over."""
        for partition in range(len(self._locals)):
            self.flush(partition, over=True)
        for batch in self._global.finish():
            self.flow.global_out += batch.num_rows
            yield batch
        self.diagnostics += self._global.diagnostics
        late = [one.late for one in self._locals if isinstance(one, ExactLocal)]
        self.flow.late += sum(late) + self._global.counts.late
        self.flow.uncommitted += self._global.counts.uncommitted


def _check(settings: Settings) -> None:
    if settings.mode not in MODES:
        told = f"there is no mode `{settings.mode}`"
        hint = f"one of {', '.join(f'`{mode}`' for mode in MODES)}"
        raise UsageError(Diagnostic("W1126", told, hint=hint))
    exact_only = {
        "declared inputs or outputs": settings.inputs or settings.outputs,
        "a watermark": settings.watermark is not None,
        "a limit on memory": settings.memory is not None,
    }
    for what, given in exact_only.items():
        if given and settings.mode != "exact":
            told = f"the mode `{settings.mode}` knows no {what.removeprefix('a ')}"
            raise UsageError(Diagnostic("W1127", told, hint="use the mode `exact`"))
    sizes = (settings.local_batch, settings.global_batch, settings.window)
    if min(sizes) < 1 or (settings.memory is not None and settings.memory < 1):
        told = "batches, windows and memory must be at least 1"
        raise UsageError(Diagnostic("W1128", told))
    if not 0 <= (settings.watermark or 0) < 1e9 or not 0 <= (settings.flush_time or 0) < 1e9:
        told = "a watermark and a flush time are seconds, and not less than none"
        raise UsageError(Diagnostic("W1128", told))


def _markers(batch: pa.RecordBatch) -> int:
    kind = batch.column(0).to_numpy()
    return int((kind == 4).sum())
