"""The bytes of a facts file, whatever it is: a file, a pipe, standard input, gzip or not."""

from __future__ import annotations

import gzip
import mmap
import os
import stat
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from whence.diagnostics import NOWHERE, DataError, Diagnostic, Span

# Past this a file is mapped: reading it would hold it in memory twice.
_MAP_ABOVE = 1 << 28


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes and the name that errors give them."""

    name: str
    data: bytes | mmap.mmap


def read_content(path: Path, *, span: Span = NOWHERE) -> Content:
    """Return the bytes of a file, unpacked when they are gzip."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            data: bytes | mmap.mmap
            if stat.S_ISREG(info.st_mode) and info.st_size > _MAP_ABOVE:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            else:
                data = file.read()
            if data[:2] == b"\x1f\x8b":
                data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as fault:
        raise unreadable(path, fault, span=span) from None
    return Content(name, data)


def read_stdin() -> Content:
    """Return all of standard input."""
    return Content("<stdin>", sys.stdin.buffer.read())


def unreadable(path: Path, fault: Exception, *, span: Span = NOWHERE) -> DataError:
    """Return the error for a file that cannot be read, with what the user can do about it."""
    name = os.fspath(path)
    hint = ""
    if isinstance(fault, FileNotFoundError):
        message = f"there is no facts file `{name}`"
        parent = path.parent
        if parent.is_dir():
            hint = f"`{path.name}` was looked for in `{parent}`; `-F DIR` names another directory"
        else:
            hint = f"there is no directory `{parent}`; `-F DIR` names the one with the facts"
    elif isinstance(fault, IsADirectoryError):
        message = f"`{name}` is a directory, not a facts file"
    elif isinstance(fault, PermissionError):
        message = f"no permission to read `{name}`"
    elif isinstance(fault, OSError) and fault.strerror:
        message = f"cannot read `{name}`: {fault.strerror.lower()}"
    else:
        message = f"cannot read `{name}`: it is broken gzip"
    return DataError(Diagnostic("W0601", message, span, hint=hint))


def broken(name: str, form: str, fault: Exception, span: Span) -> DataError:
    """Return the error for a file that is not of the form its name or directive says."""
    reason = (str(fault).splitlines() or [""])[0].rstrip(".")
    return DataError(
        Diagnostic("W0607", f"`{name}` is not a readable {form} file", span, notes=(reason,))
    )
