"""Dataflows wired by hand: elements with ports that push and pull tuples (Loo 2006, section 4.3).

`push` hands a tuple on and is always obeyed; it returns whether more may come, and whoever is told
no is called back when they may. `pull` asks for a tuple and gets None when there is none; then the
caller is called back when one has come. A strand can be built from these elements: `source >>
Join(…) >> Select(…) >> Project(…) >> out`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from whence.network.model import Row
from whence.network.node import Node
from whence.network.program import Kind, RelationPlan
from whence.network.strands.endings import FOLDS
from whence.network.table import Shape, columns_of

Callback = Callable[[], None]
ElementT = TypeVar("ElementT", bound="Element")


class Element:
    """A node of a dataflow graph, with one output unless it says otherwise."""

    def __init__(self) -> None:
        self.outputs: list[Element] = []

    def __rshift__(self, other: ElementT) -> ElementT:
        """Bind the next output to an element; return that one, so that chains can be written."""
        self.outputs.append(other)
        return other

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Take a tuple; return whether more may come, else `ready` is called when they may."""
        raise NotImplementedError

    def pull(self, ready: Callback | None = None) -> Row | None:
        """Give a tuple; None when there is none, and `ready` is called when there is."""
        raise TypeError(f"{type(self).__name__} cannot be pulled from")

    def emit(self, row: Row, ready: Callback | None = None) -> bool:
        """Push a tuple to all outputs; return whether all may get more."""
        more = True
        for output in self.outputs:
            more &= output.push(row, ready)
        return more


class Dup(Element):
    """Copies each tuple to all outputs."""

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Copy a tuple."""
        return self.emit(row, ready)


class Mux(Dup):
    """Merges what comes from several elements into one stream, in the order it comes."""


class Demux(Element):
    """Sends each tuple to the output that is bound to its value in a column; else nowhere."""

    def __init__(self, column: int) -> None:
        super().__init__()
        self._column = column
        self.ports: dict[Any, Element] = {}

    def port(self, value: Any, element: ElementT) -> ElementT:
        """Bind the tuples with a value to an element."""
        self.ports[value] = element
        return element

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Send a tuple where it belongs."""
        port = self.ports.get(row[self._column])
        return True if port is None else port.push(row, ready)


class Queue(Element):
    """Where pushes end and pulls begin; it may be full, and then tells so."""

    def __init__(self, capacity: int | None = None) -> None:
        super().__init__()
        self._rows: deque[Row] = deque()
        self._capacity = capacity
        self._pushers: list[Callback] = []
        self._pullers: list[Callback] = []

    def __len__(self) -> int:
        return len(self._rows)

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Take a tuple in, even if it is the last that fits."""
        self._rows.append(row)
        waiting, self._pullers = self._pullers, []
        for callback in waiting:
            callback()
        if self._capacity is None or len(self._rows) < self._capacity:
            return True
        if ready is not None:
            self._pushers.append(ready)
        return False

    def pull(self, ready: Callback | None = None) -> Row | None:
        """Give the tuple that came first."""
        if not self._rows:
            if ready is not None:
                self._pullers.append(ready)
            return None
        row = self._rows.popleft()
        if self._capacity is None or len(self._rows) < self._capacity:
            waiting, self._pushers = self._pushers, []
            for callback in waiting:
                callback()
        return row


class Pump(Element):
    """Pulls from an element and pushes on, until one end says to wait; then it is called back."""

    def __init__(self, source: Element) -> None:
        super().__init__()
        self._source = source
        self._running = False

    def run(self) -> None:
        """Move what can be moved."""
        if self._running:  # called back from within
            return
        self._running = True
        try:
            while (row := self._source.pull(self.run)) is not None:
                if not self.emit(row, self.run):
                    return
        finally:
            self._running = False

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Refuse: a pump pulls."""
        raise TypeError("a pump pulls")


