"""`Reader`: the committed state of a store, read by any process while another one writes.

It takes no lock. It believes the mark, which is written after a batch is durable, so it never sees
a batch that may still be lost; files that a checkpoint removes meanwhile are looked for again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from whence.diagnostics import WhenceError
from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.framing import FORMAT
from whence.store.layout import listing, log_name
from whence.store.log import Cursor
from whence.store.mark import Marked, read_mark_file
from whence.store.migrate import version_of
from whence.store.recover import Recovered, needed_segments
from whence.store.snapshot import read_snapshot

_TRIES = 50
_PATIENCE = 3


class Reader:
    """A folder open for reading, at one commit after the other."""

    def __init__(self, path: Path | str, *, files: Files | None = None) -> None:
        self.path = Path(path)
        self._files = files or Files()
        self._cursor: Cursor | None = None
        self._closed = False
        self._stated = 0
        self.commit: int = 0
        with faults.os_faults(self.path):
            self._check_version()
            self._store = self._mark()[0]
        self.recovered: Recovered = self._patiently(self._from_snapshot)

    @classmethod
    def open(cls, path: Path | str, *, files: Files | None = None) -> Reader:
        """Open the folder and read what is committed now."""
        return cls(path, files=files)

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def refresh(self) -> Recovered:
        """Return the batches since the last time, or (`afresh`) a newer snapshot and the rest."""
        if self._closed:
            raise faults.stale(self.path, "it is closed", "")
        return self._patiently(self._refresh)

    def restart(self) -> None:
        """Read everything again at the next `refresh`, since what was read did not get far."""
        self._drop()

    def close(self) -> None:
        """Let go of the files."""
        self._closed = True
        self._drop()

    def _patiently(self, read: Callable[[Marked], Recovered]) -> Recovered:
        """Read, again if the writer's checkpoint took a file away meanwhile."""
        before: Marked | None = None
        with faults.os_faults(self.path):
            for attempt in range(_TRIES):
                store, marked = self._mark()
                if store != self._store:
                    why = "another database was put in its place"
                    raise faults.stale(self.path, why, "open it again")
                try:
                    recovered = read(marked)
                except (FileNotFoundError, WhenceError):
                    self._drop()
                    still = attempt >= _PATIENCE and before == marked  # then it is as it looks
                    if still or attempt + 1 == _TRIES:
                        raise
                    before = marked
                    time.sleep(0.001 * attempt)
                else:
                    self._stated = marked.commit
                    return recovered
        raise AssertionError("the last attempt returns or raises")

    def _mark(self) -> tuple[bytes, Marked]:
        header, marked = read_mark_file(self._files, self.path)
        return header.store, marked

    def _check_version(self) -> None:
        if not self.path.is_dir():
            if self.path.exists():
                raise faults.not_a_store(self.path, "it is a file")
            raise faults.absent(self.path)
        for attempt in range(_PATIENCE + 1):
            try:
                version = version_of(self._files, self.path, listing(self._files, self.path))
                break
            except WhenceError:  # between the look for the mark and the look at the log
                if attempt == _PATIENCE:
                    raise
        if version is None:
            raise faults.absent(self.path)
        if version > FORMAT:
            raise faults.newer(self.path, version, FORMAT)
        if version < FORMAT:
            hint = "open it for writing once, which brings it to the current format"
            raise faults.stale(self.path, f"it has the old format {version}", hint)

    def _drop(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _refresh(self, marked: Marked) -> Recovered:
        if marked.commit < self._stated:
            why = f"it is at commit {marked.commit}, after {self._stated} had been read"
            raise faults.stale(self.path, why, "it was repaired or replaced; open it again")
        batches = self._read_on(marked.commit)
        if batches is None:
            return self._from_snapshot(marked)
        return Recovered(None, 0, tuple(batches), afresh=False)

    def _from_snapshot(self, marked: Marked) -> Recovered:
        """Read the newest snapshot and what follows it."""
        self._drop()
        files, folder = self._files, self.path
        listed = listing(files, folder)
        base = max(listed.snapshots, default=0)
        snapshot = None
        if listed.snapshots:
            snapshot = read_snapshot(files, folder / listed.snapshots[base], self._store, base)
        first = needed_segments(folder, listed, base)[0]
        self._cursor = Cursor(files, folder / log_name(first), self._store, first)
        self._skip(self._cursor, base)
        self.commit = base
        batches = self._read_on(marked.commit)
        if batches is None:
            raise faults.missing(folder / log_name(self.commit + 1), "a batch in it is committed")
        return Recovered(snapshot, base, tuple(batches))

    def _skip(self, cursor: Cursor, base: int) -> None:
        while cursor.number <= base:
            if self._next(cursor, base) is None:
                raise faults.missing(cursor.path, f"the log ends before batch {base}")

    def _read_on(self, upto: int) -> list[tuple[int, bytes]] | None:
        """Return the batches after `commit`, or None where a checkpoint has taken them away."""
        batches: list[tuple[int, bytes]] = []
        cursor = self._cursor
        if cursor is None:
            return None
        cursor.forget()
        commit = self.commit
        while commit < upto:
            found = self._next(cursor, upto)
            if found is not None:
                batches.append(found)
                commit = found[0]
                continue
            path = self.path / log_name(commit + 1)
            if path == cursor.path or not path.exists():  # the log was cut, or has gone
                return None
            following = Cursor(self._files, path, self._store, commit + 1)
            self._drop()
            self._cursor = cursor = following
        self.commit = commit
        return batches

    def _next(self, cursor: Cursor, upto: int) -> tuple[int, bytes] | None:
        try:
            record = cursor.next()
        except Damaged as damage:
            raise faults.damaged_log(cursor.path, damage, cursor.number, upto) from None
        return None if record is None else (record.number, record.body)
