"""A log in a folder: `TOPIC/partition-000/OFFSET.seg`, each segment whole from the start.

A writer writes a segment under a name of its own and then gives it, by a hard link, the name of
the next free offset. Only one can have that name, so writers need no lock and leave no gaps.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from zlib import crc32

from whence.lineage.log import faults
from whence.lineage.log.base import Topic, agreed, check_name, check_partition, checked
from whence.lineage.log.checking import check_batch
from whence.lineage.log.segment import Extent, SegmentBuilder, extent, read_segment
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.layout import UNFINISHED, make_folder, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

_ABOUT: Final = "topic.json"
_BASE: Final = "base"
_NAME: Final = re.compile(r"(\d{18})\.seg", re.ASCII)
_ABANDONED: Final = 24 * 3600.0
"""Seconds after which an unfinished file is taken for that of a writer which is no more."""


@dataclass(frozen=True, slots=True)
class DirectoryLog:
    """The log in a folder, which is made when it is first written to."""

    path: Path
    sync: bool = True
    """Whether a commit waits for the device. Without, only a failing machine can lose it."""
    files: Files = field(default_factory=Files, repr=False)
    _known: dict[str, Topic] = field(default_factory=dict, repr=False, compare=False)

    # ── topics ──

    def create(self, topic: Topic) -> Topic:
        """Make the topic, or find it there with the same partitions."""
        folder = self.path / checked(topic).name
        with _faults(folder):
            if not (folder / _ABOUT).exists():
                for partition in range(topic.partitions):
                    make_folder(self.files, self._folder(topic.name, partition))
                self._write_about(topic)
        return agreed(self.topic(topic.name), topic)

    def topics(self) -> list[str]:
        """Return the names of all topics."""
        with _faults(self.path):
            if not self.path.exists():
                return []
            names = self.files.names(self.path)
            return sorted(name for name in names if (self.path / name / _ABOUT).exists())

    def topic(self, name: str) -> Topic:
        """Return what is known about a topic."""
        known = self._known.get(name)
        if known is None:
            path = self.path / check_name(name) / _ABOUT
            with _faults(path):
                if not path.exists():
                    raise faults.no_topic(name, self.topics())
                known = self._known[name] = _read_about(path, name)
        return known

    def _write_about(self, topic: Topic) -> None:
        text = json.dumps(
            {
                "partitions": topic.partitions,
                "attempts": topic.attempts,
                "about": dict(topic.about),
            }
        )
        line = f"{crc32(text.encode()):08x} {text}\n".encode()
        folder = self.path / topic.name
        beside = folder / f"{uuid.uuid4().hex}{UNFINISHED}"
        write_whole(self.files, beside, [line])
        # Of several that make the topic, the first one has made it.
        self.files.link(beside, folder / _ABOUT)
        self.files.remove(beside)
        self.files.sync_folder(folder)

    # ── writing ──

    def append(self, topic: str, partition: int, batch: pa.RecordBatch) -> int:
        """Write edges, all or none; return the offset after them."""
        with self.writer(topic, partition) as writer:
            writer.add(batch)
            return writer.commit()

    def writer(self, topic: str, partition: int) -> DirectoryWriter:
        """Return a writer of one segment; several may write to a partition at once."""
        check_partition(self.topic(topic), partition)
        return DirectoryWriter(self, self._folder(topic, partition))

    def take_over(self, topic: str, partition: int, name: str, rows: int) -> int:
        """Make visible what a writer handed over, here or in another process; once."""
        folder = self._folder(topic, partition)
        with DirectoryWriter(self, folder, name, rows) as writer:
            return writer.commit()

    def leave(self, topic: str, partition: int, name: str) -> None:
        """Remove what a writer handed over and nobody will take over."""
        self.files.remove(self._folder(topic, partition) / f"{name}{UNFINISHED}")

    # ── reading ──

    def read(
        self, topic: str, partition: int, offset: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Give what is there from an offset on, each batch with the offset after it."""
        check_partition(self.topic(topic), partition)
        folder = self._folder(topic, partition)
        with _faults(folder):
            begin, end = self._begin(folder), self._end(folder)
            at = begin if offset is None else offset
            if not begin <= at <= end:
                raise faults.gone(topic, partition, at, begin, end)
            try:
                for first in self._firsts_from(folder, at):
                    for after, batch in read_segment(self.files, _place(folder, first), at):
                        yield after, batch
                        at = after
            except FileNotFoundError:  # forgotten since the folder was listed
                raise faults.gone(topic, partition, at, self._begin(folder), end) from None

    def begin_offsets(self, topic: str) -> list[int]:
        """Return for each partition the offset of the first edge that is kept."""
        return [self._begin(folder) for folder in self._folders(topic)]

    def end_offsets(self, topic: str) -> list[int]:
        """Return for each partition the offset after the last edge."""
        return [self._end(folder) for folder in self._folders(topic)]

    # ── forgetting ──

    def retain(
        self, topic: str, *, newest: int | None = None, since: datetime | None = None
    ) -> list[int]:
        """Forget what is old; return for each partition where it begins afterwards."""
        for folder in self._folders(topic):
            with _faults(folder), self._lone(folder):
                self._retain(folder, newest, since)
        return self.begin_offsets(topic)

    def _retain(self, folder: Path, newest: int | None, since: datetime | None) -> None:
        base = self._begin(folder)
        segments = [self._extent(folder, first) for first in self._firsts_from(folder, base)]
        oldest = None if since is None else int(since.timestamp() * 1e6)
        room = sum(segment.size for segment in segments) if newest is not None else 0
        for segment in segments:
            too_old = oldest is not None and segment.written < oldest
            too_much = newest is not None and room > newest
            if not (too_old or too_much):
                break
            base, room = segment.end, room - segment.size
        if base > self._begin(folder):
            # From here on nobody reads what is before; its files may go at any time.
            data = base.to_bytes(8, "little")
            write_whole(self.files, folder / _BASE, [data, crc32(data).to_bytes(4, "little")])
            self.files.sync_folder(folder)
        for first in self._firsts(folder):
            if first < base:
                self.files.remove(_place(folder, first))
        for name in self.files.names(folder):
            if name.endswith(UNFINISHED) and _age(folder / name) > _ABANDONED:
                self.files.remove(folder / name)

    @contextlib.contextmanager
    def _lone(self, folder: Path) -> Iterator[None]:
        """Be the only one who forgets here."""
        handle = self.files.open(folder / "lock", write=True, create=True)
        try:
            while not self.files.lock(handle):
                time.sleep(0.01)
            yield
        finally:
            self.files.close(handle)

    # ── segments ──

    def _folder(self, topic: str, partition: int) -> Path:
        return self.path / topic / f"partition-{partition:03d}"

    def _folders(self, topic: str) -> list[Path]:
        count = self.topic(topic).partitions
        return [self._folder(topic, partition) for partition in range(count)]

    def _firsts(self, folder: Path) -> list[int]:
        found = map(_NAME.fullmatch, self.files.names(folder))
        return sorted(int(name[1]) for name in found if name)

    def _firsts_from(self, folder: Path, offset: int) -> Iterator[int]:
        """Give the first offsets of the segments from an offset on, which follow each other."""
        base = self._begin(folder)
        firsts = [first for first in self._firsts(folder) if first >= base]
        if not firsts:
            return
        if self.sync:
            # A writer may have been killed before it did that, and what is read must not go again.
            self.files.sync_folder(folder)
        if firsts[0] != base:
            if self._begin(folder) != base:  # all before was forgotten meanwhile
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise faults.missing_segment(folder, base, firsts[0])
        start = max(i for i, first in enumerate(firsts) if first <= max(offset, base))
        for i in range(start, len(firsts)):
            if i > start:
                end = self._extent(folder, firsts[i - 1]).end
                if firsts[i] != end:
                    raise faults.missing_segment(folder, end, firsts[i])
            yield firsts[i]

    def _extent(self, folder: Path, first: int) -> Extent:
        found = extent(self.files, _place(folder, first))
        if found.first != first:
            damage = Damaged(0, f"it begins with offset {found.first}")
            raise faults.damaged(found.path, damage)
        return found

    def _begin(self, folder: Path) -> int:
        path = folder / _BASE
        try:
            handle = self.files.open(path)
        except FileNotFoundError:
            return 0
        try:
            data = self.files.read(handle, 13, 0)
        finally:
            self.files.close(handle)
        if len(data) != 12 or crc32(data[:8]).to_bytes(4, "little") != data[8:]:
            raise faults.damaged(path, Damaged(0, "it does not fit its checksum"))
        return int.from_bytes(data[:8], "little")

    def _end(self, folder: Path) -> int:
        with _faults(folder):
            while True:
                base, firsts = self._begin(folder), self._firsts(folder)
                if not firsts or firsts[-1] < base:
                    return base
                with contextlib.suppress(FileNotFoundError):  # forgotten just now
                    return self._extent(folder, firsts[-1]).end


