"""The committed high-water mark: a small file of four slots, the newest whole one counts.

Two are written in turn after each commit has become durable and before `append` returns, without a
sync of their own: what a killed process had committed is known exactly. The two others are written
in turn and synced at opening, checkpoint and close: a power failure leaves at least one of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.framing import (
    FILE_HEADER,
    FORMAT,
    MARK,
    FileHeader,
    read_file_header,
    read_version,
    write_file_header,
)
from whence.store.layout import MARK_NAME, write_whole

# Each slot has a sector of its own. The first two are the quick ones.
_PLACES: Final = (512, 1024, 1536, 2048)
_SIZE: Final = 2560
_SLOT: Final = struct.Struct("<QQQQI")
_QUICK: Final = (0, 1)
_SYNCED: Final = (2, 3)


@dataclass(frozen=True, slots=True)
class Marked:
    """What is known to be committed; the slot with the greatest `turn` was written last."""

    turn: int
    commit: int
    snapshot: int


def _slot(seed: int, place: int, marked: Marked) -> bytes:
    start = _SLOT.pack(place, marked.turn, marked.commit, marked.snapshot, 0)[:-4]
    return start + crc32(start, seed).to_bytes(4, "little")


def _read_slot(seed: int, place: int, data: bytes) -> Marked | None:
    there, turn, commit, snapshot, checksum = _SLOT.unpack_from(data, place)
    if there != place or checksum != crc32(data[place : place + _SLOT.size - 4], seed):
        return None
    return Marked(turn, commit, snapshot)


def write_mark_file(files: Files, folder: Path, header: FileHeader, marked: Marked) -> None:
    """Put a new mark in place; the folder is not synced."""
    content = bytearray(_SIZE)
    content[:FILE_HEADER] = write_file_header(header)
    for place in _PLACES:
        content[place : place + _SLOT.size] = _slot(header.seed, place, marked)
    write_whole(files, folder / MARK_NAME, [bytes(content)])


def _parse(data: bytes) -> tuple[FileHeader, list[Marked | None]]:
    header = read_file_header(data, MARK)
    if len(data) < _SIZE:
        raise Damaged(len(data), "the file ends too early")
    return header, [_read_slot(header.seed, place, data) for place in _PLACES]


def _newest(slots: list[Marked | None]) -> Marked:
    whole = [slot for slot in slots if slot is not None]
    if not whole:
        raise Damaged(_PLACES[0], "no mark fits its checksum")
    return max(whole, key=lambda slot: slot.turn)


def _older(slots: list[Marked | None], pair: tuple[int, int]) -> int:
    """Return which of two slots to overwrite: one that is not whole, else the older."""
    turns = [-1 if (slot := slots[index]) is None else slot.turn for index in pair]
    return pair[turns.index(min(turns))]


def read_mark_file(files: Files, folder: Path) -> tuple[FileHeader, Marked]:
    """Return what the mark of this folder says; FileNotFoundError where there is none."""
    path = folder / MARK_NAME
    handle = files.open(path)
    try:
        data = files.read(handle, _SIZE, 0)
    finally:
        files.close(handle)
    try:
        version = read_version(data)
        if version > FORMAT:
            raise faults.newer(folder, version, FORMAT)
        header, slots = _parse(data)
        return header, _newest(slots)
    except Damaged as damage:
        raise faults.damaged_mark(path, damage) from None


class Mark:
    """The mark as its writer has it open."""

    __slots__ = ("_files", "_handle", "_path", "_quick", "_seed", "_synced", "header", "now")

    def __init__(self, files: Files, folder: Path) -> None:
        self.header, self.now = read_mark_file(files, folder)  # says what is wrong, if anything is
        self._files = files
        self._seed = self.header.seed
        self._path = folder / MARK_NAME
        self._quick, self._synced = _QUICK[0], _SYNCED[0]
        self._handle = files.open(self._path, write=True)
        self.reread()

    def write(self, commit: int, snapshot: int) -> None:
        """State what is committed."""
        self._put(self._quick, commit, snapshot)
        self._quick = 1 - self._quick

    def write_synced(self, commit: int, snapshot: int) -> None:
        """State it durably."""
        self._put(self._synced, commit, snapshot)
        self._files.sync(self._handle)
        self._synced = 5 - self._synced  # only now may the other of the two be spoiled

    def _put(self, index: int, commit: int, snapshot: int) -> None:
        place = _PLACES[index]
        marked = Marked(self.now.turn + 1, commit, snapshot)
        self._files.write(self._handle, (_slot(self._seed, place, marked),), place)
        self.now = marked

    def reread(self) -> Marked:
        """Return what the file says, whatever an interrupted write left in memory."""
        try:
            slots = _parse(self._files.read(self._handle, _SIZE, 0))[1]
            self.now = _newest(slots)
        except Damaged as damage:
            raise faults.damaged_mark(self._path, damage) from None
        self._quick = _older(slots, _QUICK)
        self._synced = _older(slots, _SYNCED)
        return self.now

    def close(self) -> None:
        """Let go of the file."""
        self._files.close(self._handle)
