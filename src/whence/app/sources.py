"""Where updates come from: a file that may grow, a directory of files, or a stream.

A source gives whole lines and where they stand, so that a reader who knows the place of its last
commit can go on from there. Waiting is done here, and only here.
"""

from __future__ import annotations

import os
import select
import stat
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.view.updates import MAX_LINE

READ: Final = 1 << 18
"""Bytes that are read at once: enough to be quick, few enough that commits come in between."""
PAUSE: Final = 0.05
"""Seconds between two looks at a file that may have grown."""


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a line in a source: the file, its bytes and lines so far, and that line's own."""

    file: str = ""
    offset: int = 0
    line: int = 0
    length: int = 0
    checksum: int = 0

    def as_json(self) -> dict[str, object]:
        """Return plain data that `Place(**…)` takes back."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines that follow each other, and the place before the first of them."""

    name: str
    place: Place
    lines: list[bytes]
    ends: bool = False
    """Whether a file is over after these lines, which ends a transaction."""

    def after(self, count: int) -> Place:
        """Return the place after so many of the lines."""
        read = self.lines[:count]
        if not read:
            return self.place
        return Place(
            self.place.file,
            self.place.offset + sum(map(len, read)),
            self.place.line + count,
            len(read[-1]),
            zlib.crc32(read[-1]),
        )


class Source(Protocol):
    """A place that lines come from."""

    def read(self, wait: float | None) -> Chunk | None:
        """Return lines, none of them when `wait` seconds went by, or None at the end."""
        ...


class Lines:
    """Bytes cut into whole lines; the rest waits for its end."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._rest = b""
        self._dropping = False

    def cut(self, data: bytes, name: str, *, last: bool = False) -> Chunk:
        """Return the lines that are whole with this data, all of it when it is the last.

        Of a line that is too long only the beginning is given, and its end is dropped.
        """
        data = self._rest + data
        if self._dropping:
            end = data.find(b"\n") + 1 or len(data)
            self._dropping = data[end - 1 : end] != b"\n"
            self.place = replace(self.place, offset=self.place.offset + end)
            data = data[end:]
        end = len(data) if last else data.rfind(b"\n") + 1
        if len(data) - end > MAX_LINE:
            end, self._dropping = len(data), True
        self._rest = data[end:]
        chunk = Chunk(name, self.place, _split(data[:end]))
        self.place = chunk.after(len(chunk.lines))
        return chunk


def _split(data: bytes) -> list[bytes]:
    """Cut after each line feed; a carriage return alone ends no line."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