class DirectoryWriter:
    """One segment on its way into a partition."""

    __slots__ = ("_builder", "_folder", "_handed", "_log")

    def __init__(
        self, log: DirectoryLog, folder: Path, handed: str | None = None, rows: int = 0
    ) -> None:
        self._log = log
        self._folder = folder
        self._handed = handed is not None
        identity = uuid.uuid4() if handed is None else uuid.UUID(handed)
        with _faults(folder):
            path = folder / f"{identity.hex}{UNFINISHED}"
            if self._handed:
                log.files.close(log.files.open(path))  # it is there
            self._builder: SegmentBuilder | None = SegmentBuilder(log.files, path, identity.bytes)
            self._builder.rows = rows

    def add(self, batch: pa.RecordBatch) -> None:
        """Take edges; nobody sees them yet."""
        if self._builder is None:
            raise faults.over(self._folder)
        try:
            self._builder.add(check_batch(batch))
        except OSError as fault:
            self.abort()
            raise faults.unwritten(self._folder, fault) from None

    def commit(self) -> int:
        """Make all edges visible together; return the offset after them."""
        builder = self._builder
        if builder is None:
            raise faults.over(self._folder)
        try:
            end = self._log._end(self._folder)
            if builder.rows:
                if not self._handed:
                    builder.finish()
                end = self._link(builder, end)
        except OSError as fault:
            raise faults.unwritten(self._folder, fault) from None
        finally:
            self.abort()
        return end

    def hand_over(self) -> tuple[str, int]:
        """Finish the segment, leave it unseen, and return its name and rows for `take_over`.

        What nobody takes over is forgotten by `retain`, after a day.
        """
        builder, self._builder = self._builder, None
        if builder is None:
            raise faults.over(self._folder)
        try:
            builder.finish()
        except OSError as fault:
            self._log.files.remove(builder.path)
            raise faults.unwritten(self._folder, fault) from None
        finally:
            builder.close()
        return builder.path.name.removesuffix(UNFINISHED), builder.rows

    def _link(self, builder: SegmentBuilder, first: int) -> int:
        log, folder = self._log, self._folder
        while True:
            builder.place(first, sync=log.sync)
            if log.files.link(builder.path, _place(folder, first)):
                # The offset may have been taken, and forgotten, since it was found free.
                if log._begin(folder) <= first:
                    break
                log.files.remove(_place(folder, first))
            first = log._end(folder)
        if log.sync:
            log.files.sync_folder(folder)
        return first + builder.rows

    def abort(self) -> None:
        """Leave nothing behind; after `commit` this does nothing."""
        builder, self._builder = self._builder, None
        if builder is not None:
            builder.close()
            with contextlib.suppress(OSError):
                self._log.files.remove(builder.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._builder is not None:
            self.commit()
        self.abort()


def _place(folder: Path, first: int) -> Path:
    return folder / f"{first:018d}.seg"


def _age(path: Path) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return 0.0


def _read_about(path: Path, name: str) -> Topic:
    try:
        checksum, text = path.read_text(encoding="utf-8").rstrip("\n").split(" ", 1)
        if int(checksum, 16) != crc32(text.encode()):
            raise ValueError(checksum)
        found = json.loads(text)
        return Topic(name, found["partitions"], found["attempts"], found["about"])
    except (ValueError, KeyError):
        raise faults.damaged(path, Damaged(0, "it does not fit its checksum")) from None


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into a diagnostic about this path."""
    try:
        yield
    except OSError as fault:
        raise faults.unusable(path, fault) from None
