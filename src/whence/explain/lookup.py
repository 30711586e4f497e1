"""The tuples of relations as explanations ask for them: by what is known of them, few at a time.

`Tuples` is what a search needs; `PlainTuples` has it of Python values, and `engine_tuples.py` of
the rows of an engine or a view, through its indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias

from whence.explain.model import Fact, Value
from whence.syntax.nodes import Kind

Row: TypeAlias = tuple[Value, ...]
Known: TypeAlias = Mapping[int, Value]
"""The values of some columns."""


class Tuples(Protocol):
    """The tuples of all relations, in one state."""

    exact: bool
    """Whether a rank is one less than the least height within what is computed together."""

    selected: frozenset[str]
    """The relations that may lack tuples, because only the best ones were followed."""

    def matching(self, relation: str, known: Known, below: int | None = None) -> Iterator[Row]:
        """Yield the tuples with these values; with `below`, those of lower rank only."""
        ...

    def expected(self, relation: str, known: Known) -> float:
        """Return about how many tuples have these values, at little cost."""
        ...

    def count(self, relation: str, known: Known) -> int:
        """Return how many tuples have these values."""
        ...

    def holds(self, fact: Fact) -> bool:
        """Say whether the fact is there."""
        ...

    def is_base(self, fact: Fact) -> bool:
        """Say whether the fact was given."""
        ...

    def has_base(self, relation: str) -> bool:
        """Say whether facts of the relation were given."""
        ...

    def rank(self, fact: Fact) -> int | None:
        """Return the rank of a fact that is there, None in a relation without ranks.

        Ranks are compared between facts of relations that are computed together.
        """
        ...

    def ordinal(self, value: Value, kind: Kind) -> int:
        """Return the number of a symbol or record, which `ord` gives."""
        ...

    def reread(self, value: Value, type_: str) -> Value:
        """Return a value as `as` gives it: the same code, read as another type."""
        ...


class PlainTuples:
    """Tuples of Python values, all of them looked at; none has a rank."""

    exact = False
    selected: frozenset[str] = frozenset()

    def __init__(
        self, relations: Mapping[str, Iterable[Row]], base: Mapping[str, Iterable[Row]]
    ) -> None:
        self._rows = {name: dict.fromkeys(rows) for name, rows in relations.items()}
        self._base = {name: set(rows) for name, rows in base.items()}
        self._ordinals: dict[Value, int] = {}

    def matching(self, relation: str, known: Known, below: int | None = None) -> Iterator[Row]:
        rows = self._rows.get(relation, {})
        return (row for row in rows if all(equal(row[c], v) for c, v in known.items()))

    def expected(self, relation: str, known: Known) -> float:
        return len(self._rows.get(relation, ())) / (1 + len(known))

    def count(self, relation: str, known: Known) -> int:
        return sum(1 for _ in self.matching(relation, known))

    def holds(self, fact: Fact) -> bool:
        return fact.row in self._rows.get(fact.relation, ())

    def is_base(self, fact: Fact) -> bool:
        return fact.row in self._base.get(fact.relation, ())

    def has_base(self, relation: str) -> bool:
        return bool(self._base.get(relation))

    def rank(self, fact: Fact) -> int | None:
        return None

    def ordinal(self, value: Value, kind: Kind) -> int:
        return self._ordinals.setdefault(value, len(self._ordinals))

    def reread(self, value: Value, type_: str) -> Value:
        return value


def equal(a: Value, b: Value) -> bool:
    """Say whether two values are equal; a NaN equals itself."""
    return a == b or (a != a and b != b)
