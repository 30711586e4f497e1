"""Watching: updates in as they come, committed, and the changes of views out."""

from __future__ import annotations

import signal
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Final, Protocol

from whence.app.sources import Chunk, Place, Source
from whence.database import Database
from whence.diagnostics import DataError, Diagnostic, WhenceError
from whence.facts.schema import shown_columns
from whence.netting import Operation
from whence.view.base import Changes
from whence.view.updates import MAX_LINE, BadLine, Commit, Fact, UpdateParser
from whence.view.written import Form, write_change, write_commit

SHOWN: Final = 5
"""How many bad lines are shown one by one."""


@dataclass(frozen=True, slots=True)
class Batching:
    """When to commit where the input does not say."""

    lines: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Progress:
    """What has been done so far."""

    commits: int = 0
    updates: int = 0
    skipped: int = 0
    started: float = field(default_factory=time.monotonic)
    latencies: list[float] = field(default_factory=list)
    """Seconds of the latest commits, from the first look at the batch to the changes printed."""

    def add(self, seconds: float, updates: int) -> None:
        """Count one commit."""
        self.commits += 1
        self.updates += updates
        if len(self.latencies) >= 10_000:
            del self.latencies[:5_000]
        self.latencies.append(seconds)

    def percentile(self, share: float) -> float:
        """Return the latency that this share of the latest commits stayed below."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def summary(self) -> str:
        """Return the whole in one line."""
        seconds = time.monotonic() - self.started
        parts = [
            f"{count(self.commits, 'commit')} of {count(self.updates, 'update')} in {seconds:.1f} s"
        ]
        if self.latencies:
            p50, p99 = self.percentile(0.5) * 1e3, self.percentile(0.99) * 1e3
            parts.append(f"commit {p50:.2f} ms at the median, {p99:.2f} ms at the 99th percentile")
        if self.skipped:
            parts.append(f"{count(self.skipped, 'line')} skipped")
        return "; ".join(parts)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless there is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Display(Protocol):
    """Somebody who shows what happens."""

    def on_commit(self, changes: Changes, progress: Progress) -> None: ...

    def draw(self, progress: Progress) -> None: ...


class Stop:
    """Signals that end the watching: at once while it waits, else after what it is doing."""

    def __init__(self) -> None:
        self._asked = 0
        self._waiting = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A signal within this block raises."""
        self._waiting = True
        try:
            self.check()
            yield
        finally:
            self._waiting = False

    def check(self) -> None:
        """Raise what a signal that came meanwhile asked for."""
        if self._asked:
            raise Stopped(self._asked)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        again = self._asked != 0
        self._asked = number
        if self._waiting or again:
            raise Stopped(number)


