"""Changes of a repository: a run is added or replaced, entities are deleted; whole or not at all.

New files come first, then the manifest that names them, then the removal of what it no longer
names. Writers wait for each other; what one left behind when it was killed, the next removes.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from whence.diagnostics import UsageError
from whence.lineage.names import SPACES
from whence.lineage.repository import compacting, faults
from whence.lineage.repository.entities import Entities
from whence.lineage.repository.index import (
    Index,
    as_reduced,
    build_index,
    edges_of,
    extents,
    write_index,
)
from whence.lineage.repository.manifest import NAME, Manifest, Run, write_manifest
from whence.lineage.repository.nests import spread_over
from whence.lineage.repository.snapshot import Snapshot, open_snapshot
from whence.store import faults as store_faults
from whence.store.files import Files
from whence.store.layout import LOCK_NAME, UNFINISHED, make_folder, remove_all, write_whole
from whence.store.lock import Lock

_OURS: Final = re.compile(r"(run-\d{6,}-[0-9a-f]{8}\.(parquet|index)|deleted-[0-9a-f]{8}\.parquet)")
_PAUSE: Final = 0.02

TOMBSTONES: Final = pa.schema(
    [
        pa.field("space", SPACES),
        pa.field("number", pa.int64()),
        pa.field("time", pa.timestamp("us", tz="UTC")),
        pa.field("reason", pa.utf8()),
    ]
)


class Writer:
    """The only one who changes a repository, until its block ends."""

    def __init__(self, files: Files, snapshot: Snapshot) -> None:
        self._files = files
        self.snapshot = snapshot

    def add(self, table: pa.Table, described: Run) -> Run:
        """Add a run as it is described, in place of the run of that name if there is one."""
        manifest = self.snapshot.manifest
        gone = self.snapshot.deleted()
        index = remove(build_index(table), gone)
        number = 1 + max((run.number for run in manifest.runs), default=0)
        key = (described.workflow, described.job)
        same = [run for run in manifest.runs if (run.workflow, run.job) == key]
        past = {name for run in same for name in run.compacted}
        if described.run in past:
            raise faults.compacted(described.job, described.run)
        # A run without a name of its own must not take the place of one that has it.
        taken = past.union(run.run for run in same)
        name = described.run or next(n for n in map(str, count(number)) if n not in taken)
        run = self._write(replace(described, number=number, run=name), index)
        kept = [r for r in manifest.runs if (r.workflow, r.job, r.run) != (*key, name)]
        self._commit(replace(manifest, runs=(*kept, run)))
        return run

    def delete(self, gone: Entities, reason: str) -> None:
        """Delete entities from all runs, and keep them from coming back."""
        manifest = self.snapshot.manifest
        gone = gone.minus(self.snapshot.deleted())
        if not len(gone):
            return
        runs = []
        for run in manifest.runs:
            if any(run.knows(space) for space in gone.by_space):
                index = self.snapshot.index(run)
                if len(index.find(gone)):
                    run = self._write(run, remove(index, gone))
            runs.append(run)
        now = datetime.now(UTC)
        fresh = gone.to_arrow()
        fresh = fresh.append_column("time", pa.array([now] * len(fresh), TOMBSTONES.field(2).type))
        fresh = fresh.append_column("reason", pa.array([reason] * len(fresh), pa.utf8()))
        known = self.snapshot.tombstones()
        tables = [t.cast(TOMBSTONES) for t in (known, fresh) if t is not None]
        name = f"deleted-{secrets.token_hex(4)}.parquet"
        content = _parquet(pa.concat_tables(tables).unify_dictionaries())
        self._put(name, content)
        self._commit(
            replace(
                manifest,
                runs=tuple(runs),
                tombstones=name,
                deleted=manifest.deleted + len(gone),
                tombstones_checksum=crc32(content),
            )
        )

    def compact(self, before: datetime | None, most: int) -> list[Run]:
        """Make one run of the runs of each job that ended before a time; return those made."""
        manifest = self.snapshot.manifest
        number = max((run.number for run in manifest.runs), default=0)
        made: dict[int, Run] = {}
        gone: set[int] = set()
        for several in compacting.together(manifest.runs, before, most):
            number += 1
            whole = replace(compacting.described(several), number=number)
            index = build_index(compacting.merged(self.snapshot, several))
            made[several[0].number] = self._write(whole, index)
            gone.update(run.number for run in several[1:])
        if made:
            runs = tuple(made.get(run.number, run) for run in manifest.runs)
            runs = tuple(run for run in runs if run.number not in gone)
            self._commit(replace(manifest, runs=runs))
        return list(made.values())

    def clean(self) -> None:
        """Remove the files that no commit names."""
        named = self.snapshot.manifest.files()
        names = [
            name
            for name in self._files.names(self.snapshot.path)
            if name not in named and _is_ours(name)
        ]
        remove_all(self._files, self.snapshot.path, names)

    def _write(self, run: Run, index: Index) -> Run:
        """Return the run with new files that hold these edges."""
        stem = f"run-{run.number:06d}-{secrets.token_hex(4)}"
        table = edges_of(index)
        mapped, content = write_index(index), _parquet(table)
        self._put(f"{stem}.parquet", content)
        self._put(f"{stem}.index", mapped)
        inputs, outputs, groups = extents(index)
        return replace(
            run,
            inputs=inputs,
            outputs=outputs,
            groups=groups,
            edges=len(table),
            file=stem,
            checksum=crc32(mapped),
            edges_checksum=crc32(content),
        )

    def _put(self, name: str, content: pa.Buffer) -> None:
        write_whole(self._files, self.snapshot.path / name, [memoryview(content)])

    def _commit(self, manifest: Manifest) -> None:
        manifest = replace(manifest, commit=manifest.commit + 1)
        write_manifest(self._files, self.snapshot.path, manifest)
        later = Snapshot(self.snapshot.path, manifest)
        later.keep(self.snapshot)
        self.snapshot = later
        self.clean()


@contextlib.contextmanager
def writing(path: Path, files: Files, patience: float) -> Iterator[Writer]:
    """Give the writer of a folder, which is made if it is not there; wait for another's end."""
    with store_faults.os_faults(path):
        if path.exists() and not path.is_dir():
            raise faults.not_a_repository(path, "it is a file")
        make_folder(files, path)
        _refuse_foreign(files, path)
        lock = _lock(files, path, patience)
        try:
            writer = Writer(files, open_snapshot(path))
            writer.clean()
            yield writer
        finally:
            lock.release()


