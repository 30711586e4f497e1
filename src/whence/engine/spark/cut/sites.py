"""Sites: where the instances of rules are derived; and the draft of a group, made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from whence.engine.spark.cut.reading import Anchor, Statement
from whence.engine.spark.model import ALONE, EVERYWHERE, By, Placement
from whence.syntax.nodes import Variable


@dataclass(frozen=True, slots=True)
class Site:
    """Each instance is where the anchor's value is owned; without one, at all tasks or at task 0.

    Its atoms find their tuples there, in copies that are placed like this.
    """

    statement: Statement
    anchor: Anchor | None
    places: tuple[Placement, ...]
    guarded: bool = False
    """Whether an atom must be added that holds only there: at task 0, without an anchor."""

    def demands(self) -> Iterator[tuple[str, Placement]]:
        """Yield the copies that are read."""
        for reading, place in zip(self.statement.readings, self.places, strict=True):
            yield reading.relation, place

    def lands(self, placement: Placement) -> bool:
        """Say whether heads are derived where tuples placed like this belong."""
        if not isinstance(placement, By):
            return self.anchor is None and self.whole is placement
        return self.anchor is not None and self.statement.head[placement.column] == self.anchor

    @property
    def whole(self) -> Placement | None:
        """Where the instances are that have no anchor."""
        if self.anchor is not None:
            return None
        return ALONE if self.guarded or ALONE in self.places else EVERYWHERE


@dataclass(slots=True)
class Shipment:
    """A relation whose tuples are derived at other tasks than they are wanted at."""

    sites: tuple[Site, ...]
    home: Placement
    copies: tuple[Placement, ...]


@dataclass(slots=True)
class Draft:
    """A group on its way: which copies there are, and which sites derive each."""

    local: dict[tuple[str, Placement], tuple[Site, ...]] = field(default_factory=dict)
    """Copies that are derived where they are."""
    shipped: dict[str, Shipment] = field(default_factory=dict)
    subsumed: dict[tuple[str, Placement], tuple[Site, ...]] = field(default_factory=dict)
    reads: dict[tuple[str, Placement], None] = field(default_factory=dict)
    """Copies of what other groups and inputs give."""
    writes: dict[str, Placement] = field(default_factory=dict)


def site_whole(statement: Statement, placement: Placement) -> Site:
    """Return the site at all tasks, or at task 0."""
    places = tuple(placement for _ in statement.readings)
    found = any(reading.positive for reading in statement.readings)
    return Site(statement, None, places, guarded=placement is ALONE and not found)


def site_at(statement: Statement, anchor: Anchor, places: tuple[Placement, ...]) -> Site | None:
    """Return the site, if the anchor's value is found there by an atom, or is a constant."""
    located = any(
        isinstance(place, By) and reading.positive
        for reading, place in zip(statement.readings, places, strict=True)
    )
    if not located and isinstance(anchor, Variable):
        return None
    return Site(statement, anchor, places, guarded=not located)
