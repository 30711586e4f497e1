"""What can be wrong with stored state, in words: one function for each diagnostic.

`Damaged` is internal: a place in a file where a whole record should be and is not. Who meets it
knows whether that is a torn write or damage.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from whence.diagnostics import DataError, Diagnostic, UsageError, WhenceError

REPAIR = "restore a copy, or save what is whole with `whence.store.repair(path, new_path)`"
# The device has no room, or this file or user may have no more of it: undone, the store goes on.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Damaged(Exception):
    """No whole record stands at this offset."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"{why} at byte {offset}")
        self.offset = offset
        self.why = why


def reason(fault: OSError) -> str:
    """Return what the operating system says, to be read within a line."""
    text = fault.strerror or str(fault)
    return text[:1].lower() + text[1:]


def not_a_store(path: Path, why: str) -> UsageError:
    hint = "give the path of a new or empty folder, or of a database"
    return UsageError(Diagnostic("W0660", f"`{path}` holds no database: {why}", hint=hint))


def unusable(path: Path, fault: OSError) -> DataError:
    return DataError(Diagnostic("W0661", f"cannot use `{path}`: {reason(fault)}"))


def locked(path: Path, pid: int | None) -> UsageError:
    who = f"process {pid}" if pid is not None else "another process"
    return UsageError(
        Diagnostic(
            "W0662",
            f"`{path}` is open for writing in {who}",
            hint="one process writes at a time; open it read-only, or end the other, "
            "children that it forked included",
        )
    )


def newer(path: Path, version: int, known: int) -> DataError:
    return DataError(
        Diagnostic(
            "W0663",
            f"`{path}` has format {version}, and this version of Whence knows up to {known}",
            hint="use the version that wrote it, or a newer one",
        )
    )


def is_newer(error: WhenceError) -> bool:
    """Whether a file is of a newer format, which is no damage."""
    return error.diagnostics[0].code == "W0663"


def damaged_log(path: Path, damage: Damaged, number: int, committed: int) -> DataError:
    notes = (f"batch {number} should stand there; {committed} are committed",)
    message = f"`{path}` is damaged at byte {damage.offset}: {damage.why}"
    return DataError(Diagnostic("W0664", message, notes=notes, hint=REPAIR))


def damaged_snapshot(path: Path, damage: Damaged) -> DataError:
    message = f"`{path}` is damaged at byte {damage.offset}: {damage.why}"
    return DataError(Diagnostic("W0665", message, hint=REPAIR))


def missing(path: Path, why: str) -> DataError:
    return DataError(Diagnostic("W0666", f"`{path}` is missing: {why}", hint=REPAIR))


def damaged_mark(path: Path, damage: Damaged) -> DataError:
    message = f"`{path}` is damaged at byte {damage.offset}: {damage.why}"
    return DataError(Diagnostic("W0667", message, hint=REPAIR))


def unwritten(path: Path, what: str, fault: OSError, undone: bool) -> DataError:
    kept = (
        "nothing of it is kept" if undone else "it may be there when the database is opened again"
    )
    return DataError(
        Diagnostic(
            "W0668",
            f"{what} was not written to `{path}`: {reason(fault)}",
            notes=(f"{kept}; what was committed before is untouched",),
            hint="make room and try again" if fault.errno in FULL else "",
        )
    )


def refusing(path: Path, why: str) -> DataError:
    return DataError(
        Diagnostic(
            "W0669",
            f"`{path}` takes no more batches: {why}",
            hint="mend the device, then open the database again; committed batches are safe",
        )
    )


def not_open(path: Path, why: str) -> UsageError:
    return UsageError(Diagnostic("W0670", f"`{path}` cannot be written to here: {why}"))


def absent(path: Path) -> DataError:
    return DataError(
        Diagnostic(
            "W0671",
            f"there is no database at `{path}`",
            hint="open it for writing first, which creates it",
        )
    )


def stale(path: Path, why: str, hint: str) -> DataError:
    return DataError(Diagnostic("W0672", f"`{path}` cannot be read on: {why}", hint=hint))


@contextlib.contextmanager
def os_faults(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into a diagnostic about this path."""
    try:
        yield
    except WhenceError:
        raise
    except OSError as fault:
        raise unusable(Path(fault.filename) if fault.filename else path, fault) from None
