"""Room for arrays: in memory up to a limit, in files from there on.

A file that backs an array has no name: it goes with the process, however that ends. Its pages
are the system's to keep or to write, so what is too large for memory becomes slow, not fatal.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from whence.diagnostics import Diagnostic, LimitError

Array = np.ndarray[Any, Any]


class Arena:
    """Gives arrays and counts their bytes."""

    def __init__(self, memory: int | None = None, folder: Path | str | None = None) -> None:
        self.memory = memory
        self.folder = Path(folder) if folder is not None else Path(tempfile.gettempdir())
        self.held = 0
        """Bytes of arrays in memory."""
        self.spilled = 0
        """Bytes of arrays in files."""
        self._sizes: dict[int, tuple[int, bool]] = {}

    def empty(self, length: int, dtype: Any) -> Array:
        """Return an array that holds anything; one from a file holds zeros."""
        size = max(1, length * np.dtype(dtype).itemsize)
        on_disk = self.memory is not None and self.held + size > self.memory
        found = self._mapped(length, size, dtype) if on_disk else np.empty(length, dtype)
        if on_disk:
            self.spilled += size
        else:
            self.held += size
        self._sizes[found.ctypes.data] = (size, on_disk)
        return found

    def full(self, length: int, value: int, dtype: Any) -> Array:
        """Return an array of one value."""
        found = self.empty(length, dtype)
        found[:] = value
        return found

    def free(self, *arrays: Array) -> None:
        """Count arrays no longer; whoever holds one must let it go."""
        for array in arrays:
            size, on_disk = self._sizes.pop(array.ctypes.data, (0, False))
            if on_disk:
                self.spilled -= size
            else:
                self.held -= size

    def grown(self, array: Array, used: int, length: int) -> Array:
        """Return a longer array that begins with what the other holds."""
        # The limit is on what stays: for a moment there are both.
        self.free(array)
        found = self.empty(length, array.dtype)
        found[:used] = array[:used]
        return found

    def _mapped(self, length: int, size: int, dtype: Any) -> Array:
        try:
            with tempfile.TemporaryFile(dir=self.folder, prefix="whence-reduce-") as file:
                # A hole that cannot be filled later would end the process.
                os.posix_fallocate(file.fileno(), 0, size)
                mapped = np.memmap(file, dtype, "r+", shape=(length,)) if length else None
        except OSError as error:
            told = f"no room in `{self.folder}` for {size:,} bytes of lineage: {error.strerror}"
            hint = "give another folder for temporary files, or more memory"
            raise LimitError(Diagnostic("W1120", told, hint=hint)) from error
        return np.empty(0, dtype) if mapped is None else mapped.view(np.ndarray)
