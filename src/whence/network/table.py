"""A table of a node: rows with annotations, a primary key, indexes, lifetimes, and a size.

A table only stores. Who is told of a change, and what an annotation means, is the business of
`relations/`. Rows are held in dictionaries throughout, never in sets: same seed, same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from operator import itemgetter

from whence.network.model import Annotation, Row

Key = Callable[[Row], Hashable]


def columns_of(columns: tuple[int, ...]) -> Key:
    """Return the function from a row to its values in some columns: one value, or a tuple."""
    if not columns:
        return _nothing
    return itemgetter(*columns)


def _nothing(_row: object) -> Hashable:
    return ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a table is like; columns count from 0. No `key`: all columns are the key.

    `lifetime` and `size` are None where they are infinite. The size is that of one location, as
    several addresses may share a processor.
    """

    name: str
    key: tuple[int, ...] | None = None
    lifetime: float | None = None
    size: int | None = None
    location: int = 0


class Table:
    """The rows of a relation at one processor."""

    __slots__ = (
        "_indexes",
        "_key",
        "_location",
        "_places",
        "born",
        "buckets",
        "by_key",
        "rows",
        "shape",
    )

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.rows: dict[Row, Annotation] = {}
        self._key = None if shape.key is None else columns_of(shape.key)
        self.by_key: dict[Hashable, Row] = {}
        self.buckets: dict[tuple[int, ...], dict[Hashable, dict[Row, None]]] = {}
        self._indexes: list[tuple[Key, dict[Hashable, dict[Row, None]]]] = []
        # When each row came or was refreshed, the oldest first: all rows live equally long.
        self.born: dict[Row, float] = {}
        self._location = itemgetter(shape.location)
        # How many rows each place has; which is the oldest is looked up when they are too many.
        self._places: dict[Hashable, int] | None = None if shape.size is None else {}

    def __len__(self) -> int:
        return len(self.rows)

    def index(self, columns: tuple[int, ...]) -> dict[Hashable, dict[Row, None]]:
        """Return the rows by their values in some columns, kept current from now on."""
        buckets = self.buckets.get(columns)
        if buckets is None:
            buckets = self.buckets[columns] = {}
            key = columns_of(columns)
            for row in self.rows:
                buckets.setdefault(key(row), {})[row] = None
            self._indexes.append((key, buckets))
        return buckets

    def rival(self, row: Row) -> Row | None:
        """Return the other row that has the key of this one, if there is one."""
        if self._key is None:
            return None
        found = self.by_key.get(self._key(row))
        return None if found is None or found == row else found

    def keyed(self, row: Row) -> Row | None:
        """Return the row that is there with the key of this one, which may be itself."""
        if self._key is None:
            return row if row in self.rows else None
        return self.by_key.get(self._key(row))

    def add(self, row: Row, annotation: Annotation) -> None:
        """Store a row that is not there and has no rival."""
        self.rows[row] = annotation
        if self._key is not None:
            self.by_key[self._key(row)] = row
        for key, buckets in self._indexes:
            value = key(row)
            bucket = buckets.get(value)
            if bucket is None:
                buckets[value] = {row: None}
            else:
                bucket[row] = None
        if self._places is not None:
            place = self._location(row)
            self._places[place] = self._places.get(place, 0) + 1

    def remove(self, row: Row) -> None:
        """Drop a row that is there."""
        del self.rows[row]
        if self._key is not None:
            del self.by_key[self._key(row)]
        for key, buckets in self._indexes:
            value = key(row)
            bucket = buckets[value]
            if len(bucket) == 1:
                del buckets[value]
            else:
                del bucket[row]
        self.born.pop(row, None)
        if self._places is not None:
            place = self._location(row)
            self._places[place] -= 1
            if not self._places[place]:
                del self._places[place]

    def touch(self, row: Row, now: float) -> None:
        """Say that a row that is there came, or was refreshed, now."""
        born = self.born
        born.pop(row, None)
        born[row] = now

    def overflow(self, row: Row) -> Row | None:
        """Return the oldest row where this one is, if they are more than fit; never this one."""
        size = self.shape.size
        if self._places is None or size is None:
            return None
        place = self._location(row)
        if self._places[place] <= size:
            return None
        oldest = next(other for other in self.born if self._location(other) == place)
        return None if oldest == row else oldest

    def expired(self, now: float) -> list[Row]:
        """Return the rows whose lifetime is over, the oldest first."""
        lifetime = self.shape.lifetime
        gone: list[Row] = []
        if lifetime is not None:
            for row, born in self.born.items():
                if born + lifetime > now:
                    break
                gone.append(row)
        return gone

    def next_expiry(self) -> float | None:
        """Return when the first row will have lived its time, if any will."""
        if self.shape.lifetime is None or not self.born:
            return None
        return next(iter(self.born.values())) + self.shape.lifetime

    def sorted_rows(self) -> list[Row]:
        """Return the rows in an order that does not depend on how they came."""
        return sorted(self.rows, key=sort_key)


def sort_key(row: Iterable[object]) -> tuple[tuple[str, object], ...]:
    """Return what rows of mixed types are ordered by."""
    return tuple(_ordered(value) for value in row)


def _ordered(value: object) -> tuple[str, object]:
    if isinstance(value, tuple):
        return ("tuple", sort_key(value))
    if isinstance(value, int | float):
        return ("number", value)
    return (type(value).__name__, value)
