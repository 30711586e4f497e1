"""The contract of every view: batches of base facts in, exact changes of every relation out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

STRATEGIES: Final[tuple[str, ...]] = ("auto", "ranked", "dred", "counting", "recompute")
"""How a view may be maintained; the first is the default."""


@dataclass(frozen=True, slots=True)
class Update:
    """Base facts of one relation that go and that come; a fact in both is there afterwards."""

    inserted: pa.Table | None = None
    deleted: pa.Table | None = None


Batch = Mapping[str, Update]
"""The updates of one transaction, by relation."""


class Change:
    """What a batch did to one relation; the tuples are decoded when somebody looks."""

    __slots__ = ("_deleted", "_inserted", "deletions", "insertions", "relation")

    def __init__(
        self,
        relation: str,
        insertions: int,
        deletions: int,
        inserted: Callable[[], pa.Table],
        deleted: Callable[[], pa.Table],
    ) -> None:
        self.relation = relation
        self.insertions = insertions
        self.deletions = deletions
        self._inserted = inserted
        self._deleted = deleted

    @property
    def inserted(self) -> pa.Table:
        """The tuples that came."""
        return self._inserted()

    @property
    def deleted(self) -> pa.Table:
        """The tuples that went."""
        return self._deleted()

    def __repr__(self) -> str:
        return f"<Change {self.relation} +{self.insertions} -{self.deletions}>"


class Changes(Mapping[str, Change]):
    """The relations that a batch changed, base relations among them, and how."""

    __slots__ = ("_by_relation",)

    def __init__(self, changes: Mapping[str, Change]) -> None:
        self._by_relation = dict(changes)

    def __getitem__(self, relation: str) -> Change:
        return self._by_relation[relation]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_relation)

    def __len__(self) -> int:
        return len(self._by_relation)

    def __repr__(self) -> str:
        return f"Changes({', '.join(map(repr, self._by_relation.values()))})"


@dataclass(slots=True)
class StratumWork:
    """What one batch did in one stratum."""

    stratum: int
    relations: tuple[str, ...]
    strategy: str
    seconds: float = 0.0
    asked: int = 0
    """Tuples whose support was checked."""
    removed: int = 0
    """Tuples taken out, for good or to come back."""
    restored: int = 0
    """Tuples taken out that came back."""
    inserted: int = 0
    deleted: int = 0


@dataclass(slots=True)
class Work:
    """What the last batch cost, stratum by stratum."""

    seconds: float = 0.0
    strata: list[StratumWork] = field(default_factory=list)


class View(Protocol):
    """The relations of a program over base facts that change."""

    work: Work

    @property
    def selected(self) -> frozenset[str]:
        """The relations that may lack rows that are not best; `Changes` leave them out."""
        ...

    def apply(self, batch: Batch) -> Changes:
        """Apply the whole batch, or nothing when it fails, and return the net changes."""
        ...

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        ...

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, decoded, as an engine's evaluation does."""
        ...

    def base(self, relation: str) -> pa.Table:
        """Return the base facts of the relation: those that were given, not derived."""
        ...

    def matching(self, relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
        """Return the base facts whose columns have the values of some row of `keys`."""
        ...
