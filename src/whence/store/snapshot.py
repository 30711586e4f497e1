"""Snapshots: one file each, a header and one record whose number is the commit it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from zlib import crc32

from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Bytes, Files
from whence.store.framing import (
    FILE_HEADER,
    FORMAT,
    RECORD_HEADER,
    SNAPSHOT,
    FileHeader,
    read_file_header,
    read_record_header,
    read_version,
    write_file_header,
    write_record_header,
)
from whence.store.layout import snapshot_name, write_whole

STATE: Final = b"stat"


def write_snapshot(files: Files, folder: Path, header: FileHeader, body: Bytes) -> None:
    """Put a snapshot in place; the folder is not synced."""
    commit = header.first
    head = write_record_header(header.seed, FILE_HEADER, STATE, commit, commit, body)
    path = folder / snapshot_name(commit)
    write_whole(files, path, [write_file_header(header), head, body])


def read_snapshot(files: Files, path: Path, store: bytes | None, commit: int) -> bytes:
    """Return the body of a snapshot, all of it checked."""
    handle = files.open(path)
    try:
        data = memoryview(files.read(handle, files.size(handle), 0))
    finally:
        files.close(handle)
    try:
        version = read_version(data)
        if version > FORMAT:
            raise faults.newer(path, version, FORMAT)
        return _body(data, store, commit)
    except Damaged as damage:
        raise faults.damaged_snapshot(path, damage) from None


def _body(data: memoryview, store: bytes | None, commit: int) -> bytes:
    header = read_file_header(data, SNAPSHOT)
    if store is not None and header.store != store:
        raise Damaged(0, "the file belongs to another database")
    if header.first != commit:
        raise Damaged(0, f"the file is a snapshot of commit {header.first}, not {commit}")
    record = data[FILE_HEADER:]
    head = read_record_header(header.seed, FILE_HEADER, record[:RECORD_HEADER])
    if head is None:
        raise Damaged(FILE_HEADER, "the record's header does not fit its checksum")
    if head.kind != STATE or head.number != commit:
        raise Damaged(FILE_HEADER, f"a record numbered {head.number} stands there")
    body = record[RECORD_HEADER:]
    if len(body) != head.length:
        what = "cut off" if len(body) < head.length else "followed by something else"
        raise Damaged(FILE_HEADER, f"the record's body is {what}")
    if crc32(body, header.seed) != head.checksum:
        raise Damaged(FILE_HEADER, "the record's body does not fit its checksum")
    return bytes(body)
