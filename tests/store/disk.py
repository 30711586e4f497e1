"""A record of what a store did to its files, and the disks that a crash could leave of it.

`Recording` does everything for real and notes it. `Disk` replays the notes: what was synced is
there, each write, truncation, creation, rename and removal since may be there, wholly or in part,
or not, in any combination.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from whence.store.files import Bytes, Files


class Unsynced(Files):
    """The real files, but nothing waits for the device."""

    def sync(self, handle: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


@dataclass(frozen=True)
class Write:
    file: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    file: int
    size: int


@dataclass(frozen=True)
class Sync:
    file: int


@dataclass(frozen=True)
class Entry:
    """Names that change together: a name gets a file, or none."""

    names: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class SyncFolder:
    pass


Operation = Write | Truncate | Sync | Entry | SyncFolder


class Killed(BaseException):
    """The process is no more: from here on nothing it does has an effect."""


class Recording(Unsynced):
    """Notes every change of the files in one folder; fails or dies when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[Operation] = []
        self.files: dict[str, int] = {}
        self.start: list[bytes] = []  # the files that were there before
        self._handles: dict[int, int] = {}
        self._made = 0
        self.room: int | None = None  # how many more bytes the device takes
        self.fail_sync: int | None = None  # the error that the next sync of a file gives
        self.life: int | None = None  # how many more changes before the process is killed
        if folder.exists():
            for path in sorted(folder.iterdir()):
                self.files[path.name] = len(self.start)
                self.start.append(path.read_bytes())
            self._made = len(self.start)
        self.start_names = dict(self.files)

    def live_on(self) -> None:
        if self.life is not None:
            if self.life == 0:
                raise Killed
            self.life -= 1

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> int:
        self.live_on()
        handle = super().open(path, write=write, create=create)
        if path.name not in self.files:
            self.files[path.name] = self._made
            self._made += 1
            self.notes.append(Entry(((path.name, self.files[path.name]),)))
        self._handles[handle] = self.files[path.name]
        return handle

    def write(self, handle: int, parts: Sequence[Bytes], offset: int) -> None:
        self.live_on()
        data = b"".join(parts)
        if self.room is not None:
            self.room, taken = max(0, self.room - len(data)), data[: self.room]
            if len(taken) < len(data):
                super().write(handle, (taken,), offset)
                self.notes.append(Write(self._handles[handle], offset, taken))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(handle, parts, offset)
        self.notes.append(Write(self._handles[handle], offset, data))

    def truncate(self, handle: int, size: int) -> None:
        self.live_on()
        super().truncate(handle, size)
        self.notes.append(Truncate(self._handles[handle], size))

    def sync(self, handle: int) -> None:
        self.live_on()
        if self.fail_sync is not None:
            code, self.fail_sync = self.fail_sync, None
            raise OSError(code, os.strerror(code))
        self.notes.append(Sync(self._handles[handle]))

    def rename(self, source: Path, target: Path) -> None:
        self.live_on()
        super().rename(source, target)
        file = self.files.pop(source.name)
        self.files[target.name] = file
        self.notes.append(Entry(((source.name, None), (target.name, file))))

    def remove(self, path: Path) -> None:
        self.live_on()
        super().remove(path)
        if self.files.pop(path.name, None) is not None:
            self.notes.append(Entry(((path.name, None),)))

    def sync_folder(self, path: Path) -> None:
        self.live_on()
        if path == self.folder:
            self.notes.append(SyncFolder())


@dataclass
class Disk:
    """What is durable, and what may have reached the device since."""

    files: dict[int, bytes] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    pending: dict[int, list[Write | Truncate]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def before(cls, recording: Recording) -> Disk:
        return cls(dict(enumerate(recording.start)), dict(recording.start_names))

    def do(self, note: Operation) -> None:
        match note:
            case Write() | Truncate():
                self.pending.setdefault(note.file, []).append(note)
            case Sync():
                content = self.files.get(note.file, b"")
                for each in self.pending.pop(note.file, []):
                    content = apply(content, each)
                self.files[note.file] = content
            case Entry():
                self.entries.append(note)
            case SyncFolder():
                for entry in self.entries:
                    enter(self.names, entry)
                self.entries.clear()

    def kept(self) -> dict[str, bytes]:
        """Return the files as a killed process leaves them: all of it."""
        return self._state(lambda content, each: apply(content, each), lambda entry: True)

    def torn(self, random: Random) -> dict[str, bytes]:
        """Return the files as a power failure could leave them."""
        share = random.choice((0.0, 0.2, 0.5, 0.8, 1.0))

        def some(content: bytes, each: Write | Truncate) -> bytes:
            if random.random() >= share:
                return content
            if isinstance(each, Write) and random.random() < 0.5:
                return tear(content, each, random)
            return apply(content, each)

        return self._state(some, lambda entry: random.random() < share)

    def _state(self, change: object, there: object) -> dict[str, bytes]:
        names = dict(self.names)
        for entry in self.entries:
            if there(entry):  # type: ignore[operator]
                enter(names, entry)
        found: dict[str, bytes] = {}
        for name, file in names.items():
            content = self.files.get(file, b"")
            for each in self.pending.get(file, []):
                content = change(content, each)  # type: ignore[operator]
            found[name] = content
        return found


def enter(names: dict[str, int], entry: Entry) -> None:
    for name, file in entry.names:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def apply(content: bytes, each: Write | Truncate) -> bytes:
    if isinstance(each, Truncate):
        return content[: each.size].ljust(each.size, b"\0")
    before = content[: each.offset].ljust(each.offset, b"\0")
    return before + each.data + content[each.offset + len(each.data) :]


def tear(content: bytes, each: Write, random: Random) -> bytes:
    """Return the content after a write of which a part arrived: a start, or some sectors."""
    cut = random.randint(0, len(each.data))
    whole = apply(content, each)
    if random.random() < 0.5:
        start = apply(content, Write(each.file, each.offset, each.data[:cut]))
        # The length may be that of the whole write, with nothing in the rest.
        grown = start.ljust(len(whole), b"\0")
        return start if random.random() < 0.5 else grown
    old = content.ljust(len(whole), b"\0")
    parts = []
    for sector in range(0, len(whole), 512):
        source = whole if random.random() < 0.5 else old
        parts.append(source[sector : sector + 512])
    return b"".join(parts)


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold exactly these files."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
