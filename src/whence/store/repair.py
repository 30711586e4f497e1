"""Checking a store, and saving what is whole of a damaged one into a new folder.

What is saved is the newest whole snapshot and the longest run of whole batches after it, under
their old numbers. The damaged folder is only read.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from whence.diagnostics import DataError
from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.layout import Listing, listing, make_folder
from whence.store.lock import Lock
from whence.store.log import Cursor
from whence.store.mark import read_mark_file
from whence.store.migrate import build
from whence.store.reader import Reader
from whence.store.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class Report:
    """What a store holds; after a repair, also how many committed batches are known to be lost."""

    commit: int
    snapshot_commit: int
    batches: int
    lost: int = 0


def check(path: Path | str) -> Report:
    """Read everything that is committed; raise where something is damaged."""
    with Reader.open(path) as reader:
        found = reader.recovered
        return Report(reader.commit, found.snapshot_commit, len(found.batches))


def repair(path: Path | str, target: Path | str, *, files: Files | None = None) -> Report:
    """Write what is whole of a damaged store into a new folder; tell what is lost."""
    folder, new = Path(path), Path(target)
    files = files or Files()
    with faults.os_faults(folder):
        if not folder.is_dir():
            raise faults.absent(folder)
        lock = Lock(files, folder)
        try:
            listed = listing(files, folder)
            if not (listed.segments or listed.snapshots):
                raise faults.absent(folder)
            store: bytes | None = None  # of a mark that is damaged, too
            stated = 0
            with contextlib.suppress(DataError, FileNotFoundError):
                header, marked = read_mark_file(files, folder)
                store, stated = header.store, marked.commit
            base, state = _best_snapshot(files, folder, listed, store)
            batches = _whole_batches(files, folder, listed, store, base)
        finally:
            lock.release()
    with faults.os_faults(new):
        if new.exists() and (not new.is_dir() or files.names(new)):
            raise faults.not_a_store(new, "a repair needs a new or empty folder")
        make_folder(files, new)
        build(files, new, base, state, batches)
    commit = base + len(batches)
    return Report(commit, base, len(batches), max(0, stated - commit))


def _best_snapshot(
    files: Files, folder: Path, listed: Listing, store: bytes | None
) -> tuple[int, bytes | None]:
    """Return the newest whole snapshot and its commit."""
    for commit in sorted(listed.snapshots, reverse=True):
        path = folder / listed.snapshots[commit]
        try:
            return commit, read_snapshot(files, path, store, commit)
        except DataError as error:
            if faults.is_newer(error):  # which is no damage
                raise
    return 0, None


def _whole_batches(
    files: Files, folder: Path, listed: Listing, store: bytes | None, base: int
) -> list[bytes]:
    """Return the batches after `base`, up to the first that is not whole."""
    batches: list[bytes] = []
    for first in sorted(listed.segments):
        if first > base + len(batches) + 1:
            break
        try:
            cursor = Cursor(files, folder / listed.segments[first], store, first)
        except DataError as error:
            if faults.is_newer(error):
                raise
            continue
        try:
            while (record := cursor.next()) is not None:
                if record.number == base + len(batches) + 1:
                    batches.append(record.body)
        except Damaged:
            pass
        finally:
            cursor.close()
    return batches
