"""The durable state of a stream's views: base facts by batch, whole files under checksums.

`deltas/N` is what batch N did to base facts, `snapshots/N` is all of them after it, in buckets, and
the views that are outputs. `changes/RELATION/batch=N` is what the batch changed. `committed` names
the last batch that counts. Nothing is removed before what replaces it is durable.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from whence.engine.spark.model import By
from whence.engine.spark.shuffle import shares
from whence.store import codec
from whence.store.files import Bytes, Files
from whence.store.framing import (
    FILE_HEADER,
    SNAPSHOT,
    FileHeader,
    write_file_header,
    write_record_header,
)
from whence.store.layout import write_whole
from whence.store.snapshot import STATE, read_snapshot
from whence.syntax.nodes import Kind

_STORE: Final = bytes(16)
_FILES: Final = Files()


@dataclass(frozen=True, slots=True)
class Committed:
    """What counts: the last batch, the snapshot below it, and what is known of the stream."""

    batch: int = -1
    snapshot: int = -1
    arrivals: int = 0
    """Insertions into windows so far."""
    event: float | None = None
    """The latest time that an update had."""
    late: int = 0
    """Updates that came after the watermark had passed them, so far."""
    bad: int = 0
    """Updates that were put aside because something is wrong with them, so far."""
    rows: int = 0
    """Rows of deltas since the snapshot."""
    base: int = 0
    """Rows of the snapshot."""

    def as_json(self) -> dict[str, object]:
        """Return plain data that `Committed(**…)` takes back."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Delta:
    """What a batch does to base facts; and to the windows of relations that have one."""

    came: dict[str, pa.Table] = field(default_factory=dict)
    went: dict[str, pa.Table] = field(default_factory=dict)
    stamped: dict[str, pa.Table] = field(default_factory=dict)
    """Facts in windows with their times and numbers, in two further columns."""
    unstamped: dict[str, pa.Table] = field(default_factory=dict)
    """Facts that are in their window no longer."""
    told: dict[str, object] = field(default_factory=dict)
    """What `Committed` says after the batch."""

    @property
    def rows(self) -> int:
        """How many facts come and go."""
        return sum(t.num_rows for t in (*self.came.values(), *self.went.values()))

    def encode(self) -> bytes:
        """Return it as bytes."""
        parts = (("+", self.came), ("-", self.went), ("@", self.stamped), ("!", self.unstamped))
        tables = {sign + name: table for sign, part in parts for name, table in part.items()}
        return codec.encode({"told": self.told}, tables)

    @classmethod
    def decode(cls, body: bytes) -> Delta:
        """Return what was encoded."""
        header, tables = codec.decode(body)
        found = cls(told=dict(header["told"]))  # type: ignore[call-overload]
        parts = {"+": found.came, "-": found.went, "@": found.stamped, "!": found.unstamped}
        for name, table in tables.items():
            parts[name[0]][name[1:]] = table
        return found


