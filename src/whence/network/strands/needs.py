"""What a strand needs of its node, and how values are picked from its slots."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import itemgetter
from typing import Any, Protocol

from whence.network.model import Annotation, Row
from whence.network.strands.expressions import Functions, Slots
from whence.network.strands.plan import Head, StrandPlan
from whence.network.table import Shape, Table, columns_of

Run = Callable[[Slots], None]
Fire = Callable[[int, Row, Annotation], None]
Start = Callable[[Slots, int, Row, Annotation], None]


class Bindings(Protocol):
    """What a strand needs of a node."""

    functions: Functions

    def table(self, relation: str) -> Table:
        """Return a table, which is made if it is not there."""

    def absence(self, relation: str, columns: tuple[int, ...], key: Hashable) -> Annotation:
        """Return the annotation of a negated literal that holds."""

    def fault(self, rule: str, error: Exception) -> None:
        """Take note that a function had no value."""


class Needs:
    """What a strand needs of its node, each thing in a slot of its own, and how it is got."""

    def __init__(self, plan: StrandPlan, shapes: Mapping[str, Shape]) -> None:
        self.shapes = shapes
        self.made: list[Callable[[Any], object]] = []
        self._first = plan.size

    def slot(self, got: Callable[[Any], object]) -> int:
        """Return the slot of a thing that is got from the node."""
        self.made.append(got)
        return self._first + len(self.made) - 1

    def rows(self, relation: str) -> int:
        """Return the slot of the rows of a table."""
        return self.slot(lambda node: node.table(relation).rows)

    def index(self, relation: str, columns: tuple[int, ...]) -> int:
        """Return the slot of an index of a table."""
        return self.slot(lambda node: node.table(relation).index(columns))

    def function(self, name: str) -> int:
        """Return the slot of a function that asks the node."""
        return self.slot(lambda node: node.functions[name])


def pick(slots: tuple[int, ...]) -> Callable[[Slots], Any]:
    """Return the function from slots to the key of an index: one value, or a tuple."""
    return columns_of(slots)  # type: ignore[return-value]


def row_of(head: Head) -> Callable[[Slots], Row]:
    """Return the function from slots to the row of a head."""
    if len(head.slots) == 1:
        only = head.slots[0]
        return lambda env: (env[only],)
    return itemgetter(*head.slots) if head.slots else lambda env: ()
