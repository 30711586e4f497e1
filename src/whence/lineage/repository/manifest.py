"""What a repository holds: its runs and tombstones, in one file that is replaced by a rename.

Files that it names never change, so whoever has read a manifest has a snapshot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from whence.lineage.repository import faults
from whence.store.files import Files
from whence.store.layout import write_whole

NAME: Final = "manifest.json"
HEAD: Final = 64
"""Bytes in which a manifest has its checksum."""
FORMAT: Final = 2
"""The first had no checksums of Parquet files, whose own cover pages only."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Where the numbers of a space lie that a run knows: how many there are, least and greatest."""

    count: int
    least: int
    greatest: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: when it was, which tables it read and made, and the files of its edges."""

    number: int
    workflow: str
    job: str
    run: str
    started: datetime | None
    ended: datetime
    inputs: dict[str, Extent]
    outputs: dict[str, Extent]
    groups: int
    edges: int
    file: str
    """The stem of its two files: `.parquet` has the edges, `.index` finds them quickly."""
    checksum: int
    """Of the index."""
    edges_checksum: int | None = None
    """Of the Parquet file."""
    compacted: tuple[str, ...] = ()
    """The names of the runs of which it was made, if it was made of several."""

    def knows(self, space: str) -> bool:
        """Whether the run has entities of this space."""
        return space in self.inputs or space in self.outputs


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of a repository after a commit."""

    commit: int = 0
    runs: tuple[Run, ...] = ()
    tombstones: str | None = None
    """The file of what was deleted, if anything was."""
    deleted: int = 0
    """How many entities were deleted."""
    tombstones_checksum: int | None = None

    def files(self) -> set[str]:
        """Return the names of all files that belong to this state."""
        named = {run.file + suffix for run in self.runs for suffix in (".parquet", ".index")}
        return named | ({self.tombstones} if self.tombstones else set())


def read_manifest(path: Path) -> Manifest | None:
    """Return the state of a folder, or None if nothing was ever committed there."""
    place = path / NAME
    try:
        raw = place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        document = json.loads(raw)
        body, checksum, version = document["state"], document["checksum"], document["format"]
        if version not in (1, FORMAT):
            raise faults.newer(place, version)
        if crc32(_canonical(body)) != checksum:
            raise faults.damaged(place, "its checksum does not fit")
        return _read(body)
    except (ValueError, KeyError, TypeError):
        raise faults.damaged(place, "it is no manifest") from None


def write_manifest(files: Files, path: Path, manifest: Manifest) -> None:
    """Make this the state of the folder; everything that it names is durable already."""
    body = _canonical(_body(manifest))
    parts = [f'{{"format": {FORMAT}, "checksum": {crc32(body)}, "state": '.encode(), body, b"}\n"]
    files.sync_folder(path)
    write_whole(files, path / NAME, parts)
    files.sync_folder(path)


def _body(manifest: Manifest) -> dict[str, Any]:
    runs = [
        {
            **{name: getattr(run, name) for name in Run.__slots__},
            "started": run.started and run.started.astimezone(UTC).isoformat(),
            "ended": run.ended.astimezone(UTC).isoformat(),
            "inputs": _extents(run.inputs),
            "outputs": _extents(run.outputs),
        }
        for run in manifest.runs
    ]
    return {**{name: getattr(manifest, name) for name in Manifest.__slots__}, "runs": runs}


def _extents(extents: dict[str, Extent]) -> dict[str, dict[str, int]]:
    return {
        space: {name: getattr(extent, name) for name in Extent.__slots__}
        for space, extent in extents.items()
    }


def _canonical(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def _read(body: dict[str, Any]) -> Manifest:
    runs = []
    for each in body["runs"]:
        for key in ("inputs", "outputs"):
            each[key] = {space: Extent(**extent) for space, extent in each[key].items()}
        each["started"] = each["started"] and datetime.fromisoformat(each["started"])
        each["compacted"] = tuple(each.get("compacted", ()))
        each["ended"] = datetime.fromisoformat(each["ended"])
        runs.append(Run(**each))
    return Manifest(**{**body, "runs": tuple(runs)})