def remove(index: Index, gone: Entities) -> Index:
    """Return the index without these entities, and without groups that lead nowhere."""
    size = len(index.numbers)
    dead = _marked(index.find(gone), size)
    group = index.grouped()
    source = np.repeat(np.arange(size), np.diff(index.by_source))
    target = index.targets.astype(np.int64)
    stays = ~(dead[source] | dead[target])
    dead = group & ~_useful(group, source[stays], target[stays])
    stays &= ~(dead[source] | dead[target])
    if stays.all():
        return index
    return build_index(as_reduced(index, source[stays], target[stays]))


def _useful(
    group: npt.NDArray[np.bool_],
    source: npt.NDArray[np.int64],
    target: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return which groups some output depends on and depend on some input themselves."""
    size = len(group)
    leaves, enters = group[source], group[target]
    outer, inner = source[leaves & enters], target[leaves & enters]
    has_input = _marked(source[leaves & ~enters], size)
    has_output = _marked(target[~leaves & enters], size)
    return spread_over(has_input, outer, inner) & spread_over(has_output, inner, outer)


def _marked(nodes: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.bool_]:
    marked = np.zeros(size, np.bool_)
    marked[nodes] = True
    return marked


def _parquet(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    # Small row groups let a reader that looks for one source skip the others by their statistics.
    pq.write_table(
        table, sink, compression="zstd", write_page_checksum=True, row_group_size=1 << 17
    )
    return sink.getvalue()


def _lock(files: Files, path: Path, patience: float) -> Lock:
    end = time.monotonic() + patience
    while True:
        try:
            return Lock(files, path)
        except UsageError:
            if time.monotonic() >= end:
                raise faults.busy(path, patience) from None
            time.sleep(_PAUSE)


def _is_ours(name: str) -> bool:
    """Whether a file is one that writers make and that a commit may name."""
    whole = name.removesuffix(UNFINISHED)
    return bool(_OURS.fullmatch(whole)) or (whole == NAME and whole != name)


def _refuse_foreign(files: Files, path: Path) -> None:
    """A folder with files of others and no manifest is not ours to write to."""
    names = files.names(path)
    others = [n for n in names if n not in (NAME, LOCK_NAME) and not _is_ours(n)]
    if others and NAME not in names:
        raise faults.not_a_repository(path, f"it holds `{min(others)}`")
