"""Files that appear all together or not at all.

Each file is written beside its target under another name; `commit` renames them. Whatever goes
wrong before, an interrupt included, leaves the targets as they were and nothing beside them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from whence.diagnostics import NOWHERE, DataError, Diagnostic, Span


@dataclass(slots=True)
class Outputs:
    """The files of one run, on their way."""

    _staged: dict[Path, Path] = field(default_factory=dict)
    _made: list[Path] = field(default_factory=list)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for staged in self._staged.values():
            staged.unlink(missing_ok=True)
        self._staged.clear()
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._made.clear()

    @contextlib.contextmanager
    def open(self, path: Path, *, span: Span = NOWHERE) -> Iterator[BinaryIO]:
        """Give a stream to write the file to; it is complete when the block ends."""
        # A link to a pipe, as /dev/stdout may be, leads to no path.
        special = path.exists() and not path.is_file() and not path.is_dir()
        target = path if special else Path(os.path.realpath(path))
        if target in self._staged:
            raise _unwritable(path, "two outputs have this name", span)
        try:
            if target.is_dir():
                raise IsADirectoryError(f"`{path}` is a directory")
            self._make_folder(target.parent)
            # A device or a pipe cannot be renamed to, so its bytes wait in the temporary folder.
            folder = None if special else target.parent
            handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=folder)
            staged = self._staged[target] = Path(name)
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if not special:
                os.chmod(staged, _mode(target))
        except OSError as fault:
            raise _unwritable(path, fault.strerror or str(fault), span) from None

    def commit(self) -> None:
        """Put every file in its place; an interrupt waits until all are."""
        with _uninterrupted():
            for target, staged in self._staged.items():
                try:
                    if target.exists() and not target.is_file():
                        with staged.open("rb") as source, target.open("wb") as device:
                            shutil.copyfileobj(source, device)
                    else:
                        staged.replace(target)
                except OSError as fault:
                    raise _unwritable(target, fault.strerror or str(fault), NOWHERE) from None
            for folder in {target.parent for target in self._staged}:
                _sync_folder(folder)
            self._made.clear()

    def _make_folder(self, folder: Path) -> None:
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            self._made.append(each)


def _mode(target: Path) -> int:
    """Return the permissions of the file to be replaced, or those a new file would get."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _unwritable(path: Path, reason: str, span: Span) -> DataError:
    message = f"cannot write `{path}`: {reason[:1].lower() + reason[1:]}"
    return DataError(Diagnostic("W0610", message, span))


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold an interrupt or a termination back until the block ends.

    A signal mask would not do: with other threads about, one of them takes the signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if came:
        signal.raise_signal(came[0])
