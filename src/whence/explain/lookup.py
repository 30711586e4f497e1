"""The tuples of relations as explanations ask for them: by what is known of them, few at a time.

`engine_tuples.py` has them of the rows of an engine or a view, through its indexes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