class Stream:
    """Standard input, or a pipe: read once, and over when its writer closes it."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self._lines = Lines(Place())
        self._over = False

    def read(self, wait: float | None) -> Chunk | None:
        """Return what has come, or wait for it."""
        if self._over:
            return None
        if not select.select([self._descriptor], [], [], wait)[0]:
            return Chunk(self._name, self._lines.place, [])
        data = os.read(self._descriptor, READ)
        self._over = not data
        return self._lines.cut(data, self._name, last=self._over)


class GrowingFile:
    """A file from some place on; with `follow`, also what is written to it later.

    A file that is cut short or replaced by another of its name is read from its beginning.
    """

    def __init__(
        self,
        path: Path,
        *,
        follow: bool = False,
        start: Place | None = None,
        warn: Callable[[Diagnostic], None] = lambda _: None,
        name: str = "",
    ) -> None:
        self._path = path
        self._follow = follow
        self._warn = warn
        self._over = False
        self._file = _open(path)
        place = start or Place(name)
        if start is not None:
            _check_start(self._file, path, start)
        self._lines = Lines(place)
        os.lseek(self._file, place.offset, os.SEEK_SET)
        self._offset = place.offset

    def read(self, wait: float | None) -> Chunk | None:
        """Return what there is, or wait until there is more."""
        deadline = None if wait is None else time.monotonic() + wait
        while not self._over:
            data = os.read(self._file, READ)
            self._offset += len(data)
            chunk = self._lines.cut(data, str(self._path))
            if chunk.lines:
                return chunk
            if data:
                continue
            if not self._follow:
                return self._end()
            if self._is_another():
                data = os.read(self._file, READ)  # written after the last look
                if not data:
                    return self._reopen()
                self._offset += len(data)
                return self._lines.cut(data, str(self._path))
            left = PAUSE if deadline is None else min(PAUSE, deadline - time.monotonic())
            if left <= 0:
                return Chunk(str(self._path), self._lines.place, [])
            time.sleep(left)
        return None

    def finish(self) -> None:
        """Follow no further: what is there now is all."""
        self._follow = False

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _end(self) -> Chunk:
        self._over = True
        rest = self._lines.cut(b"", str(self._path), last=True)
        return Chunk(rest.name, rest.place, rest.lines, ends=True)

    def _is_another(self) -> bool:
        """Whether the name stands for another file by now, or this one was cut short."""
        here = os.fstat(self._file)
        try:
            there = os.stat(self._path)
        except OSError:  # moved away, and nothing new there yet
            return False
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino) or (
            here.st_size < self._offset
        )

    def _reopen(self) -> Chunk:
        cut_short = os.fstat(self._file).st_size < self._offset
        what = "was cut short" if cut_short else "was replaced"
        message = f"`{self._path}` {what} and is read from its beginning"
        self._warn(Diagnostic("W0690", message, severity="warning"))
        rest = self._lines.cut(b"", str(self._path), last=not cut_short)
        os.close(self._file)
        self._file = _open(self._path)
        self._offset = 0
        self._lines = Lines(Place(self._lines.place.file))
        return Chunk(rest.name, rest.place, rest.lines, ends=True)


class Directory:
    """The files of a directory in the order of their names, each once.

    Names that begin with `.` or end in `~` or `.tmp` are left alone: a writer that wants its file
    read whole gives it such a name first. With `follow`, files that come later are read too.
    """

    def __init__(
        self,
        path: Path,
        *,
        follow: bool = False,
        start: Place | None = None,
        warn: Callable[[Diagnostic], None] = lambda _: None,
    ) -> None:
        self._path = path
        self._follow = follow
        self._warn = warn
        self._late: set[str] = set()
        self._done = ""
        self._current: GrowingFile | None = None
        if start is not None and start.file:
            self._done = start.file
            if (path / start.file).exists():  # else somebody took it away after it was read
                self._current = GrowingFile(path / start.file, follow=True, start=start, warn=warn)
        self._seen = set(self._names())

    def read(self, wait: float | None) -> Chunk | None:
        """Return lines of the current file, or go on to the next one."""
        deadline = None if wait is None else time.monotonic() + wait
        while True:
            following = self._next()
            if self._current is None:
                if following:
                    self._open(following)
                    continue
                if not self._follow:
                    return None
            else:
                if following or not self._follow:
                    self._current.finish()
                chunk = self._current.read(0.0)
                if chunk is None:
                    self._current.close()
                    self._current = None
                    continue
                if chunk.lines or chunk.ends:
                    return chunk
            left = PAUSE if deadline is None else min(PAUSE, deadline - time.monotonic())
            if left <= 0:
                return Chunk(str(self._path), Place(self._done), [])
            time.sleep(left)

    def _open(self, name: str) -> None:
        self._done = name
        self._current = GrowingFile(self._path / name, follow=True, warn=self._warn, name=name)

    def _names(self) -> list[str]:
        try:
            found = sorted(entry.name for entry in os.scandir(self._path) if entry.is_file())
        except OSError as error:
            raise _unreadable(self._path, error) from None
        return [n for n in found if not n.startswith(".") and not n.endswith(("~", ".tmp"))]

    def _next(self) -> str:
        names = self._names()
        for name in names:
            if name < self._done and name not in self._seen and name not in self._late:
                self._late.add(name)
                message = f"`{self._path / name}` came too late: `{self._done}` is read already"
                hint = "give later files later names"
                self._warn(Diagnostic("W0690", message, hint=hint, severity="warning"))
        self._seen.update(names)
        return next((name for name in names if name > self._done), "")


def open_source(
    path: Path,
    *,
    follow: bool,
    start: Place | None,
    stdin: Callable[[], int],
    warn: Callable[[Diagnostic], None],
) -> Source:
    """Return the source that a path stands for; `-` is standard input."""
    if str(path) == "-":
        return Stream(stdin(), "<stdin>")
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        return Directory(path, follow=follow, start=start, warn=warn)
    if not stat.S_ISREG(mode):
        return Stream(_open(path), str(path))
    return GrowingFile(path, follow=follow, start=start, warn=warn)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> DataError:
    why = (error.strerror or str(error)).lower()
    return DataError(Diagnostic("W0691", f"cannot read updates from `{path}`: {why}"))


def _check_start(file: int, path: Path, start: Place) -> None:
    """Refuse to go on in a file that does not hold the line after which to go on."""
    line = os.pread(file, start.length, start.offset - start.length)
    if len(line) != start.length or zlib.crc32(line) != start.checksum:
        raise UsageError(
            Diagnostic(
                "W0814",
                f"`{path}` is not the file that was read before: "
                f"line {start.line:,} does not end at byte {start.offset:,}",
                hint="`--from-start` reads it from its beginning",
            )
        )
