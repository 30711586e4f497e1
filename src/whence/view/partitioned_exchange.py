"""How the tasks that keep views together exchange tuples: in rounds, one parcel for each peer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from whence.facts.directives import concat_facts
from whence.store import codec

if TYPE_CHECKING:
    import pyarrow as pa


class Exchange(Protocol):
    """One task's side of the rounds in which all tasks take part."""

    task: int
    tasks: int

    def swap(self, outgoing: Sequence[bytes]) -> Sequence[bytes]:
        """Give each task its bytes, and return what each task gave to this one."""
        ...


@dataclass(slots=True)
class Parcel:
    """What one task sends another in one round: tuples, and the sender's clock."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    clock: int = 0

    def add(self, name: str, table: pa.Table) -> None:
        """Put tuples in."""
        if table.num_rows:
            self.tables.setdefault(name, []).append(table)

    def join(self, other: Parcel) -> None:
        """Put in what another one has."""
        for name, tables in other.tables.items():
            self.tables.setdefault(name, []).extend(tables)

    @property
    def rows(self) -> int:
        """How many tuples there are."""
        return sum(t.num_rows for tables in self.tables.values() for t in tables)


@dataclass(slots=True)
class Post:
    """The parcels of a task; counts what it sends."""

    exchange: Exchange
    rounds: int = 0
    tuples: int = 0
    bytes: int = 0

    def swap(self, parcels: Sequence[Parcel]) -> list[Parcel] | None:
        """Send parcels and return those of all tasks, or None when all of all were empty."""
        rows = sum(parcel.rows for parcel in parcels)
        outgoing = [
            codec.encode(
                {"clock": parcel.clock, "sent": rows},
                {name: concat_facts(tables) for name, tables in parcel.tables.items()},
            )
            for parcel in parcels
        ]
        self.rounds += 1
        self.tuples += rows
        self.bytes += sum(map(len, outgoing)) - len(outgoing[self.exchange.task])
        found, sent = [], 0
        for body in self.exchange.swap(outgoing):
            header, tables = codec.decode(body)
            sent += int(str(header["sent"]))
            clock = int(str(header["clock"]))
            found.append(Parcel({name: [table] for name, table in tables.items()}, clock))
        return found if sent else None


class Alone:
    """The exchange of a task that is the only one."""

    task = 0
    tasks = 1

    def swap(self, outgoing: Sequence[bytes]) -> Sequence[bytes]:
        """Return what the task gave to itself."""
        return outgoing


class Threads:
    """Exchanges between the threads of one process."""

    def __init__(self, tasks: int) -> None:
        self._board: list[list[bytes]] = [[] for _ in range(tasks)]
        self._barrier = threading.Barrier(tasks, timeout=60)
        self.sides = [_Side(self, task, tasks) for task in range(tasks)]

    def swap(self, task: int, outgoing: Sequence[bytes]) -> list[bytes]:
        """Put up the bytes of one task, and take those for it once all are there."""
        self._board[task] = list(outgoing)
        self._barrier.wait()
        found = [given[task] for given in self._board]
        self._barrier.wait()
        return found

    def abort(self) -> None:
        """Let no task wait any more, as one has failed."""
        self._barrier.abort()


@dataclass(frozen=True, slots=True)
class _Side:
    shared: Threads
    task: int
    tasks: int

    def swap(self, outgoing: Sequence[bytes]) -> Sequence[bytes]:
        return self.shared.swap(self.task, outgoing)
