"""Foreign PROV into a repository: edges are read, reduced exactly, and added as a run of a job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import Diagnostic
from whence.lineage.events import Kind, concatenate, make_batch
from whence.lineage.reduced import REDUCED
from whence.lineage.repository import faults
from whence.lineage.repository.index import reduced_table
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.repository import Repository

_UNTOLD: Final = -1
"""The attempt of executions whose source tells none; no task has it."""

if TYPE_CHECKING:
    from whence.facts.schema import OnBadRow
    from whence.lineage.log import Log


@dataclass(frozen=True, slots=True)
class Source:
    """Edges of one file, or of one topic of a log."""

    name: str
    job: str
    batches: Iterable[pa.RecordBatch]
    attempts: bool = False
    filtered: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0
    reduced: pa.Table | None = None
    """The graph, where it was reduced before."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import: the run, the edges that were read, and what was odd about them."""

    run: Run
    edges: int
    filtered: Mapping[str, int]
    skipped: int
    warnings: tuple[Diagnostic, ...]


def sources(path: Path, *, form: str | None = None, on_bad_row: OnBadRow = "stop") -> list[Source]:
    """Return the edges of a file, or those of each topic of a log in a folder.

    A file of `whence lineage reduce` is reduced already.
    """
    job = path.name.partition(".")[0] or path.name
    if path.suffix in (".parquet", ".arrow") and form is None and path.is_file():
        from whence.lineage.repository.rows import read_rows

        return [Source(path.name, job, (), reduced=reduced_table(read_rows(path)))]
    if path.is_dir() and form is None:
        from whence.lineage.log import open_log

        log = open_log(path)
        topics = log.topics()
        if not topics:
            raise faults.no_topics(path)
        return [_topic(log, name) for name in topics]
    from whence.lineage.formats import import_file

    found = import_file(path, format=form, on_bad_row=on_bad_row)
    return [Source(path.name, job, [found.edges], False, found.filtered, found.skipped)]


def add_sources(
    repository: Repository,
    several: Sequence[Source],
    *,
    workflow: str,
    job: str | None = None,
    run: str | None = None,
    inputs: Collection[str] = (),
    outputs: Collection[str] = (),
) -> Imported:
    """Reduce edges exactly and add them as one run of a job, which is named after its sources.

    A run of that name is replaced. It was at work from the first time of its edges to the last.
    """
    graph, read, first, last, warnings = _reduce(several, inputs, outputs)
    added = repository.add(
        graph,
        workflow=workflow,
        job=job or several[0].job,
        run=run or ", ".join(source.name for source in several),
        started=first,
        ended=last,
    )
    filtered: dict[str, int] = {}
    for source in several:
        for kind, count in source.filtered.items():
            filtered[kind] = filtered.get(kind, 0) + count
    skipped = sum(source.skipped for source in several)
    return Imported(added, read, filtered, skipped, warnings)


def _reduce(
    several: Sequence[Source], inputs: Collection[str], outputs: Collection[str]
) -> tuple[pa.Table, int, datetime | None, datetime | None, tuple[Diagnostic, ...]]:
    """Return the graph, the edges that were read, their first and last time, and warnings."""
    reduced = [source.reduced for source in several if source.reduced is not None]
    if reduced:
        if len(several) > 1:  # two graphs may have different groups of one name
            raise faults.reduced_apart([source.name for source in several])
        return reduced[0], len(reduced[0]), None, None, ()
    from whence.lineage.reduce.exact import Exact

    attempts = any(source.attempts for source in several)
    reducer = Exact(attempts=attempts, inputs=inputs, outputs=outputs)
    times: list[datetime] = []
    read = 0
    for batch in _batches(several, attempts):
        reducer.add(batch)
        ends: Any = pc.min_max(batch.column("time")).as_py()
        times = [t for t in (*times, ends["min"], ends["max"]) if t is not None]
        times = [min(times), max(times)] if times else []
        kinds = batch.column("kind").to_numpy()
        read += int(np.count_nonzero(kinds != Kind.END))
    graph = pa.Table.from_batches(list(reducer.finish()), REDUCED)
    first, last = times or (None, None)
    return graph, read, first, last, tuple(reducer.diagnostics)


def _batches(several: Sequence[Source], attempts: bool) -> Iterator[pa.RecordBatch]:
    for source in several:
        for batch in source.batches:
            yield batch if source.attempts or not attempts else concatenate(_ended(batch))


def _ended(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Return edges of a source without attempts as those of one attempt each, with its end.

    Where others tell attempts apart, an execution without an end would not count.
    """
    told = {name: batch.column(name) for name in batch.schema.names}
    told["attempt"] = np.full(batch.num_rows, _UNTOLD, np.int32)
    kind = batch.column("kind").to_numpy()
    parts = [make_batch(**told)]
    for end, of in (("source", Kind.USED), ("target", Kind.GENERATED)):
        whose = batch.filter(pa.array(kind == of))
        parts.append(
            make_batch(
                kind=int(Kind.END),
                source_space=whose.column(f"{end}_space"),
                source=whose.column(end),
                target_space=None,
                target=None,
                attempt=_UNTOLD,
            )
        )
    return parts


def _topic(log: Log, name: str) -> Source:
    topic = log.topic(name)

    def batches() -> Iterator[pa.RecordBatch]:
        for partition in range(topic.partitions):
            for _, batch in log.read(name, partition):
                yield batch

    return Source(name, topic.about.get("job", name), batches(), topic.attempts)
