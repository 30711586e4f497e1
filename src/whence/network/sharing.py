"""Opportunistic message sharing: tuples for one receiver that agree in all but one column are sent
as one, and taken apart where they arrive (Loo 2006, section 8.2).

Paths of several programs, one by latency and one by loss, differ in their metric only. The odds are
better when tuples wait a little for each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from whence.network.model import Codec, Control, Handle, Host, Message, Row, Update
from whence.network.transport.wire import WireError


class Delayed:
    """A shipper that lets updates for others wait, so that some can share a message."""

    local = False

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._out: dict[str, list[Update]] = {}
        self._timer: Handle | None = None
        self._host: Host

    def attach(self, host: Host) -> None:
        """Work for this processor."""
        self._host = host

    def push(self, target: str, update: Update) -> None:
        """Let an update wait."""
        self._out.setdefault(target, []).append(update)
        if self._timer is None:
            clock = self._host.clock
            self._timer = clock.call_at(clock.now() + self.seconds, self._tick)

    def flush(self) -> None:
        """Keep what waits: a timer sends it."""

    def kill(self, dead: frozenset[Hashable]) -> None:
        """Do without variables that are false."""
        restrict = self._host.scheme.restrict
        for target, updates in self._out.items():
            left = [
                (sign, relation, row, None if note is None else restrict(note, dead))
                for sign, relation, row, note in updates
            ]
            both = zip(updates, left, strict=True)
            self._out[target] = [new for old, new in both if (old[3] is None) == (new[3] is None)]

    def idle(self) -> bool:
        """Return whether nothing waits."""
        return self._timer is None

    def _tick(self) -> None:
        self._timer = None
        out, self._out = self._out, {}
        for target, updates in out.items():
            if updates:
                self._host.send(target, updates)


class SharedCodec:
    """A codec before another: what can be joined is, and comes apart again.

    `columns` says for each relation which column is its own; it may grow while nodes run.
    """

    def __init__(self, inner: Codec, columns: Mapping[str, int]) -> None:
        self.inner = inner
        self.columns = columns

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message, with tuples joined."""
        if isinstance(message, Control) or len(message) < 2:
            return self.inner.encode(message)
        return self.inner.encode(joined(message, self.columns))

    def decode(self, payload: bytes) -> Message:
        """Return the message in these bytes, with tuples taken apart."""
        message = self.inner.decode(payload)
        return message if isinstance(message, Control) else apart(message)


def joined(updates: Iterable[Update], columns: Mapping[str, int]) -> list[Update]:
    """Return the updates with those joined that agree in all but the column of their relation.

    What was said of a relation stays in its order: a tuple is joined only with one that comes
    after all others of the relation.

    >>> joined([(1, "p", ("a", 1), None), (1, "q", ("a", 7), None)], {"p": 1, "q": 1})
    [(1, '1:p+q', ('a', 1, 7), None)]
    """
    out: list[_Group | Update] = []
    found: dict[Hashable, int] = {}  # where in `out` the last group of these columns is
    last: dict[str, int] = {}  # and where the last tuple of a relation
    for update in updates:
        sign, relation, row, note = update
        column = columns.get(relation)
        if column is None or note is not None or column >= len(row):
            last[relation] = len(out)
            out.append(update)
            continue
        key = (sign, column, row[:column] + row[column + 1 :])
        place = found.get(key, -1)
        if place <= last.get(relation, -1):
            place = found[key] = len(out)
            out.append(_Group(sign, column))
        last[relation] = place
        group = out[place]
        assert isinstance(group, _Group)
        group.relations.append(relation)
        group.rows.append(row)
    return [item.as_one() if isinstance(item, _Group) else item for item in out]


@dataclass(slots=True)
class _Group:
    sign: int
    column: int
    relations: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def as_one(self) -> Update:
        first, column = self.rows[0], self.column
        if len(self.rows) == 1:
            return (self.sign, self.relations[0], first, None)
        values = tuple(row[column] for row in self.rows)
        row = (*first[:column], *values, *first[column + 1 :])
        return (self.sign, f"{column}:{'+'.join(self.relations)}", row, None)


def apart(updates: Iterable[Update]) -> list[Update]:
    """Return the updates with those taken apart that were joined.

    >>> apart([(1, "1:p+q", ("a", 1, 7), None)])
    [(1, 'p', ('a', 1), None), (1, 'q', ('a', 7), None)]
    """
    out: list[Update] = []
    for update in updates:
        sign, name, row, note = update
        head, colon, names = name.partition(":")
        if not colon:
            out.append(update)
            continue
        relations = names.split("+")
        column, count = int(head) if head.isdecimal() else -1, len(relations)
        if not 0 <= column <= len(row) - count:
            raise WireError("a joined tuple that does not come apart")
        before, after = row[:column], row[column + count :]
        for relation, value in zip(relations, row[column : column + count], strict=True):
            out.append((sign, relation, (*before, value, *after), note))
    return out
