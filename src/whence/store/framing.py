"""The bytes of stored files: a header for the file, then records, all under checksums.

Every checksum of a record starts from the random id of its file and covers its offset and number,
so a block that belongs to another place, or to an older file, is never taken for a record.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from whence.store.faults import Damaged
from whence.store.files import Bytes

FORMAT: Final = 1
ID_SIZE: Final = 16

# The first 16 bytes are the same in every version, so that any version can read the version.
_PREAMBLE: Final = struct.Struct("<8sII")
_MAGIC: Final = b"WHENCE\r\n"
_FILE: Final = struct.Struct("<4s16s16sQI")
FILE_HEADER: Final = _PREAMBLE.size + _FILE.size

LOG: Final = b"log "
SNAPSHOT: Final = b"snap"
MARK: Final = b"mark"

# The offset leads: it is part of what is summed and not of what is written.
_RECORD: Final = struct.Struct("<Q4s4sQQQI")
_MAGIC_RECORD: Final = b"\xb7WhR"
_SUM: Final = struct.Struct("<I")
_LEAD: Final = 8
RECORD_HEADER: Final = _RECORD.size - _LEAD + _SUM.size


@dataclass(frozen=True, slots=True)
class FileHeader:
    """What a file is: its kind, the store it belongs to, its own id, its first number."""

    kind: bytes
    store: bytes
    id: bytes
    first: int

    @property
    def seed(self) -> int:
        """Where the checksums of this file's records start."""
        return crc32(self.id)


@dataclass(frozen=True, slots=True)
class RecordHeader:
    """What stands before a body. `committed` is the number of the last record known committed."""

    kind: bytes
    number: int
    committed: int
    length: int
    checksum: int


def preamble(version: int = FORMAT) -> bytes:
    """Return the first bytes of a file of this version."""
    start = _PREAMBLE.pack(_MAGIC, version, 0)[:-4]
    return start + _SUM.pack(crc32(start))


def read_version(data: Bytes) -> int:
    """Return the version that a file's first bytes state."""
    if len(data) < _PREAMBLE.size:
        raise Damaged(0, "the file ends within its header")
    magic, version, checksum = _PREAMBLE.unpack_from(data)
    if magic != _MAGIC or checksum != crc32(data[: _PREAMBLE.size - 4]):
        raise Damaged(0, "the header's checksum does not fit")
    return int(version)


def write_file_header(header: FileHeader) -> bytes:
    """Return the bytes of a file's header."""
    start = preamble() + _FILE.pack(header.kind, header.store, header.id, header.first, 0)[:-4]
    return start + _SUM.pack(crc32(start))


def read_file_header(data: Bytes, kind: bytes) -> FileHeader:
    """Return the header at the start of a file of the current version."""
    if len(data) < FILE_HEADER:
        raise Damaged(0, "the file ends within its header")
    found, store, file, first, checksum = _FILE.unpack_from(data, _PREAMBLE.size)
    if checksum != crc32(data[: FILE_HEADER - 4]):
        raise Damaged(0, "the header's checksum does not fit")
    if found != kind:
        raise Damaged(0, "the file is of another kind")
    return FileHeader(found, store, file, first)


def write_record_header(
    seed: int, offset: int, kind: bytes, number: int, committed: int, body: Bytes
) -> bytes:
    """Return what stands before the body of a record that begins at `offset`."""
    start = _RECORD.pack(
        offset, _MAGIC_RECORD, kind, number, committed, len(body), crc32(body, seed)
    )
    return start[_LEAD:] + _SUM.pack(crc32(start, seed))


def read_record_header(seed: int, offset: int, data: Bytes) -> RecordHeader | None:
    """Return the header that `data` begins with, or None if it is no whole one of this place."""
    if len(data) < RECORD_HEADER or data[:4] != _MAGIC_RECORD:
        return None
    start = offset.to_bytes(_LEAD, "little") + bytes(data[: RECORD_HEADER - 4])
    if _SUM.unpack_from(data, RECORD_HEADER - 4)[0] != crc32(start, seed):
        return None
    _, _, kind, number, committed, length, checksum = _RECORD.unpack(start)
    return RecordHeader(kind, number, committed, length, checksum)


def find_record_header(seed: int, offset: int, data: Bytes) -> int | None:
    """Return the offset of the first record header in `data`, which begins at `offset`."""
    data = bytes(data)
    at = data.find(_MAGIC_RECORD)
    while at >= 0:
        if read_record_header(seed, offset + at, data[at : at + RECORD_HEADER]) is not None:
            return offset + at
        at = data.find(_MAGIC_RECORD, at + 1)
    return None
