"""The bytes of a segment: a header, records that hold Arrow streams of edges, a trailer.

Numbers in a segment count its own rows, so that the segment's place in its partition, which is
known only when it is put there, stands in the header alone.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pyarrow as pa

from whence.lineage.events import EDGES
from whence.lineage.log import faults
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.framing import (
    FILE_HEADER,
    FORMAT,
    RECORD_HEADER,
    FileHeader,
    read_file_header,
    read_record_header,
    read_version,
    write_file_header,
    write_record_header,
)

LINEAGE: Final = b"prov"
"""The kind of a file that is a segment."""
ROWS_IN_RECORD: Final = 1 << 17

_EDGES: Final = b"edge"
_END: Final = b"end "
_TRAILER: Final = struct.Struct("<QQq")
_TRAILER_SIZE: Final = RECORD_HEADER + _TRAILER.size
_SHORT: Final = "the file is cut off"
# Constant columns shrink to nothing, and fewer bytes are summed: reading is quicker, too.
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class Extent:
    """What a segment holds: its first offset, its rows, its bytes, when it was committed (µs)."""

    path: Path
    first: int
    rows: int
    size: int
    written: int

    @property
    def end(self) -> int:
        """The offset after its last row."""
        return self.first + self.rows


class SegmentBuilder:
    """A segment that is written under a name of its own; `finish` says where it will stand."""

    __slots__ = ("_end", "_files", "_handle", "_header", "_records", "path", "rows")

    def __init__(self, files: Files, path: Path, identity: bytes) -> None:
        self._files = files
        self.path = path
        self._handle = files.open(path, write=True, create=True)
        self._header = FileHeader(LINEAGE, bytes(16), identity, 0)
        self._end = FILE_HEADER
        self._records = 0
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the edges of a batch."""
        for start in range(0, batch.num_rows, ROWS_IN_RECORD):
            part = batch.slice(start, ROWS_IN_RECORD)
            self._write(_EDGES, self.rows, memoryview(to_bytes(part)))
            self._records += 1
            self.rows += part.num_rows

    def finish(self) -> None:
        """Write the trailer."""
        body = _TRAILER.pack(self.rows, self._records, time.time_ns() // 1000)
        self._write(_END, self.rows, memoryview(body))

    def place(self, first: int, *, sync: bool) -> None:
        """Write the header of a segment whose first row has this offset."""
        header = FileHeader(LINEAGE, bytes(16), self._header.id, first)
        self._files.write(self._handle, (write_file_header(header),), 0)
        if sync:
            self._files.sync(self._handle)

    def close(self) -> None:
        """Let go of the file; a second time does nothing."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            self._files.close(handle)

    def _write(self, kind: bytes, number: int, body: memoryview) -> None:
        head = write_record_header(self._header.seed, self._end, kind, number, 0, body)
        self._files.write(self._handle, (head, body), self._end)
        self._end += RECORD_HEADER + len(body)


def extent(files: Files, path: Path) -> Extent:
    """Return what a segment holds, by its header and its trailer."""
    handle = files.open(path)
    try:
        return _extent(files, handle, path)
    except Damaged as damage:
        raise faults.damaged(path, damage) from None
    finally:
        files.close(handle)


def read_segment(files: Files, path: Path, offset: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Give the edges from an offset on, each batch with the offset after it."""
    handle = files.open(path)
    try:
        found = _extent(files, handle, path)
        header = read_file_header(files.read(handle, FILE_HEADER, 0), LINEAGE)
        at, row, last = FILE_HEADER, 0, found.size - _TRAILER_SIZE
        while at < last:
            head = read_record_header(header.seed, at, files.read(handle, RECORD_HEADER, at))
            if head is None or head.kind != _EDGES or head.number != row:
                raise Damaged(at, "no whole record stands there")
            end = at + RECORD_HEADER + head.length
            if end > last:
                raise Damaged(at, "the record is longer than the file")
            body = files.read(handle, head.length, at + RECORD_HEADER)
            if len(body) < head.length or crc32(body, header.seed) != head.checksum:
                raise Damaged(at, "the record does not fit its checksum")
            batch = from_bytes(body, at)
            before, row, at = found.first + row, row + batch.num_rows, end
            if found.first + row > offset:
                yield found.first + row, batch.slice(max(0, offset - before))
        if row != found.rows:
            raise Damaged(at, f"{row} rows stand there, not {found.rows}")
    except Damaged as damage:
        raise faults.damaged(path, damage) from None
    finally:
        files.close(handle)


def _extent(files: Files, handle: int, path: Path) -> Extent:
    start = files.read(handle, FILE_HEADER, 0)
    version = read_version(start)
    if version > FORMAT:
        raise faults.newer(path, version, FORMAT)
    header = read_file_header(start, LINEAGE)
    size = files.size(handle)
    at = size - _TRAILER_SIZE
    if at < FILE_HEADER:
        raise Damaged(size, _SHORT)
    data = files.read(handle, _TRAILER_SIZE, at)
    head = read_record_header(header.seed, at, data)
    body = data[RECORD_HEADER:]
    if head is None or head.kind != _END or crc32(body, header.seed) != head.checksum:
        raise Damaged(at, "no trailer stands there: the file is cut off or changed")
    rows, _, written = _TRAILER.unpack(body)
    return Extent(path, header.first, rows, size, written)


def to_bytes(batch: pa.RecordBatch) -> Any:
    """Return edges as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, EDGES, options=_OPTIONS) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def from_bytes(body: bytes, at: int) -> pa.RecordBatch:
    """Return the edges of an Arrow stream, which stands at this place."""
    try:
        with pa.ipc.open_stream(body) as stream:
            batch = stream.read_next_batch()
    except (pa.ArrowException, StopIteration, OSError) as fault:
        raise Damaged(at, f"the record holds no edges ({fault})") from None
    if not batch.schema.equals(EDGES):
        raise Damaged(at, "the record holds other columns than edges have")
    return batch
