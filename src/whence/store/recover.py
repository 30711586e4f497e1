"""Recovery: from the files of a folder to the snapshot and the batches that are committed.

The newest snapshot counts, then every batch after it. A log may end in a torn write, which is cut
off: only the last segment, only after the last batch that the mark states, and only where no record
follows. Everything else that is not whole is damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whence.store import faults
from whence.store.faults import Damaged
from whence.store.files import Files
from whence.store.framing import FILE_HEADER
from whence.store.layout import Listing, log_name, snapshot_name
from whence.store.log import Cursor
from whence.store.mark import Marked
from whence.store.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class Batches:
    """Committed batches, read when they are asked for; again from the start each time.

    They are read from the log, so they are to be read before the next checkpoint.
    """

    files: Files
    folder: Path
    store: bytes
    segments: tuple[int, ...]
    after: int
    upto: int

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for first in self.segments:
            path = self.folder / log_name(first)
            with faults.os_faults(path):
                cursor = Cursor(self.files, path, self.store, first)
            try:
                while cursor.number <= self.upto:
                    try:
                        record = cursor.next()
                    except Damaged as damage:
                        raise faults.damaged_log(path, damage, cursor.number, self.upto) from None
                    if record is None:
                        break
                    if record.number > self.after:
                        yield record.number, record.body
            finally:
                cursor.close()

    def __len__(self) -> int:
        return self.upto - self.after


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a store holds: a snapshot as of a commit, and the batches after it, with numbers.

    When it is not `afresh`, the batches go on from what was read before.
    """

    snapshot: bytes | None
    snapshot_commit: int
    batches: Batches | tuple[tuple[int, bytes], ...]
    afresh: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """What recovery found out about the log's end, beside what it holds."""

    recovered: Recovered
    segment: int  # the last one, by its first number
    seed: int
    commit: int
    end: int  # where the last whole record ends
    unmarked: int  # where the first record begins that the mark does not state
    torn: int  # how many bytes stand after the end


def recover(files: Files, folder: Path, listed: Listing, store: bytes, marked: Marked) -> Found:
    """Return what the folder holds; raise where a committed batch cannot be had whole."""
    base = max(listed.snapshots, default=0)
    if base < marked.snapshot:
        raise faults.missing(
            folder / snapshot_name(marked.snapshot), f"it is the snapshot of {marked.snapshot}"
        )
    snapshot = None
    if listed.snapshots:
        snapshot = read_snapshot(files, folder / listed.snapshots[base], store, base)
    needed = needed_segments(folder, listed, base)
    last = base
    for place, first in enumerate(needed):
        path = folder / log_name(first)
        if place and first != last + 1:
            raise faults.missing(folder / log_name(last + 1), f"`{path.name}` comes after it")
        cursor = Cursor(files, path, store, first)
        try:
            found = _scan(cursor, marked, final=place == len(needed) - 1)
        finally:
            cursor.close()
        last = found[0]
    last, end, unmarked, torn, seed = found
    if last < base:
        raise faults.missing(folder / log_name(base + 1), f"the log ends at batch {last}")
    batches = Batches(files, folder, store, needed, base, last)
    return Found(Recovered(snapshot, base, batches), needed[-1], seed, last, end, unmarked, torn)


def needed_segments(folder: Path, listed: Listing, base: int) -> tuple[int, ...]:
    """Return the segments that hold the batches after `base`, by their first numbers."""
    before = [first for first in listed.segments if first <= base + 1]
    if not before:
        raise faults.missing(folder / log_name(base + 1), f"no log holds batch {base + 1}")
    return tuple(sorted(first for first in listed.segments if first >= max(before)))


def _scan(cursor: Cursor, marked: Marked, *, final: bool) -> tuple[int, int, int, int, int]:
    """Read a segment to its end; see `Found` for what comes back."""
    unmarked = FILE_HEADER
    torn = 0
    try:
        while (record := cursor.next()) is not None:
            if record.number <= marked.commit:
                unmarked = record.end
        if final and cursor.number <= marked.commit:
            raise Damaged(cursor.offset, "the log ends there")
    except Damaged as damage:
        # A write can be torn only at the very end: nothing was written after it.
        if not final or cursor.number <= marked.commit or cursor.record_after() is not None:
            committed = max(marked.commit, cursor.number)
            raise faults.damaged_log(cursor.path, damage, cursor.number, committed) from None
        torn = cursor.size() - cursor.offset
    return cursor.number - 1, cursor.offset, unmarked, torn, cursor.header.seed
