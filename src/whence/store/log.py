"""The write-ahead log: segments of numbered batches, read by a cursor and written at the end."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Bytes, Files
from whence.store.framing import (
    FILE_HEADER,
    FORMAT,
    LOG,
    RECORD_HEADER,
    FileHeader,
    find_record_header,
    read_file_header,
    read_record_header,
    read_version,
    write_file_header,
    write_record_header,
)
from whence.store.layout import log_name, write_whole

BATCH: Final = b"btch"
_CHUNK: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Record:
    """A whole record: its number, where it begins and ends, its body."""

    number: int
    offset: int
    end: int
    body: bytes


class Cursor:
    """A place in a segment that is read record by record.

    `next` gives None where the file ends, and raises `Damaged` where anything but a whole record
    with the next number stands.
    """

    __slots__ = ("_buffer", "_files", "_handle", "_start", "header", "number", "offset", "path")

    def __init__(self, files: Files, path: Path, store: bytes | None, first: int) -> None:
        self._files = files
        self._handle = files.open(path)
        self.path = path
        self._buffer = memoryview(b"")
        self._start = 0
        self.offset = 0
        self.number = first
        try:
            self.header = _segment_header(path, self._view(FILE_HEADER), store, first)
        except BaseException:
            self.close()
            raise
        self.offset = FILE_HEADER

    def next(self) -> Record | None:
        """Return the next record, or None at the end of the file."""
        offset, seed = self.offset, self.header.seed
        data = self._view(RECORD_HEADER)
        if not data:
            return None
        head = read_record_header(seed, offset, data)
        if head is None:
            short = len(data) < RECORD_HEADER
            raise Damaged(offset, f"the record's header {'is cut off' if short else _UNFIT}")
        if head.kind != BATCH or head.number != self.number:
            raise Damaged(offset, f"a record numbered {head.number} stands there")
        end = offset + RECORD_HEADER + head.length
        body = bytes(self._view(RECORD_HEADER + head.length)[RECORD_HEADER:])
        if len(body) < head.length:
            raise Damaged(offset, "the record's body is cut off")
        if crc32(body, seed) != head.checksum:
            raise Damaged(offset, f"the record's body {_UNFIT}")
        self.offset = end
        self.number += 1
        return Record(head.number, offset, end, body)

    def record_after(self) -> int | None:
        """Return where a record header stands after the place of damage, if one does."""
        start = self.offset + 1
        rest = self._files.read(self._handle, self.size() - start, start)
        return find_record_header(self.header.seed, start, rest)

    def size(self) -> int:
        """Return the length of the file."""
        return self._files.size(self._handle)

    def forget(self) -> None:
        """Drop what was read ahead: the writer may have written there since."""
        self._buffer = memoryview(b"")

    def close(self) -> None:
        """Let go of the file; a second time does nothing."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            self._files.close(handle)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            self.close()

    def _view(self, size: int) -> memoryview:
        at = self.offset - self._start
        if at < 0 or at + size > len(self._buffer):
            data = self._files.read(self._handle, max(size, _CHUNK), self.offset)
            self._buffer, self._start, at = memoryview(data), self.offset, 0
        return self._buffer[at : at + size]


_UNFIT: Final = "does not fit its checksum"


def _segment_header(path: Path, data: memoryview, store: bytes | None, first: int) -> FileHeader:
    try:
        version = read_version(data)
        if version > FORMAT:
            raise faults.newer(path, version, FORMAT)
        header = read_file_header(data, LOG)
        if store is not None and header.store != store:
            raise Damaged(0, "the file belongs to another database")
        if header.first != first:
            raise Damaged(0, f"the file begins with batch {header.first}, not {first}")
    except Damaged as damage:
        raise faults.damaged_log(path, damage, first, first - 1) from None
    return header


class Segment:
    """The last segment of the log, as its writer has it open."""

    __slots__ = ("_files", "_handle", "_seed", "end", "first", "path")

    def __init__(self, files: Files, folder: Path, first: int, seed: int, end: int) -> None:
        self._files = files
        self.path = folder / log_name(first)
        self._handle = files.open(self.path, write=True)
        self._seed = seed
        self.first = first
        self.end = end  # of the last record that counts

    def append(self, number: int, body: Bytes, *, sync: bool) -> None:
        """Write a record after the end; it counts once the caller moves the end."""
        end = self.end
        head = write_record_header(self._seed, end, BATCH, number, number - 1, body)
        self._files.write(self._handle, (head, body), end)
        if sync:
            self._files.sync(self._handle)

    def end_after(self, length: int) -> int:
        """Return where a record with a body of this length would end."""
        return self.end + RECORD_HEADER + length

    def cut(self) -> None:
        """Take away whatever stands after the last record that counts, durably."""
        self._files.truncate(self._handle, self.end)
        self._files.sync(self._handle)

    def rewrite(self, start: int) -> None:
        """Write again what stands from `start` on.

        Before, a sync may have failed; the pages then look clean and are on no device.
        """
        while start < self.end:
            data = self._files.read(self._handle, min(_CHUNK, self.end - start), start)
            self._files.write(self._handle, (data,), start)
            start += len(data)

    def sync(self) -> None:
        """Make everything written so far durable."""
        self._files.sync(self._handle)

    def close(self) -> None:
        """Let go of the file."""
        self._files.close(self._handle)


def create_segment(files: Files, folder: Path, header: FileHeader) -> Segment:
    """Put an empty segment in place; the folder is not synced."""
    write_whole(files, folder / log_name(header.first), [write_file_header(header)])
    return Segment(files, folder, header.first, header.seed, FILE_HEADER)
