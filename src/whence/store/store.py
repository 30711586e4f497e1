"""`Store`: numbered batches and snapshots of bytes in a folder, given back whole or not at all."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from whence.store import faults
from whence.store.files import Bytes, Files
from whence.store.framing import FILE_HEADER, LOG, SNAPSHOT, FileHeader
from whence.store.layout import listing, log_name, make_folder, remove_all
from whence.store.lock import Lock
from whence.store.log import Segment, create_segment
from whence.store.mark import Mark
from whence.store.migrate import bring_up, new_header, refuse_foreign
from whence.store.recover import Recovered, needed_segments, recover
from whence.store.snapshot import write_snapshot

CLOSED = "it is closed"


class Store:
    """A folder open for writing, by one process at a time.

    A batch is durable when `append` returns. With `sync=False` it only outlives the process: after
    a power failure the last batches may be missing, and opening then says so. If `append` raises,
    `commit` says whether the batch is in; it is not, unless an interrupt came after its commit.
    """

    def __init__(self, path: Path | str, *, sync: bool = True, files: Files | None = None) -> None:
        self.path = Path(path)
        self._files = files = files or Files()
        self._sync = sync
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._refusal = ""
        with faults.os_faults(self.path), contextlib.ExitStack() as undo:
            make_folder(files, self.path)
            refuse_foreign(self.path, listing(files, self.path))
            writer = Lock(files, self.path)
            undo.callback(writer.release)
            bring_up(files, self.path)
            mark = Mark(files, self.path)
            undo.callback(mark.close)
            listed = listing(files, self.path)
            store = mark.header.store
            found = recover(files, self.path, listed, store, mark.now)
            log = Segment(files, self.path, found.segment, found.seed, found.end)
            undo.callback(log.close)
            if found.torn:
                log.cut()
            # What is visible may not be durable yet, if the last writer was killed before a sync.
            log.rewrite(found.unmarked)
            log.sync()
            files.sync_folder(self.path)
            self.recovered: Recovered = found.recovered
            self._base = self.recovered.snapshot_commit
            mark.write_synced(found.commit, self._base)
            self.commit: int = found.commit
            self._clean()
            undo.pop_all()
            self._writer, self._mark, self._log = writer, mark, log

    @classmethod
    def open(cls, path: Path | str, *, sync: bool = True, files: Files | None = None) -> Store:
        """Open the folder for writing, or create it; recover what it holds."""
        return cls(path, sync=sync, files=files)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def log_size(self) -> int:
        """How many bytes of log follow the newest snapshot, or nearly: segments go as a whole."""
        return self._log.end - FILE_HEADER

    @property
    def snapshot_commit(self) -> int:
        """The commit that the newest snapshot is of; 0 when there is none."""
        return self._base

    def append(self, body: Bytes) -> int:
        """Commit a batch and return its number; it is durable then."""
        with self._lock:
            self._check()
            number = self.commit + 1
            log, end = self._log, self._log.end_after(len(body))
            try:
                log.append(number, body, sync=self._sync)
                self._mark.write(number, self._base)
                log.end, self.commit = end, number
            except BaseException as fault:
                self._undo(number, end, fault)
            return number

    def _undo(self, number: int, end: int, fault: BaseException) -> NoReturn:
        """Take a failed append back, or refuse all others."""
        self._refusal = "a write failed and could not be undone"
        undone = False
        try:
            if self._mark.reread().commit == number:  # an interrupt came when all was done
                self._log.end, self.commit = end, number
                self._refusal = ""
            else:
                self._log.cut()
                undone = True
        except OSError:
            pass
        if not isinstance(fault, OSError):
            if undone:
                self._refusal = ""
            raise fault
        if undone and fault.errno in faults.FULL:
            self._refusal = ""
        elif undone:  # a device that fails may have spoiled more than we can see
            self._refusal = f"a write failed: {faults.reason(fault)}"
        raise faults.unwritten(self._log.path, f"batch {number}", fault, undone) from None

    def checkpoint(self, body: Bytes) -> None:
        """Keep `body` as the snapshot of `commit`; then the log before it goes.

        If that fails before the new log begins, the store goes on as if it had not been asked for.
        """
        with self._lock:
            self._check()
            files, folder, commit = self._files, self.path, self.commit
            store = self._mark.header.store
            try:
                self._log.sync()  # without `sync`, nothing else has done it
                write_snapshot(files, folder, new_header(SNAPSHOT, store, commit), body)
                self._base = commit
                if self._log.first != commit + 1:
                    self._begin_segment(new_header(LOG, store, commit + 1))
                files.sync_folder(folder)
                self._mark.write_synced(commit, commit)
            except OSError as fault:
                if fault.errno not in faults.FULL and not self._refusal:
                    self._refusal = f"a write failed: {faults.reason(fault)}"
                what = f"the snapshot of commit {commit}"
                raise faults.unwritten(folder, what, fault, True) from None
            except BaseException:  # an interrupt: where the new log has begun, go on with it
                if self._log.first == commit + 1:
                    with contextlib.suppress(OSError):
                        files.sync_folder(folder)
                        self._refusal = ""
                raise
            self._refusal = ""
            with contextlib.suppress(OSError):  # what stays behind is removed another time
                self._clean()

    def _begin_segment(self, header: FileHeader) -> None:
        # Once the new segment may be there, what is appended to the old one would be lost behind
        # it: from here on a failure ends writing, unless the new one certainly is not.
        self._refusal = "a checkpoint failed on its way"
        try:
            log = create_segment(self._files, self.path, header)
        except BaseException:
            if log_name(header.first) not in self._files.names(self.path):
                self._refusal = ""
            raise
        old, self._log = self._log, log
        old.close()

    def _clean(self) -> None:
        """Remove the files that recovery would not read."""
        listed = listing(self._files, self.path)
        old = [name for commit, name in listed.snapshots.items() if commit < self._base]
        needed = needed_segments(self.path, listed, self._base)
        old += [name for first, name in listed.segments.items() if first < needed[0]]
        remove_all(self._files, self.path, (*listed.unfinished, *old))

    def close(self) -> None:
        """Make everything durable and let another process write."""
        with self._lock:
            if self._refusal == CLOSED or os.getpid() != self._pid:
                return
            try:
                if not self._refusal:
                    self._log.sync()
                    self._mark.write_synced(self.commit, self._base)
            except OSError as fault:
                raise faults.unusable(self.path, fault) from None
            finally:
                self._refusal = CLOSED
                for part in (self._log.close, self._mark.close, self._writer.release):
                    with contextlib.suppress(OSError):
                        part()

    def __del__(self) -> None:
        # A forgotten store must not keep its lock; what it committed is on disk all the same.
        with contextlib.suppress(AttributeError, OSError):
            if self._refusal != CLOSED:
                for part in (self._log.close, self._mark.close, self._writer.release):
                    part()

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise faults.not_open(self.path, f"it was opened by process {self._pid}, before a fork")
        if self._refusal == CLOSED:
            raise faults.not_open(self.path, CLOSED)
        if self._refusal:
            raise faults.refusing(self.path, self._refusal)
