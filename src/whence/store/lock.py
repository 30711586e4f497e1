"""One writer: a lock on a file that also says which process has it."""

from __future__ import annotations

import os
from pathlib import Path

from whence.store import faults
from whence.store.files import Files
from whence.store.layout import LOCK_NAME


class Lock:
    """The right to write in a folder, until `release` or the end of the process."""

    __slots__ = ("_files", "_handle")

    def __init__(self, files: Files, folder: Path) -> None:
        handle = files.open(folder / LOCK_NAME, write=True, create=True)
        try:
            if not files.lock(handle):
                raise faults.locked(folder, _pid(files, handle))
            # Of one length always: it is written in place, also where the device is full.
            files.write(handle, (f"{os.getpid():<20}\n".encode(),), 0)
        except BaseException:
            files.close(handle)
            raise
        self._files = files
        self._handle = handle

    def release(self) -> None:
        """Let another process write; the file stays, or two could lock different files."""
        self._files.close(self._handle)


def _pid(files: Files, handle: int) -> int | None:
    """Return the process that wrote its number into the lock, if it has come to that."""
    text = files.read(handle, 32, 0).strip()
    return int(text) if text.isdigit() else None
