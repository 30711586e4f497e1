"""Foreign PROV into a repository: edges are read, reduced exactly, and added as a run of a job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import Diagnostic
from whence.lineage.reduced import REDUCED
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.repository import Repository

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


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import: the run, the edges that were read, and what was odd about them."""

    run: Run
    edges: int
    filtered: Mapping[str, int]
    skipped: int
    warnings: tuple[Diagnostic, ...]


def sources(path: Path, *, form: str | None = None, on_bad_row: OnBadRow = "stop") -> list[Source]:
    """Return the edges of a file, or those of each topic of a log in a folder."""
    if path.is_dir() and form is None:
        from whence.lineage.log import open_log

        log = open_log(path)
        return [_topic(log, name) for name in log.topics()]
    from whence.lineage.formats import import_file

    found = import_file(path, format=form, on_bad_row=on_bad_row)
    job = path.name.partition(".")[0] or path.name
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
    from whence.lineage.reduce.exact import Exact

    attempts = any(source.attempts for source in several)
    reducer = Exact(attempts=attempts, inputs=inputs, outputs=outputs)
    first: datetime | None = None
    last: datetime | None = None
    read = 0
    for batch in _batches(several):
        reducer.add(batch)
        read += batch.num_rows
        ends: Any = pc.min_max(batch.column("time")).as_py()
        if ends["min"] is not None:
            first = ends["min"] if first is None else min(first, ends["min"])
            last = ends["max"] if last is None else max(last, ends["max"])
    reduced = pa.Table.from_batches(list(reducer.finish()), REDUCED)
    added = repository.add(
        reduced,
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
    return Imported(added, read, filtered, skipped, tuple(reducer.diagnostics))


def _batches(several: Sequence[Source]) -> Iterator[pa.RecordBatch]:
    for source in several:
        yield from source.batches


def _topic(log: Log, name: str) -> Source:
    topic = log.topic(name)

    def batches() -> Iterator[pa.RecordBatch]:
        for partition in range(topic.partitions):
            for _, batch in log.read(name, partition):
                yield batch

    return Source(name, topic.about.get("job", name), batches(), topic.attempts)
