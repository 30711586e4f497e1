"""What a strand does, as data, before it is bound to the tables of a node.

A strand works on a list of slots. The first few are fixed, then come constants, then one slot for
each column of each atom and for each computed value; so keys and heads are picks of slots. What a
strand needs of its node has slots at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from whence.network.model import Value

# Slots: of the change that started a strand, how often that was, and who hears of faults.
SIGN, ANNOTATION, DELTA, COUNT, FAULT, FIRST = 0, 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True)
class Slot:
    """The value of a slot."""

    index: int


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the dialect, an operator, or one of the forms below, over its arguments."""

    function: str
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Whether one of several conditions holds; later ones are not looked at needlessly."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """Whether all of several conditions hold."""

    items: tuple[Expression, ...]


Expression = Slot | Apply | Either | Every


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of a table that agree in some columns with slots; their columns go to new slots.

    `earlier` says that the atom stands before the one that changed, over the same relation: it must
    not see the change itself, or a derivation would be made twice (`<` before it, `<=` after it).
    """

    relation: str
    columns: tuple[int, ...]
    key: tuple[int, ...]
    start: int
    width: int
    row: int  # the slot of the row itself
    position: int  # of the atom in the body
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """No row of a table agrees in some columns with slots."""

    relation: str
    columns: tuple[int, ...]
    key: tuple[int, ...]
    position: int
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class Test:
    """A condition."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Assign:
    """A slot gets a value."""

    slot: int
    value: Expression


Step = Join | Absent | Test | Assign


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate in a head: which column, which function, over which slot (`count<*>`: none)."""

    column: int
    function: str
    slot: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """The tuple that a strand makes: a slot for each column (any for aggregates), and its place."""

    relation: str
    slots: tuple[int, ...]
    location: int | None
    folds: tuple[Fold, ...] = ()
    delete: bool = False


class Mode(Enum):
    """What a rule is, by the relations in it (Loo 2006, definitions 2.10 to 2.15)."""

    VIEW = "view"  # only hard state: maintained exactly
    ASSERT = "assert"  # hard state from soft state or events, or a deletion: done, never undone
    SOFT = "soft"  # soft state or events: made anew, and refreshed with what it comes from


@dataclass(frozen=True, slots=True)
class StrandPlan:
    """One way in which a change leads through a rule."""

    rule: str  # its label
    identity: str  # equal for equal rules of different programs, and quick to compare
    mode: Mode
    position: int  # of the literal that changes, in the body
    relation: str  # whose change starts it
    width: int
    negated: bool  # the atom that changed is negated
    delta_columns: tuple[int, ...]  # columns that a negated atom binds
    event: bool  # the relation is a stream: aggregates are over what one tuple gives
    constants: tuple[tuple[int, Value], ...]
    steps: tuple[Step, ...]
    head: Head
    size: int  # how many slots
    zero: bool = False  # a count that is 0 can be said of the event alone

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the tables that are joined or looked into."""
        return tuple(s.relation for s in self.steps if isinstance(s, Join | Absent))
