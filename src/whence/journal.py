"""The seam for durability: what a database tells a journal, and gets back when it is opened again.

Everything is a `Record`: plain JSON beside Arrow tables. A database calls `record` once for each
thing that changes it (a commit, a program, a window), after its view took the change and before
anybody is told. When `record` raises, the change is undone and nobody hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from whence.facts.schema import Column
from whence.netting import Net
from whence.rows import Row, table_of, tuples_of
from whence.view.base import Update
from whence.view.windows import Said, Stamp

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Record:
    """JSON and tables, which together say all: one change, or the whole state.

    `kind` in the header is `commit`, `load`, `window` or `state`. The name of a table is a mark and
    a relation. In a commit: `+` facts that come, `-` that go, `@` stamps of facts in a window. In
    `load`: `+` facts that were read from files. In the state: `=` all base facts, `@` their
    stamps. A relation without columns has a table without columns, which is a bare count of rows.
    """

    header: Mapping[str, object]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


EMPTY: Final = Record(
    {
        "program": "",
        "settled": 0,
        "number": 0,
        "note": None,
        "event": None,
        "clock": None,
        "arrivals": 0,
        "windows": {},
    }
)
"""The state of a database that holds nothing."""


class Journal(Protocol):
    """Keeps what a database was told. Its methods are called by one thread at a time."""

    def recovered(self) -> tuple[Record | None, Iterable[Record]]:
        """Return the last state that was kept, and what was recorded after it, in order."""
        ...

    def record(self, entry: Record) -> None:
        """Keep the entry: when this returns it will be there after a crash."""
        ...

    def settle(self, state: Callable[[], Record]) -> None:
        """Called when what was recorded stands: may take the state and forget what led to it."""
        ...


def commit_record(net: Net, columns: Callable[[str], tuple[Column, ...]], note: object) -> Record:
    """Return a commit as a record."""
    tables: dict[str, pa.Table] = {}
    for relation, update in net.updates.items():
        if update.inserted is not None:
            tables[f"+{relation}"] = update.inserted
        if update.deleted is not None:
            tables[f"-{relation}"] = update.deleted
    for relation, said in net.said.items():
        came = [(row, stamp) for row, stamp in said.stamps.items() if stamp is not None]
        gone = [row for row, stamp in said.stamps.items() if stamp is None]
        tables[f"+{relation}"] = table_of(columns(relation), [row for row, _ in came])
        tables[f"@{relation}"] = _stamps(
            [stamp for _, stamp in came], [row in said.forgotten for row, _ in came]
        )
        tables[f"-{relation}"] = table_of(columns(relation), gone)
    header: dict[str, object] = {"kind": "commit", "clock": net.clock, "event": net.event}
    if any(said.adopted for said in net.said.values()):
        header["adopted"] = True
    if net.decided:
        header["decided"] = net.decided
    if note is not None:
        header["note"] = note
    return Record(header, tables)


def net_of(record: Record) -> Net:
    """Return the commit that a record holds."""
    header, tables = record.header, record.tables
    net = Net(
        decided=dict(header.get("decided") or {}),  # type: ignore[call-overload]
        event=header["event"],  # type: ignore[arg-type]
        clock=header["clock"],  # type: ignore[arg-type]
    )
    for relation in dict.fromkeys(name[1:] for name in tables):
        came, went = tables.get(f"+{relation}"), tables.get(f"-{relation}")
        if f"@{relation}" not in tables:
            net.updates[relation] = Update(came, went)
            continue
        assert came is not None
        assert went is not None
        stamps = tables[f"@{relation}"]
        rows = tuples_of(came)
        said = Said(
            {**dict(zip(rows, stamps_of(stamps), strict=True)), **dict.fromkeys(tuples_of(went))}
        )
        said.adopted = bool(header.get("adopted"))
        forgotten = stamps.column("forgotten").to_pylist()
        said.forgotten.update(row for row, gone in zip(rows, forgotten, strict=True) if gone)
        said.forgotten.update(tuples_of(went))
        net.said[relation] = said
    return net


def stamp_table(stamps: Mapping[Row, Stamp]) -> pa.Table:
    """Return the stamps of facts, in their order."""
    return _stamps(list(stamps.values()), [False] * len(stamps))


def stamps_of(table: pa.Table) -> list[Stamp]:
    """Return the stamps in a table."""
    return list(
        zip(table.column("time").to_pylist(), table.column("arrival").to_pylist(), strict=True)
    )


def _stamps(stamps: Sequence[Stamp], forgotten: Sequence[bool]) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {
            "time": pa.array([at for at, _ in stamps], pa.float64()),
            "arrival": pa.array([n for _, n in stamps], pa.int64()),
            "forgotten": pa.array(forgotten, pa.bool_()),
        }
    )
