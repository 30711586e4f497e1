"""No change of a segment's bytes goes unseen, and a full device costs nothing that was there."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lineage.log.writers import segment
from whence.diagnostics import DataError
from whence.lineage.log import Topic
from whence.lineage.log.directory import DirectoryLog
from whence.store.files import Bytes, Files


def made(path: Path) -> tuple[DirectoryLog, Path, bytes]:
    log = DirectoryLog(path, sync=False)
    log.create(Topic("t"))
    with log.writer("t", 0) as writer:
        writer.add(segment(1, 7))
        writer.add(segment(1, 8))
    (file,) = (path / "t" / "partition-000").glob("*.seg")
    return log, file, file.read_bytes()


def read(log: DirectoryLog) -> list[pa.RecordBatch]:
    return [batch for _, batch in log.read("t", 0)]


def refused(log: DirectoryLog, code: str = "W1104") -> str:
    with pytest.raises(DataError) as error:
        read(log)
    assert error.value.diagnostics[0].code == code
    return str(error.value)


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_seen(tmp_path: Path, step: int) -> None:
    log, file, data = made(tmp_path)
    random = Random(3)
    for at in range(0, len(data), step):
        changed = bytearray(data)
        changed[at] ^= 1 << random.randrange(8)
        file.write_bytes(changed)
        with pytest.raises(DataError) as error:
            read(log)
        # A version that is newer by its checksum is told as such; one flip cannot make it.
        assert error.value.diagnostics[0].code == "W1104"
        assert file.name in str(error.value)
    file.write_bytes(data)
    assert len(read(log)) == 2


def test_a_segment_that_is_cut_off_anywhere_is_seen(tmp_path: Path) -> None:
    log, file, data = made(tmp_path)
    for size in {*range(0, len(data), 29), *range(len(data) - 90, len(data))}:
        file.write_bytes(data[:size])
        refused(log)


def test_bytes_that_follow_or_come_from_elsewhere_are_seen(tmp_path: Path) -> None:
    log, file, data = made(tmp_path)
    _, _, other = made(tmp_path / "other")
    half = len(data) // 2
    for changed in (data + b"\0", data + data, data[:half] + other[half:], data[:76] + other[76:]):
        file.write_bytes(changed)
        refused(log)


def test_a_segment_in_the_place_of_another_is_seen(tmp_path: Path) -> None:
    log, file, data = made(tmp_path)
    log.append("t", 0, segment(1, 9))
    second = max(file.parent.glob("*.seg"))
    second.write_bytes(data)
    refused(log)


def test_a_newer_format_is_told(tmp_path: Path) -> None:
    from whence.store.framing import preamble

    log, file, data = made(tmp_path)
    start = preamble(99)
    file.write_bytes(start + data[len(start) :])
    assert "format 99" in refused(log, "W1114")


@pytest.mark.parametrize("name", ["topic.json", "partition-000/base"])
def test_damage_of_other_files_is_seen(tmp_path: Path, name: str) -> None:
    log, _, _ = made(tmp_path)
    log.append("t", 0, segment(1, 9))
    log.retain("t", newest=1)
    path = tmp_path / "t" / name
    data = path.read_bytes()
    for at in range(len(data) - name.startswith("topic")):  # a line break more or less is none
        changed = bytearray(data)
        changed[at] ^= 4
        path.write_bytes(changed)
        refused(DirectoryLog(tmp_path))


class Full(Files):
    """A device that takes so many bytes and no more."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, handle: int, parts: Sequence[Bytes], offset: int) -> None:
        self.room -= sum(map(len, parts))
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(handle, parts, offset)


def test_a_full_device_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    log, file, data = made(tmp_path)
    expected = read(log)
    for room in range(0, len(data), 50):
        full = DirectoryLog(tmp_path, sync=False, files=Full(room))
        with pytest.raises(DataError) as error, full.writer("t", 0) as writer:
            writer.add(segment(1, 7))
            writer.add(segment(1, 8))
        assert error.value.diagnostics[0].code == "W1117"
        assert "make room" in str(error.value)
        assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert read(log) == expected
