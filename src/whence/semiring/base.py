"""The contract of every semiring: two operations, their neutral elements, and the laws they keep.

Annotations are added over the derivations of a fact and multiplied over the premises of each.
Multiplication is commutative, because the order of the literals of a body means nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

Cell = int | float | str
"""What an annotation looks like in a column of facts."""


class Law(Flag):
    """What a semiring may claim beside being a commutative semiring; evaluation rests on it."""

    NONE = 0
    IDEMPOTENT = auto()
    """a ⊕ a = a: a derivation that is met twice does no harm."""
    ABSORPTIVE = auto()
    """1 ⊕ a = 1 (0-closed): going round a cycle never adds anything; implies idempotent."""
    SELECTIVE = auto()
    """a ⊕ b is a or b: the natural order is total."""
    STABLE = auto()
    """Round by round evaluation ends on every finite instance, whatever the annotations."""


class Times(Enum):
    """How a chain of numbers multiplies, for engines that compute with arrays of numbers."""

    ADD = "+"
    MULTIPLY = "*"
    LEAST = "min"
    GREATEST = "max"
    BOUNDED = "max(0, a + b - 1)"


@dataclass(frozen=True, slots=True)
class Chain:
    """A totally ordered, absorptive semiring over numbers, as engines take it.

    `least` says that the smaller of two numbers is their sum. `one` is the best number there is,
    `zero` the worst; a fact annotated with zero is not there.
    """

    times: Times
    least: bool
    one: float
    zero: float


class Semiring(ABC, Generic[T]):
    """One algebra of annotations. Values are immutable and hashable; `==` is equality."""

    name: str
    laws: Law
    column: Literal["number", "float", "symbol"]
    """The kind of the column in which annotations come and go."""
    zero: T
    one: T

    @abstractmethod
    def plus(self, a: T, b: T) -> T:
        """Add two alternatives."""

    @abstractmethod
    def times(self, a: T, b: T) -> T:
        """Multiply two annotations that are needed together."""

    @abstractmethod
    def read(self, cell: Cell) -> T:
        """Return the annotation that a column's value stands for; ValueError says what is wrong."""

    @abstractmethod
    def show(self, value: T) -> Cell:
        """Return what the column says; `read` takes it back wherever that is possible."""

    def check(self, cell: Cell) -> None:
        """Refuse a column's value that `read` would refuse, and make no annotation of it."""
        self.read(cell)

    def variable(self, fact: str) -> T:
        """Return the annotation of a base fact that comes without one, given as text.

        Semirings that tell facts apart name it; to the others it is just there.
        """
        return self.one

    def annotate(self, fact: str, cell: Cell) -> T:
        """Return the annotation of a base fact, given as text, that a column's value stands for.

        It is what `read` gives, unless equal cells mean different things to different facts: two
        facts of probability 0.5 are two events.
        """
        return self.read(cell)

    def sum(self, values: Iterable[T]) -> T:
        """Add any number of alternatives, in less time than one by one where that is possible."""
        total = self.zero
        for value in values:
            total = self.plus(total, value)
        return total

    @property
    def infinite(self) -> T | None:
        """The sum of infinitely many derivations none of which is zero; None where there is none.

        Only asked of semirings that are not stable: to them a cycle adds without end.
        """
        return None

    def samples(self) -> Iterable[T]:
        """Return some values, as different as possible, to check the laws with.

        Without it there are only those that facts have which come without annotations.
        """
        a, b = self.variable("a"), self.variable("b")
        return (self.zero, self.one, a, b, self.plus(a, b), self.times(a, b))

    @property
    def chain(self) -> Chain | None:
        """How engines may compute with plain numbers, None where annotations are something else."""
        return None


def converges(semiring: Semiring[Any]) -> bool:
    """Say whether annotations come to an end however facts are derived from each other."""
    return bool(semiring.laws & (Law.STABLE | Law.ABSORPTIVE)) or semiring.infinite is not None
