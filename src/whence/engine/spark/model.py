"""A program cut up for several tasks: groups of relations, and where their tuples are.

A group is an ordinary Datalog program over *copies* of relations: `edge@0` holds, at each task,
the tuples whose first column that task owns, `edge@all` holds all of them at every task. A task
evaluates the program over its own copies. Only what a group *ships* crosses from task to task.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from whence.syntax.nodes import Atom, Program


@dataclass(frozen=True, slots=True)
class By:
    """Each tuple is at the task that owns its value in this column."""

    column: int

    def __str__(self) -> str:
        return str(self.column)


class Whole(Enum):
    """Placements that keep a relation together."""

    EVERYWHERE = "all"
    """Every task has every tuple."""
    ALONE = "one"
    """Task 0 has every tuple, the others have none."""
    SOMEWHERE = "some"
    """Each tuple is at some tasks, perhaps at several: only for what is written and not read."""

    def __str__(self) -> str:
        return self.value


EVERYWHERE, ALONE, SOMEWHERE = Whole.EVERYWHERE, Whole.ALONE, Whole.SOMEWHERE

Placement: TypeAlias = By | Whole


@dataclass(frozen=True, slots=True)
class Copy:
    """A relation of the user's program as a group's program knows it."""

    name: str
    """`edge@0`, `edge@all`."""
    relation: str
    """`edge`."""
    placement: Placement


@dataclass(frozen=True, slots=True)
class Ship:
    """Tuples derived at one task and kept at others.

    What rules derive is in `outbox`, which no rule reads but the copying ones. A new tuple goes to
    its `home`, which sees to it that it is new, and from there to the further `copies`. The group's
    program has all of these as rules, `path@0(x, y) :- path@out(x, y)`, so that one task alone
    evaluates it as it stands; several tasks leave those rules out and send.
    """

    relation: str
    outbox: str
    home: Copy
    copies: tuple[Copy, ...] = ()


class Strategy(Enum):
    """How a group runs on Spark; `--strategy` names these."""

    DECOMPOSED = "decomposed"
    """Tasks that never speak to each other, each with its share: one `mapInArrow`."""
    GANG = "gang"
    """Tasks that run together and exchange new tuples: one barrier stage."""
    ROUNDS = "rounds"
    """A loop of Spark jobs over frames."""
    ALONE = "alone"
    """One task, for what cannot be taken apart."""


@dataclass(frozen=True, slots=True)
class Group:
    """Relations that one Spark job (or one loop of jobs) derives."""

    number: int
    strategy: Strategy
    strata: tuple[int, ...]
    """The numbers of the strata of the plan that it evaluates."""
    program: Program
    """What a task evaluates; of ROUNDS, the rules over the relations themselves."""
    reads: tuple[Copy, ...]
    """What a task is given: inputs, stated facts and what groups before this one wrote.

    A relation that this group writes as well is read as it was given.
    """
    writes: tuple[Copy, ...]
    """Where the derived relations are. The union over the tasks is each of them whole, without
    duplicates; of EVERYWHERE any one task has it, of SOMEWHERE there may be duplicates."""
    ships: tuple[Ship, ...] = ()
    why: str = ""
    """Why this strategy, in a sentence for people."""
    asked: tuple[str, ...] | None = None
    """The copies whose tuples somebody reads, for `build_plan`; None when that may be any."""


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """The groups in the order in which they run."""

    groups: tuple[Group, ...]
    facts: tuple[Atom, ...] = ()
    """Facts of constants, given to those who read their relation beside what the inputs hold.

    No group's program states them. Some are of relations that only placing knows: of one column,
    or of none, with names that begin with `@`; whoever reads them finds their types in the program.
    """
