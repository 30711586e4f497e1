"""The contract of every engine: inputs as Arrow tables, limits, an observer, an evaluation.

Engines take the same checked program and must give the same relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Limits:
    """What an evaluation may use; None is no limit."""

    max_memory: int | None = None
    """Resident bytes of the process."""
    timeout: float | None = None
    """Seconds from the start of the evaluation."""
    max_tuples: int | None = None
    """Tuples over all relations."""


@dataclass(frozen=True, slots=True)
class Round:
    """What an observer is told after each round of a stratum."""

    stratum: int
    strata: int
    relations: tuple[str, ...]
    round: int
    new_tuples: int
    total_tuples: int
    seconds: float


class Observer(Protocol):
    """Somebody who watches an evaluation, such as a progress display."""

    def on_round(self, event: Round) -> None: ...


@dataclass(frozen=True, slots=True)
class RelationStats:
    tuples: int
    rounds: int


@dataclass(slots=True)
class Stats:
    """What one evaluation cost."""

    load_seconds: float = 0.0
    """Reading the facts and turning them into rows."""
    prepare_seconds: float = 0.0
    """Loading the machine code of kernels, or compiling it where it was not cached."""
    evaluate_seconds: float = 0.0
    write_seconds: float = 0.0
    peak_memory_bytes: int = 0
    threads: int = 1
    relations: dict[str, RelationStats] = field(default_factory=dict)


class Evaluation(Protocol):
    """The relations after evaluation."""

    @property
    def stats(self) -> Stats:
        """What it cost."""
        ...

    @property
    def selected(self) -> frozenset[str]:
        """The relations that may lack rows, because only the best ones were followed."""
        ...

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        ...

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, decoded, one Arrow column per attribute.

        Columns are int64, uint64, double or string by the kind of the attribute; records are
        strings in Soufflé's notation, `[1, nil]`. `ordered` sorts by the columns, left to right.
        """
        ...


class Engine(Protocol):
    """One way to evaluate a plan."""

    name: str

    def evaluate(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table],
        *,
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
    ) -> Evaluation: ...
