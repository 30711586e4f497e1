"""Bringing a folder to the current format: creating it, or migrating it version by version.

The mark is what makes a folder a store of its version. A step of a migration writes the new files
beside the old ones, puts the new mark in place last, and only then removes the old files; it can be
interrupted anywhere and is then done again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final
from zlib import crc32

from whence.diagnostics import DataError
from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.framing import (
    FILE_HEADER,
    FORMAT,
    ID_SIZE,
    LOG,
    MARK,
    SNAPSHOT,
    FileHeader,
    read_version,
)
from whence.store.layout import MARK_NAME, Listing, listing, log_name, remove_all
from whence.store.log import create_segment
from whence.store.mark import Marked, write_mark_file
from whence.store.snapshot import write_snapshot

# Format 0 had one log without a mark, and one snapshot.
_OLD_LOG: Final = "wal"
_OLD_SNAPSHOT: Final = "snapshot"
_OLD_MAGIC: Final = b"WHENCE0\n"
_OLD_RECORD: Final = struct.Struct("<QII")  # number, length, checksum of the body
_OLD_STATE: Final = struct.Struct("<QI")  # commit, checksum of the body


def new_header(kind: bytes, store: bytes, first: int) -> FileHeader:
    """Return the header of a new file, with an id of its own."""
    return FileHeader(kind, store, os.urandom(ID_SIZE), first)


def refuse_foreign(folder: Path, listed: Listing) -> None:
    """Refuse a folder that holds something else, before anything is written there."""
    ours = listed.has_mark or listed.snapshots or listed.segments or _OLD_LOG in listed.others
    if listed.others and not ours:
        raise faults.not_a_store(folder, f"it contains `{listed.others[0]}`")


def version_of(files: Files, folder: Path, listed: Listing) -> int | None:
    """Return the format of a folder, or None where there is no store yet."""
    if listed.has_mark:
        path = folder / MARK_NAME
        handle = files.open(path)
        try:
            return read_version(files.read(handle, FILE_HEADER, 0))
        except Damaged as damage:
            raise faults.damaged_mark(path, damage) from None
        finally:
            files.close(handle)
    if _OLD_LOG in listed.others:
        return 0
    refuse_foreign(folder, listed)
    if not listed.blank:
        raise _no_mark(folder)
    if listed.segments:
        handle = files.open(folder / log_name(1))
        try:
            if files.size(handle) > FILE_HEADER:
                raise _no_mark(folder)
        finally:
            files.close(handle)
    return None


def _no_mark(folder: Path) -> DataError:
    return faults.missing(folder / MARK_NAME, "it states what is committed")


def bring_up(files: Files, folder: Path) -> None:
    """Make the folder a store of the current format; the caller has its lock."""
    listed = listing(files, folder)
    version = version_of(files, folder, listed)
    if version is None:
        _create(files, folder)
        return
    if version > FORMAT:
        raise faults.newer(folder, version, FORMAT)
    while version < FORMAT:
        MIGRATIONS[version](files, folder)
        version += 1
    remove_all(files, folder, {_OLD_LOG, _OLD_SNAPSHOT} & set(listed.others))


def _create(files: Files, folder: Path) -> None:
    build(files, folder, 0, None, ())
    files.sync_folder(folder.absolute().parent)


def build(
    files: Files, folder: Path, commit: int, state: bytes | None, batches: Iterable[bytes]
) -> None:
    """Write a whole store: a snapshot as of `commit`, and the batches after it."""
    store = os.urandom(ID_SIZE)
    if state is not None:
        write_snapshot(files, folder, new_header(SNAPSHOT, store, commit), state)
    log = create_segment(files, folder, new_header(LOG, store, commit + 1))
    last = commit
    try:
        for body in batches:
            last += 1
            log.append(last, body, sync=False)
            log.end = log.end_after(len(body))
        log.sync()
    finally:
        log.close()
    files.sync_folder(folder)
    base = commit if state is not None else 0
    # The log is durable before the mark is: a mark without its log would be damage.
    write_mark_file(files, folder, new_header(MARK, store, 0), Marked(0, last, base))
    files.sync_folder(folder)


def _from_0(files: Files, folder: Path) -> None:
    """One log without a mark becomes segments with one."""
    commit, state = _old_snapshot(files, folder / _OLD_SNAPSHOT)
    batches = _old_batches(files, folder / _OLD_LOG)
    if batches and batches[0][0] > commit + 1:
        damage = Damaged(len(_OLD_MAGIC), f"the log begins with batch {batches[0][0]}")
        raise faults.damaged_log(folder / _OLD_LOG, damage, commit + 1, commit)
    listed = listing(files, folder)  # of a migration that was interrupted
    remove_all(files, folder, (*listed.snapshots.values(), *listed.segments.values()))
    build(files, folder, commit, state, [body for number, body in batches if number > commit])


def _old_snapshot(files: Files, path: Path) -> tuple[int, bytes | None]:
    if not path.exists():
        return 0, None
    data = _content(files, path)
    start = len(_OLD_MAGIC) + _OLD_STATE.size
    if not data.startswith(_OLD_MAGIC) or len(data) < start:
        raise faults.damaged_snapshot(path, Damaged(0, "the header is not that of a snapshot"))
    commit, checksum = _OLD_STATE.unpack_from(data, len(_OLD_MAGIC))
    if crc32(data[start:], commit & 0xFFFFFFFF) != checksum:
        raise faults.damaged_snapshot(path, Damaged(start, "the body does not fit its checksum"))
    return commit, data[start:]


def _old_batches(files: Files, path: Path) -> list[tuple[int, bytes]]:
    """Return the batches of a log of format 0; a last one that is cut off was never committed."""
    data = _content(files, path)
    if not data.startswith(_OLD_MAGIC):
        raise faults.damaged_log(path, Damaged(0, "the header is not that of a log"), 1, 0)
    found: list[tuple[int, bytes]] = []
    at = len(_OLD_MAGIC)
    while at + _OLD_RECORD.size <= len(data):
        number, length, checksum = _OLD_RECORD.unpack_from(data, at)
        body = data[at + _OLD_RECORD.size : at + _OLD_RECORD.size + length]
        if len(body) < length:
            break
        if checksum != crc32(body, number & 0xFFFFFFFF) or (found and number != found[-1][0] + 1):
            damage = Damaged(at, "the record does not fit its checksum and number")
            raise faults.damaged_log(path, damage, number, len(found))
        found.append((number, body))
        at += _OLD_RECORD.size + length
    return found


def _content(files: Files, path: Path) -> bytes:
    handle = files.open(path)
    try:
        return files.read(handle, files.size(handle), 0)
    finally:
        files.close(handle)


# How a folder of one format becomes one of the next.
MIGRATIONS: Final[Mapping[int, Callable[[Files, Path], None]]] = {0: _from_0}
