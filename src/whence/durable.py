"""The journal of a database that is kept in a folder, and the reader of one that another writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from whence.committed import Committed
from whence.derived import Settings
from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.facts.schema import Column
from whence.journal import Record
from whence.rows import Row, table_of, tuples_of
from whence.store import Reader, Recovered, Store
from whence.store.codec import decode, encode
from whence.view.base import Change, Changes
from whence.view.windows import UNDATED

FLOOR: Final = 1 << 20
"""A log shorter than this is not worth a snapshot."""


_READ: Final = Recovered(None, 0, (), afresh=False)


class StoreJournal:
    """Keeps records in a store, and a snapshot whenever the log has outgrown the last one.

    So the folder is at most about twice the size of what it holds, and writing snapshots costs no
    more than writing the log.
    """

    def __init__(self, path: Path | str, *, sync: bool = True) -> None:
        self._store = Store.open(path, sync=sync)
        snapshot = self._store.recovered.snapshot
        self._due = max(FLOOR, 0 if snapshot is None else len(snapshot))
        self._interrupt: BaseException | None = None

    def recovered(self) -> tuple[Record | None, Iterator[Record]]:
        """Return the state of the last snapshot, and the records after it."""
        recovered, self._store.recovered = self._store.recovered, _READ  # and let go of it
        return _records(recovered)

    def record(self, entry: Record) -> None:
        """Keep the entry; it is durable when this returns."""
        before = self._store.commit
        try:
            self._store.append(encode(entry.header, entry.tables))
        except BaseException as fault:
            if self._store.commit == before:
                raise
            self._interrupt = fault  # it came when the entry was in: first let the entry count

    def settle(self, state: Callable[[], Record]) -> None:
        """Make a snapshot if the log has outgrown the last one."""
        if self._store.log_size > self._due:
            try:
                self.checkpoint(state)
            except DataError:  # the disk may be full: the commit stands, and the log has it
                self._due = 2 * self._store.log_size
        if self._interrupt is not None:
            fault, self._interrupt = self._interrupt, None
            raise fault

    def checkpoint(self, state: Callable[[], Record]) -> None:
        """Make a snapshot now; the log begins anew."""
        now = state()
        body = encode(now.header, now.tables)
        self._store.checkpoint(body)
        self._due = max(FLOOR, len(body))

    def close(self) -> None:
        """Let another process write."""
        self._store.close()


class Follower:
    """Keeps a database at a commit of a folder that another process writes."""

    def __init__(self, path: Path | str) -> None:
        self._reader = Reader.open(path)
        self._lock = threading.RLock()

    def begin(self, committed: Committed) -> None:
        """Bring the database to what was committed when the folder was opened."""
        recovered, self._reader.recovered = self._reader.recovered, _READ
        committed.begin_with(*_records(recovered))

    def refresh(self, committed: Committed) -> int:
        """Bring the database to what is committed now; return by how many commits it went on."""
        with self._lock:
            before = self._reader.commit
            recovered = self._reader.refresh()
            state, entries = _records(recovered)
            try:
                if recovered.afresh:
                    _begin_again(committed, state, entries)
                else:
                    for entry in entries:
                        # Programs are told to nobody and end the view; commits are told again.
                        if committed.publisher.relations and entry.header["kind"] == "commit":
                            committed.make_view()
                        committed.replay(entry)
            except BaseException:
                self._reader.restart()
                raise
            return self._reader.commit - before

    def close(self) -> None:
        """Let go of the files; the database stays as it is."""
        self._reader.close()


def _begin_again(committed: Committed, state: Record | None, entries: Iterator[Record]) -> None:
    """Take a newer snapshot; who subscribed is told of the difference in one."""
    watched = sorted(committed.publisher.relations)
    before = {name: tuples_of(committed.table(name).to_arrow()) for name in watched}
    committed.begin_with(state, entries)
    if not watched:
        return
    committed.make_view()  # so that they are told of the next commits, too
    changes = {}
    for name in watched:
        old, new = set(before[name]), set(tuples_of(committed.table(name).to_arrow()))
        if old != new:
            changes[name] = _change(name, committed.columns(name), new - old, old - new)
    committed.publisher.publish(Changes(changes))


def _change(relation: str, columns: Sequence[Column], came: set[Row], went: set[Row]) -> Change:
    return Change(
        relation,
        len(came),
        len(went),
        lambda: table_of(columns, list(came)),
        lambda: table_of(columns, list(went)),
    )


def _records(recovered: Recovered) -> tuple[Record | None, Iterator[Record]]:
    state = None if recovered.snapshot is None else Record(*decode(recovered.snapshot))
    return state, (Record(*decode(body)) for _, body in recovered.batches)


def open_folder(
    path: Path | str,
    settings: Settings,
    clock: Callable[[], float],
    *,
    read_only: bool,
    sync: bool,
) -> tuple[Committed, StoreJournal | Follower]:
    """Return the state that a folder holds, and what keeps it and the folder the same."""
    if not read_only:
        journal = StoreJournal(path, sync=sync)
        try:
            return Committed(settings, clock, journal), journal
        except BaseException:
            journal.close()
            raise
    follower = Follower(path)
    try:
        # Time stands still between commits: what expires is for the writer to say.
        committed = Committed(settings, lambda: UNDATED, None)
        follower.begin(committed)
        return committed, follower
    except BaseException:
        follower.close()
        raise


def not_writable() -> UsageError:
    """Return what a database says that is only read."""
    return UsageError(
        Diagnostic(
            "W0675",
            "the database is open for reading only",
            hint="leave `read_only` out to write to it, in one process at a time",
        )
    )
