"""What a transaction comes to: of each fact it names, whether it is there at the end.

Order matters within a transaction: the last word on a fact counts. Where a relation is only
inserted into, or only deleted from, its tables pass through without a look at their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from whence.facts.directives import concat_facts
from whence.facts.schema import Column
from whence.rows import Row, table_of, tuples_of
from whence.view.base import Update
from whence.view.windows import Said, Stamp, Time, Windows

if TYPE_CHECKING:
    import pyarrow as pa

Sign: TypeAlias = Literal["+", "-", "~"]
"""Insert, delete, replace by key."""
Find: TypeAlias = Callable[[str, tuple[int, ...], "pa.Table"], "pa.Table"]
"""The base facts of a relation whose columns have the values of some row of a table."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: rows of one relation that come, go, or replace those with an equal key."""

    sign: Sign
    relation: str
    rows: pa.Table | list[Row]
    times: tuple[float, ...] = ()
    """Event times: none, one for all rows, or one for each."""
    key: tuple[int, ...] = ()

    @property
    def tuples(self) -> list[Row]:
        """The rows as tuples."""
        return self.rows if isinstance(self.rows, list) else tuples_of(self.rows)


@dataclass(slots=True)
class Net:
    """A transaction worked out: updates, what windowed relations are told, and its times."""

    updates: dict[str, Update] = field(default_factory=dict)
    said: dict[str, Said] = field(default_factory=dict)
    decided: dict[str, Time] = field(default_factory=dict)
    event: float | None = None
    clock: float = 0.0


def work_out(
    operations: Sequence[Operation],
    columns: Callable[[str], tuple[Column, ...]],
    windowed: Mapping[str, object],
    find: Find,
    clock: float,
    arrivals: int,
) -> tuple[Net, int]:
    """Return what the operations come to, and the number of insertions counted so far."""
    net = Net(clock=clock)
    by_relation: dict[str, list[Operation]] = {}
    for operation in operations:
        by_relation.setdefault(operation.relation, []).append(operation)
        if operation.times:
            latest = max(operation.times)
            net.event = latest if net.event is None else max(net.event, latest)
    for relation, ops in by_relation.items():
        if relation in windowed:
            last_word = _LastWord(relation, columns(relation), find, ops, clock, arrivals)
            net.said[relation] = last_word.said
            arrivals = last_word.arrivals
            coming = [op for op in ops if op.sign != "-" and len(op.rows)]
            if coming:
                net.decided[relation] = "event" if coming[0].times else "clock"
        else:
            net.updates[relation] = _update(relation, columns(relation), find, ops)
    return net, arrivals


def check_times(windows: Windows, operations: Iterable[Operation]) -> None:
    """Refuse facts of windows with times where others have none."""
    seen: dict[str, bool] = {}
    for operation in operations:
        relation, timed = operation.relation, bool(operation.times)
        if operation.sign == "-" or not len(operation.rows) or relation not in windows.contents:
            continue
        windows.check_times(relation, timed, seen.setdefault(relation, timed))


def _update(relation: str, columns: tuple[Column, ...], find: Find, ops: list[Operation]) -> Update:
    signs = {op.sign for op in ops}
    if len(signs) == 1 and "~" not in signs:
        tables = [table_of(columns, o.rows) if isinstance(o.rows, list) else o.rows for o in ops]
        whole = concat_facts(tables)
        return Update(inserted=whole) if "+" in signs else Update(deleted=whole)
    if "~" in signs:
        stamps = _LastWord(relation, columns, find, ops, 0.0, 0).said.stamps
        there = {row: stamp is not None for row, stamp in stamps.items()}
    else:
        there = {}
        for op in ops:
            there.update(dict.fromkeys(op.tuples, op.sign == "+"))
    return update_of(
        columns,
        [row for row, stays in there.items() if stays],
        [row for row, stays in there.items() if not stays],
    )


def update_of(columns: Sequence[Column], came: Sequence[Row], went: Sequence[Row]) -> Update:
    """Return the update that brings and takes these facts."""
    return Update(
        inserted=table_of(columns, came) if came else None,
        deleted=table_of(columns, went) if went else None,
    )


class _LastWord:
    """The last word on each fact of one relation, operation by operation."""

    def __init__(
        self,
        relation: str,
        columns: tuple[Column, ...],
        find: Find,
        operations: list[Operation],
        clock: float,
        arrivals: int,
    ) -> None:
        self.said = Said()
        self.arrivals = arrivals
        self._indexes: dict[tuple[int, ...], dict[Row, dict[Row, None]]] = {}
        for operation in operations:
            key = operation.key
            if operation.sign == "~" and key not in self._indexes:
                wanted = {
                    _key(row, key): None
                    for op in operations
                    if op.sign == "~" and op.key == key
                    for row in op.tuples
                }
                keys = table_of([columns[c] for c in key], list(wanted))
                self._index(key, tuples_of(find(relation, key, keys)))
            self._run(operation, clock)

    def _run(self, operation: Operation, clock: float) -> None:
        rows = operation.tuples
        if operation.sign == "-":
            for row in rows:
                self._delete(row)
            return
        if operation.sign == "~":
            index = self._indexes[operation.key]
            for key in {_key(row, operation.key): None for row in rows}:
                for row in list(index.get(key, ())):
                    self._delete(row)
        times = operation.times or (clock,)
        for place, row in enumerate(rows):
            self.arrivals += 1
            self._insert(row, (times[place if len(times) > 1 else 0], self.arrivals))

    def _insert(self, row: Row, stamp: Stamp) -> None:
        old = self.said.stamps.get(row)
        self.said.stamps[row] = stamp if old is None else max(old, stamp)
        for columns, index in self._indexes.items():
            index.setdefault(_key(row, columns), {})[row] = None

    def _delete(self, row: Row) -> None:
        self.said.stamps[row] = None
        self.said.forgotten.add(row)
        for columns, index in self._indexes.items():
            index.get(_key(row, columns), {}).pop(row, None)

    def _index(self, columns: tuple[int, ...], there: list[Row]) -> None:
        """Begin to follow which facts have which key: those of the base, as changed so far."""
        index = self._indexes.setdefault(columns, {})
        stamps = self.said.stamps
        there = [row for row in there if stamps.get(row, True) is not None]
        for row in (*there, *(row for row, stamp in stamps.items() if stamp is not None)):
            index.setdefault(_key(row, columns), {})[row] = None


def _key(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple([row[c] for c in columns])
