"""The operating system as the store sees it: the only module here that calls it.

A test gives another `Files` that records every call, or fails.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview

# What fsync does not do on macOS: ask the drive to empty its cache.
_FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", None)


class Files:
    """Reads and writes by handle and offset; nothing is durable before `sync`."""

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> int:
        flags = os.O_RDWR if write else os.O_RDONLY
        return os.open(path, flags | (os.O_CREAT if create else 0), 0o666)

    def close(self, handle: int) -> None:
        os.close(handle)

    def read(self, handle: int, size: int, offset: int) -> bytes:
        """Return up to `size` bytes; fewer only at the end of the file."""
        data = os.pread(handle, size, offset)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size:
            data = os.pread(handle, size - got, offset + got)
            if not data:
                break
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def size(self, handle: int) -> int:
        return os.fstat(handle).st_size

    def write(self, handle: int, parts: Sequence[Bytes], offset: int) -> None:
        """Write all of the parts, one after the other, from `offset` on."""
        done = os.pwritev(handle, parts, offset)
        if done == sum(map(len, parts)):
            return
        rest = memoryview(b"".join(parts))
        while done < len(rest):  # a full device takes a part first, then says so
            more = os.pwrite(handle, rest[done : done + (1 << 30)], offset + done)
            if more == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done += more

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        if _FULL_SYNC is not None:
            fcntl.fcntl(handle, _FULL_SYNC)
        else:
            os.fsync(handle)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def link(self, source: Path, target: Path) -> bool:
        """Give the file a second name, or return False when another file has that name."""
        try:
            os.link(source, target)
        except FileExistsError:
            return False
        return True

    def remove(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def make_folder(self, path: Path) -> None:
        """Create the folder; its parent is there."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)

    def sync_folder(self, path: Path) -> None:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as fault:
            if fault.errno != errno.EINVAL:  # a file system that has no such thing
                raise
        finally:
            os.close(handle)

    def names(self, folder: Path) -> list[str]:
        return os.listdir(folder)

    def lock(self, handle: int) -> bool:
        """Take the file for this process, or return False when another has it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
