"""What all relations of a node have: who is told of a change, and how it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Protocol

from whence.network.model import Annotation, Clock, Gate, Row, Scheme, Update
from whence.network.strands.needs import Fire
from whence.network.table import Key, Shape, Table, columns_of

Apply = Callable[[int, Row, Annotation], None]
Watcher = Callable[[int, str, Row], None]
Denial = tuple[Key, dict[Hashable, dict[Row, None]], dict[Hashable, Annotation]]


class Owner(Protocol):
    """A node as its relations see it."""

    clock: Clock
    scheme: Scheme

    def falsify(self, variables: Sequence[Hashable]) -> None:
        """Make variables false, here and everywhere."""

    def later(self, apply: Apply, row: Row) -> None:
        """Queue a change of a table."""

    def run(self) -> None:
        """Handle what is queued, to completion."""


class Relation:
    """A relation at a node, with the strands that its changes start.

    `news` are strands that start when something becomes known of a tuple, `appears` and `vanishes`
    when it comes and goes, `refreshes` when it comes again.
    """

    __slots__ = (
        "appears",
        "arity",
        "denials",
        "entry",
        "name",
        "news",
        "owner",
        "refreshes",
        "table",
        "vanishes",
        "watchers",
    )

    stream: ClassVar[bool] = False  # whether its tuples happen instead of staying

    def __init__(self, owner: Owner, shape: Shape, arity: int, gate: Gate | None = None) -> None:
        self.owner = owner
        self.name = shape.name
        self.arity = arity
        self.table = Table(shape)
        self.news: list[Fire] = []
        self.appears: list[Fire] = []
        self.vanishes: list[Fire] = []
        self.refreshes: list[Fire] = []
        self.watchers: list[Watcher] = []
        # Negated literals that hold, and so have an annotation, by the columns they ask about.
        self.denials: dict[tuple[int, ...], Denial] = {}
        self.entry: Apply = self.apply if gate is None else self._gated(gate)

    def apply(self, sign: int, row: Row, annotation: Annotation) -> None:
        """Take a derived tuple, or one that is derived no more."""
        raise NotImplementedError

    def put(self, row: Row) -> None:
        """Take a tuple from outside."""
        self.entry(1, row, None)

    def take(self, row: Row) -> None:
        """Delete a tuple that came from outside."""
        self.entry(-1, row, None)

    def restrict(self, dead: frozenset[Hashable]) -> None:
        """Do without variables that are false."""

    def absence(self, columns: tuple[int, ...], key: Hashable) -> Annotation:
        """Return the annotation of a negated literal that holds: a base tuple of its own."""
        if columns not in self.denials:
            self.denials[columns] = (columns_of(columns), self.table.index(columns), {})
        held = self.denials[columns][2]
        if key not in held:
            row = (key,) if len(columns) == 1 else key
            held[key] = self.owner.scheme.base("!" + self.name, row)  # type: ignore[arg-type]
        return held[key]

    def _denied_no_more(self, row: Row) -> None:
        """Make false what negated literals said that a row contradicts, which has come."""
        for key, _, held in self.denials.values():
            note = held.pop(key(row), None)
            if note is not None:
                self.owner.falsify([self.owner.scheme.variable(note)])

    def _told(self, sign: int, row: Row) -> None:
        for watcher in self.watchers:
            watcher(sign, self.name, row)

    def _gated(self, gate: Gate) -> Apply:
        name, apply = self.name, self.apply

        def through(sign: int, row: Row, annotation: Annotation) -> None:
            update: Update = (sign, name, row, annotation)
            for passed in gate.push(update):
                apply(passed[0], passed[2], passed[3])

        return through


class EventStream(Relation):
    """Tuples that happen: they start strands and are gone."""

    __slots__ = ()
    stream: ClassVar[bool] = True

    def apply(self, sign: int, row: Row, annotation: Annotation) -> None:
        """Let it happen."""
        if sign < 0:
            return
        if self.watchers:
            self._told(1, row)
        for fire in self.appears:
            fire(1, row, None)