class Stopped(BaseException):
    """A signal asked to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextmanager
def stopping() -> Iterator[Stop]:
    """Take the signals that ask to end, and give them back afterwards."""
    stop = Stop()
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Watch:
    """Reads updates from a source into a database and writes the changes of relations."""

    def __init__(
        self,
        db: Database,
        source: Source,
        parser: UpdateParser,
        *,
        relations: Sequence[str],
        write: Callable[[bytes], None],
        form: Form = "text",
        batching: Batching | None = None,
        skip_errors: bool = False,
        report: Callable[[Diagnostic], None] = lambda _: None,
        display: Display | None = None,
        stop: Stop | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.progress = Progress()
        self._db = db
        self._source = source
        self._parser = parser
        self._relations = relations
        self._columns = {name: shown_columns(db.program, name) for name in relations}
        self._write = write
        self._form = form
        self._batching = batching or Batching()
        self._skip_errors = skip_errors
        self._report = report
        self._display = display
        self._stop = stop or Stop()
        self._clock = clock
        self._pending = _Pending()
        self._says_commit = False

    def run(self) -> None:
        """Read until the source ends; what was read last is committed then."""
        while True:
            with self._stop.waiting():
                chunk = self._source.read(self._patience())
            if chunk is None:
                self._commit()
                break
            self._take(chunk)
            self._commit_if_late()
            self._expire()
            if self._display is not None:
                self._display.draw(self.progress)
        if self.progress.skipped:
            self._report(
                Diagnostic(
                    "W0689",
                    f"skipped {count(self.progress.skipped, 'bad line')}",
                    severity="warning",
                )
            )

    # ── lines ──

    def _take(self, chunk: Chunk) -> None:
        parser = self._parser
        parser.name = chunk.name
        offset, number = chunk.place.offset, chunk.place.line
        every = self._batching.lines
        for raw in chunk.lines:
            offset += len(raw)
            number += 1
            line = raw.decode("utf-8", "surrogateescape")
            try:
                found = parser.parse(line)
            except BadLine as fault:
                self._refuse(fault, line.rstrip("\r\n"), number)
                continue
            if found is None:
                continue
            if isinstance(found, Commit):
                self._says_commit = True
            else:
                self._pending.facts.append(found)
                if self._says_commit or every is None or len(self._pending.facts) < every:
                    continue
            self._pending.read_to(Place(chunk.place.file, offset, number), raw)
            self._commit()
        if chunk.lines and len(chunk.lines[-1]) <= MAX_LINE:  # else its end is still to come
            self._pending.read_to(Place(chunk.place.file, offset, number), chunk.lines[-1])
        if self._pending.facts and not self._pending.since:
            self._pending.since = time.monotonic()
        if chunk.ends:
            self._commit()

    def _refuse(self, fault: BadLine, line: str, number: int) -> None:
        found = self._parser.diagnose(fault, line, number)
        if not self._skip_errors:
            raise DataError(replace(found, hint=found.hint or "`--on-error skip` leaves it out"))
        self.progress.skipped += 1
        if self.progress.skipped <= SHOWN:
            self._report(replace(found, severity="warning"))

    # ── commits ──

    def _patience(self) -> float | None:
        """Return how long the source may wait before there is something else to do."""
        due = []
        if self._pending.facts and self._batching.seconds is not None and not self._says_commit:
            due.append(self._pending.since + self._batching.seconds - time.monotonic())
        expiry = self._db.next_expiry
        if expiry is not None:
            due.append(expiry - self._clock())
        if self._display is not None:
            due.append(1.0)  # rates fall while nothing comes
        return max(0.0, min(due)) if due else None

    def _commit_if_late(self) -> None:
        """Commit without being told to, as long as the input never says when to."""
        seconds = self._batching.seconds
        if seconds is None or self._says_commit or not self._pending.facts:
            return
        if time.monotonic() >= self._pending.since + seconds:
            self._commit()

    def _commit(self) -> None:
        pending, self._pending = self._pending, _Pending()
        if not pending.facts:
            return
        self._stop.check()
        started = time.perf_counter()
        try:
            with self._db.transaction(note={"place": pending.end().as_json()}) as transaction:
                for operation in pending.operations():
                    transaction.add(operation)
        except WhenceError as error:
            place = f"{self._parser.name}:{pending.place.line}"
            note = f"in the transaction that ends at {place}"
            told = (replace(d, notes=(*d.notes, note)) for d in error.diagnostics)
            raise type(error)(*told) from None
        self._print(transaction.changes)
        self.progress.add(time.perf_counter() - started, len(pending.facts))
        if self._display is not None:
            self._display.on_commit(transaction.changes, self.progress)

    def _expire(self) -> None:
        expiry = self._db.next_expiry
        if expiry is not None and expiry <= self._clock():
            started = time.perf_counter()
            changes = self._db.advance()
            self._print(changes)
            if changes:
                self.progress.add(time.perf_counter() - started, 0)
            if changes and self._display is not None:
                self._display.on_commit(changes, self.progress)

    def _print(self, changes: Changes) -> None:
        parts = [
            write_change(changes[name], self._columns[name], self._form)
            for name in self._relations
            if name in changes
        ]
        if parts:
            self._write(b"".join((*parts, write_commit(self._db.commits, self._form))))


class _Pending:
    """The updates of a transaction that is still to be committed."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.since = 0.0
        """When the first of them was read."""
        self.place = Place()
        self._last = b""

    def read_to(self, place: Place, last: bytes) -> None:
        """Take note that everything was read up to a place, and of the line before it."""
        self.place, self._last = place, last

    def operations(self) -> Iterator[Operation]:
        """Yield the updates; those of one relation that do the same are taken together.

        The order of relations among each other does not matter.
        """
        runs: dict[str, list[list[Fact]]] = {}
        for fact in self.facts:
            before = runs.setdefault(fact.relation, [])
            if before and before[-1][0].is_like(fact):
                before[-1].append(fact)
            else:
                before.append([fact])
        for relation, parts in runs.items():
            for run in parts:
                times = tuple([fact.time for fact in run if fact.time is not None])
                rows = [fact.row for fact in run]
                yield Operation(run[0].sign, relation, rows, times, run[0].key)

    def end(self) -> Place:
        """Return the place after the last line."""
        return replace(self.place, length=len(self._last), checksum=zlib.crc32(self._last))


def start_of(note: object) -> Place | None:
    """Return where to go on after the last commit that the database knows of."""
    if not isinstance(note, Mapping) or not isinstance(note.get("place"), Mapping):
        return None
    return Place(**note["place"])