class Folder:
    """The folder of a stream's state; the driver writes most of it, tasks their parts."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    # ── one file ──

    def put(self, path: Path, number: int, body: Bytes) -> None:
        """Let a file stand there whole and durable."""
        header = FileHeader(SNAPSHOT, _STORE, os.urandom(16), number)
        head = write_record_header(header.seed, FILE_HEADER, STATE, number, number, body)
        write_whole(_FILES, path, [write_file_header(header), head, body])
        _FILES.sync_folder(path.parent)

    def get(self, path: Path, number: int) -> bytes:
        """Return what a file holds, all of it checked."""
        return read_snapshot(_FILES, path, None, number)

    # ── what counts ──

    @property
    def committed(self) -> Committed:
        """The last batch that counts."""
        path = self.path / "committed"
        if not path.exists():
            return Committed()
        return Committed(**json.loads(self.get(path, 0)))

    def commit(self, committed: Committed) -> None:
        """Let a batch count."""
        self.put(self.path / "committed", 0, json.dumps(committed.as_json()).encode())

    # ── deltas and snapshots ──

    def delta_path(self, batch: int) -> Path:
        return self.path / "deltas" / f"{batch:012d}"

    def put_delta(self, batch: int, delta: Delta) -> None:
        """Keep what a batch does to base facts."""
        self.put(self.delta_path(batch), batch, delta.encode())

    def delta(self, batch: int) -> Delta | None:
        """Return what a batch does to base facts, None when that is not known."""
        path = self.delta_path(batch)
        return Delta.decode(self.get(path, batch)) if path.exists() else None

    def snapshot_path(self, batch: int) -> Path:
        return self.path / "snapshots" / f"{batch:012d}"

    def deltas(self, after: int, last: int) -> list[Delta]:
        """Return the deltas of these batches; a batch without one changed nothing."""
        found = (self.delta(batch) for batch in range(after + 1, last + 1))
        return [delta for delta in found if delta is not None]

    def bucket(self, snapshot: int, bucket: int) -> Delta:
        """Return one bucket of a snapshot: base facts, all of which have come."""
        path = self.snapshot_path(snapshot) / f"base-{bucket:05d}"
        return Delta.decode(self.get(path, snapshot))

    def buckets(self, snapshot: int) -> int:
        """Return how many buckets a snapshot has."""
        names = self.snapshot_path(snapshot).glob("base-*")
        return sum(1 for _ in names)

    def base(self, snapshot: int, last: int, stated: Mapping[str, pa.Table]) -> Delta:
        """Return all base facts after a batch, and which of them are in windows."""
        parts = [Delta(came=dict(stated))]
        if snapshot >= 0:
            parts = [self.bucket(snapshot, b) for b in range(self.buckets(snapshot))]
        return merged([*parts, *self.deltas(snapshot, last)])

    def compact(
        self,
        into: Path,
        committed: Committed,
        last: int,
        stated: Mapping[str, pa.Table],
        share: tuple[int, int],
        kinds: Mapping[str, Sequence[Kind]],
    ) -> int:
        """Write one bucket of the snapshot after a batch; return its rows."""
        bucket, buckets = share
        parts = [Delta(came=dict(stated))]
        if committed.snapshot >= 0:
            parts = [self.bucket(committed.snapshot, bucket)]
        whole = parts + self.deltas(committed.snapshot, last)
        mine = merged([_bucket_of(part, bucket, buckets, kinds) for part in whole])
        into.mkdir(parents=True, exist_ok=True)
        self.put(into / f"base-{bucket:05d}", last, mine.encode())
        return mine.rows

    def clean(self, committed: Committed) -> None:
        """Remove what nobody reads any more."""
        for name in _names(self.path / "deltas"):
            if not name.isdigit() or int(name) <= committed.snapshot:
                with contextlib.suppress(OSError):
                    os.unlink(self.path / "deltas" / name)
        # Whoever reads a view may have begun with the snapshot before this one.
        snapshots = sorted(_names(self.path / "snapshots"))
        for name in snapshots[:-2]:
            shutil.rmtree(self.path / "snapshots" / name, ignore_errors=True)
        for name in _names(self.path / "staging"):
            shutil.rmtree(self.path / "staging" / name, ignore_errors=True)


def _names(folder: Path) -> Iterable[str]:
    return os.listdir(folder) if folder.is_dir() else ()


def _bucket_of(
    delta: Delta, bucket: int, buckets: int, kinds: Mapping[str, Sequence[Kind]]
) -> Delta:
    """Return the facts of a delta whose first value belongs to a bucket."""

    def share(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        found = {}
        for name, table in tables.items():
            if table.num_columns:
                table = shares(table, By(0), kinds[name], buckets)[bucket]
            elif bucket:
                continue
            if table.num_rows:
                found[name] = table
        return found

    return Delta(
        share(delta.came), share(delta.went), share(delta.stamped), share(delta.unstamped), {}
    )


def merged(deltas: Sequence[Delta]) -> Delta:
    """Return what one delta after the other comes to: facts that are there, none that are not."""
    came = _last_words([(d.went, d.came) for d in deltas], 0)
    stamped = _last_words([(d.unstamped, d.stamped) for d in deltas], 2)
    told = deltas[-1].told if deltas else {}
    return Delta(came=came, stamped=stamped, told=told)


Words = Sequence[tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]]]


def _last_words(words: Words, beside: int) -> dict[str, pa.Table]:
    """Return the facts on which the last word is that they come.

    The last `beside` columns of those that come do not tell facts apart; the last values count.
    """
    names = dict.fromkeys(name for pair in words for part in pair for name in part)
    found = {}
    for name in names:
        parts = []
        for number, (went, came) in enumerate(words):
            for there, part in ((0, went), (1, came)):
                if name in part:
                    parts.append((2 * number + there, part[name]))
        table = _last_word(parts, beside)
        if table.num_rows:
            found[name] = table
    return found


def _last_word(parts: Sequence[tuple[int, pa.Table]], beside: int) -> pa.Table:
    parts = [(number, table) for number, table in parts if table.num_rows] or list(parts[-1:])
    last, width = parts[-1][1], max(t.num_columns for n, t in parts if n % 2 or not beside)
    if width - beside == 0:
        return last.slice(0, 1) if parts[-1][0] % 2 else last.slice(0, 0)
    if len(parts) == 1 and parts[0][0] % 2:
        whole = parts[0][1]
        names = [str(i) for i in range(width)]
        return _distinct(whole.rename_columns(names), width - beside)
    numbered = []
    names = [str(i) for i in range(width)]
    for number, table in parts:
        table = table.rename_columns(names[: table.num_columns])
        for missing in range(table.num_columns, width):
            type_ = pa.float64() if missing == width - 2 else pa.int64()
            table = table.append_column(names[missing], pa.nulls(table.num_rows, type_))
        order = pa.array([number], pa.int64()).take(pa.array([0] * table.num_rows, pa.int64()))
        table = table.append_column("@", order)
        numbered.append(table)
    whole = pa.concat_tables(numbered, promote_options="permissive")
    whole = _distinct(whole, width - beside)
    there = whole.column("@").to_numpy() % 2 == 1
    return whole.filter(pa.array(there)).drop_columns(["@"])


def _distinct(table: pa.Table, key: int) -> pa.Table:
    """Return, for each value of the first columns, the last row that has it."""
    names, others = table.column_names[:key], table.column_names[key:]
    if not others:
        return table.group_by(names, use_threads=False).aggregate([])
    grouped = table.group_by(names, use_threads=False).aggregate([(n, "last") for n in others])
    return grouped.select([*names, *(f"{n}_last" for n in others)]).rename_columns(
        table.column_names
    )