class Select(Element):
    """Lets tuples through that satisfy a condition."""

    def __init__(self, condition: Callable[[Row], bool]) -> None:
        super().__init__()
        self._condition = condition

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Let a tuple through, or not."""
        return self.emit(row, ready) if self._condition(row) else True


class Project(Element):
    """Makes of each tuple another one: picked columns, or what a function says."""

    def __init__(self, columns: Sequence[int] | Callable[[Row], Row]) -> None:
        super().__init__()
        self._made: Callable[[Row], Row]
        if callable(columns):
            self._made = columns
        else:
            picked = list(columns)
            self._made = lambda row: tuple([row[column] for column in picked])

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Hand another tuple on."""
        return self.emit(self._made(row), ready)


class Join(Element):
    """Puts behind each tuple every row of a table that agrees with it in some columns."""

    def __init__(self, node: Node, relation: str, on: Sequence[tuple[int, int]]) -> None:
        """Take a table, and pairs of a column of the tuple and one of the table."""
        super().__init__()
        table = node.table(relation)
        pairs = sorted(on, key=itemgetter(1))
        self._key = columns_of(tuple(mine for mine, _ in pairs))
        self._buckets = table.index(tuple(theirs for _, theirs in pairs))

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Hand on the tuple with each row that matches."""
        more = True
        for match in list(self._buckets.get(self._key(row), ())):
            more &= self.emit((*row, *match), ready)
        return more


class Aggregate(Element):
    """Folds a column of what it is given, group by group, once it is told to."""

    def __init__(self, function: str, column: int, group: Sequence[int]) -> None:
        super().__init__()
        self._fold = FOLDS[function]
        self._column = column
        self._group = list(group)
        self._values: dict[Row, list[Any]] = {}

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Collect a tuple."""
        key = tuple([row[column] for column in self._group])
        self._values.setdefault(key, []).append(row[self._column])
        return True

    def flush(self) -> None:
        """Hand on one tuple for each group, with its value behind it, and begin anew."""
        values, self._values = self._values, {}
        for key, column in values.items():
            self.emit((*key, self._fold(column)))


class Call(Element):
    """Calls a function with each tuple: the end of a dataflow, or a look into it."""

    def __init__(self, function: Callable[[Row], None]) -> None:
        super().__init__()
        self._function = function

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Call with a tuple, and hand it on."""
        self._function(row)
        return self.emit(row, ready)


# ── where a dataflow meets a node ────────────────────────────────────────────────────


def stream(node: Node, relation: str, arity: int, location: int = 0) -> None:
    """Declare a relation of events at a node."""
    node.declare(RelationPlan(Shape(relation, location=location), Kind.EVENT, arity), False)


def table(node: Node, shape: Shape, arity: int) -> None:
    """Declare a table at a node: soft state if its shape has a lifetime."""
    kind = Kind.BASE if shape.lifetime is None else Kind.SOFT
    node.declare(RelationPlan(shape, kind, arity), False)


class NetworkIn(Element):
    """The tuples of a relation as they come to a node: events, or rows that appear in a table."""

    def __init__(self, node: Node, relation: str) -> None:
        super().__init__()
        node.relations[relation].appears.append(lambda sign, row, note: self._taken(row))

    def _taken(self, row: Row) -> None:
        self.emit(row)

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Refuse: its tuples come from a node."""
        raise TypeError("the tuples of a NetworkIn come from a node")


class NetworkOut(Element):
    """Sends tuples of a relation to where they belong, be it here or elsewhere."""

    def __init__(self, node: Node, relation: str) -> None:
        super().__init__()
        self._emit = node.outlet_of(relation, node.relations[relation].table.shape.location)

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Send a tuple."""
        self._emit(1, row, None)
        return True


class Periodic(Element):
    """Pushes a tuple (address, number) into a dataflow every so many seconds."""

    def __init__(self, node: Node, address: str, period: float) -> None:
        super().__init__()
        self._node = node
        self._address = address
        self._period = period
        self._count = 0
        self._stopped = False
        self._next()

    def _next(self) -> None:
        self._node.clock.call_at(self._node.clock.now() + self._period, self._tick)

    def _tick(self) -> None:
        if not self._stopped:
            self._count += 1
            self.emit((self._address, self._count))
            self._node.run()
            self._next()

    def push(self, row: Row, ready: Callback | None = None) -> bool:
        """Refuse: its tuples come from a clock."""
        raise TypeError("the tuples of a Periodic come from a clock")

    def stop(self) -> None:
        """Push no more."""
        self._stopped = True
