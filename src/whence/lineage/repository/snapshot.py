"""The state of a repository as of one commit: its runs, their indexes, and what was deleted."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from whence.diagnostics import DataError, Diagnostic
from whence.lineage.repository import faults
from whence.lineage.repository.entities import NONE, Entities, entities_of
from whence.lineage.repository.index import Index, build_index, map_index, reduced_table
from whence.lineage.repository.manifest import Manifest, Run, read_manifest

log = logging.getLogger(__name__)


class Vanished(DataError):
    """A file of this commit is gone, since a later commit has replaced it."""

    def __init__(self, path: Path) -> None:
        message = f"`{path}` was changed while it was read"
        super().__init__(Diagnostic("W1161", message, hint="ask again"))


class Snapshot:
    """One commit of a repository; nothing that is written later changes what it says."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._indexes: dict[str, Index] = {}
        self._deleted: Entities | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs, in the order in which they were added."""
        return self.manifest.runs

    def index(self, run: Run) -> Index:
        """Return the index of a run; it is mapped and checked when it is first needed."""
        found = self._indexes.get(run.file)
        if found is None:
            found = self._indexes[run.file] = self._open(run)
        return found

    def edges(self, run: Run) -> pa.Table:
        """Return the edges of a run, as its Parquet file has them."""
        return reduced_table(self._parquet(run.file + ".parquet", run.edges_checksum))

    def deleted(self) -> Entities:
        """Return all entities that were deleted."""
        if self._deleted is None:
            gone = self.tombstones()
            self._deleted = NONE if gone is None else entities_of(gone)
        return self._deleted

    def tombstones(self) -> pa.Table | None:
        """Return what was deleted, with time and reason; None if nothing was."""
        name = self.manifest.tombstones
        return self._parquet(name, self.manifest.tombstones_checksum) if name else None

    def keep(self, other: Snapshot) -> None:
        """Take over what another snapshot has mapped already: files never change."""
        here = {run.file for run in self.runs}
        self._indexes.update((f, index) for f, index in other._indexes.items() if f in here)

    def is_past(self) -> bool:
        """Whether there is a later commit."""
        return read_manifest(self.path) != self.manifest

    def lost(self, path: Path) -> DataError:
        """Return what it means that a file is not there."""
        if self.is_past():
            return Vanished(self.path)
        return faults.damaged(path, "the file is missing")

    def select(
        self,
        *,
        workflow: str | None = None,
        job: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Run, ...]:
        """Return the runs of a workflow or a job, at work at some time of a period."""
        if since is not None and until is not None and since >= until:
            raise faults.no_period(since.isoformat(), until.isoformat())
        chosen: Iterable[Run] = self.runs
        if workflow is not None:
            if workflow not in {run.workflow for run in chosen}:
                raise faults.no_job("workflow", workflow, (run.workflow for run in self.runs))
            chosen = [run for run in chosen if run.workflow == workflow]
        if job is not None:
            if job not in {run.job for run in chosen}:
                raise faults.no_job("job", job, (run.job for run in chosen))
            chosen = [run for run in chosen if run.job == job]
        return tuple(
            run
            for run in chosen
            if (since is None or run.ended >= since)
            and (until is None or (run.started or run.ended) < until)
        )

    def _open(self, run: Run) -> Index:
        path = self.path / f"{run.file}.index"
        try:
            return map_index(path, run.checksum)
        except FileNotFoundError:
            if self.is_past():
                raise Vanished(self.path) from None
            log.warning("%s is missing and made again from the edges", path)
        except (DataError, OSError):
            log.warning("%s is damaged and made again from the edges", path)
        return build_index(self.edges(run))

    def checked(self, run: Run) -> Path:
        """Return the path of a run's Parquet file, of which every byte is as it was written."""
        path = self.path / f"{run.file}.parquet"
        self._bytes(path, run.edges_checksum)
        return path

    def _bytes(self, path: Path, checksum: int | None) -> pa.Buffer:
        try:
            with pa.memory_map(str(path)) as mapped:
                whole = mapped.read_buffer()
        except FileNotFoundError:
            raise self.lost(path) from None
        except (OSError, pa.ArrowException) as fault:
            raise faults.damaged(path, str(fault).split("\n")[0]) from None
        if checksum is not None and crc32(whole) != checksum:
            raise faults.damaged(path, "its checksum does not fit")
        return whole

    def _parquet(self, name: str, checksum: int | None) -> pa.Table:
        whole = self._bytes(self.path / name, checksum)
        try:
            return pq.read_table(pa.BufferReader(whole), page_checksum_verification=True)
        except (OSError, pa.ArrowException) as fault:
            raise faults.damaged(self.path / name, str(fault).split("\n")[0]) from None


def open_snapshot(path: Path) -> Snapshot:
    """Return the last commit of a repository; a folder that is new or empty has none yet."""
    manifest = read_manifest(path)
    if manifest is not None:
        return Snapshot(path, manifest)
    if path.exists() and not path.is_dir():
        raise faults.not_a_repository(path, "it is a file")
    return Snapshot(path, Manifest())
