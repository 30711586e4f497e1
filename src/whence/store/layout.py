"""The names of the files in a store's folder, and how a file comes to stand there whole."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from whence.store import faults
from whence.store.files import Bytes, Files

LOCK_NAME: Final = "lock"
MARK_NAME: Final = "mark"
UNFINISHED: Final = ".tmp"
_NUMBERED: Final = re.compile(r"(log|snapshot)-(\d{12,19})\.(wal|snap)")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder by what they are."""

    snapshots: dict[int, str] = field(default_factory=dict)
    segments: dict[int, str] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    has_mark: bool = False

    @property
    def blank(self) -> bool:
        """Whether nothing is there but what an interrupted creation leaves."""
        return not (self.snapshots or self.has_mark or self.others) and set(self.segments) <= {1}


def log_name(first: int) -> str:
    """Return the name of the segment whose first batch has this number.

    >>> log_name(7)
    'log-000000000007.wal'
    """
    return f"log-{first:012d}.wal"


def snapshot_name(commit: int) -> str:
    """Return the name of the snapshot as of this commit."""
    return f"snapshot-{commit:012d}.snap"


def listing(files: Files, folder: Path) -> Listing:
    """Return what the folder holds."""
    snapshots: dict[int, str] = {}
    segments: dict[int, str] = {}
    unfinished: list[str] = []
    others: list[str] = []
    names = sorted(files.names(folder))
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found and (found[1], found[3]) == ("log", "wal"):
            segments[int(found[2])] = name
        elif found and (found[1], found[3]) == ("snapshot", "snap"):
            snapshots[int(found[2])] = name
        elif name.endswith(UNFINISHED):
            unfinished.append(name)
        elif name not in (LOCK_NAME, MARK_NAME):
            others.append(name)
    return Listing(snapshots, segments, tuple(unfinished), tuple(others), MARK_NAME in names)


def write_whole(files: Files, path: Path, parts: Sequence[Bytes]) -> None:
    """Write the file beside its place, make it durable, rename it; the folder is not synced."""
    beside = path.with_name(path.name + UNFINISHED)
    try:
        handle = files.open(beside, write=True, create=True)
        try:
            files.truncate(handle, 0)
            files.write(handle, parts, 0)
            files.sync(handle)
        finally:
            files.close(handle)
        files.rename(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            files.remove(beside)
        raise


def remove_all(files: Files, folder: Path, names: Iterable[str]) -> None:
    """Remove what is no longer needed; what stays behind is removed another time."""
    for name in names:
        with contextlib.suppress(OSError):
            files.remove(folder / name)


def make_folder(files: Files, path: Path) -> None:
    """Create the folder and those above it, each durable in its parent."""
    if path.exists():
        if not path.is_dir():
            raise faults.not_a_store(path, "it is a file")
        return
    absent = [path, *(p for p in path.parents if not p.exists())]
    for folder in reversed(absent):
        files.make_folder(folder)
        files.sync_folder(folder.parent)
