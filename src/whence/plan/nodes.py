"""Plans: what is to be computed, step by step, in terms of variables; engines decide how.

A rule plan is a pipeline. It starts from one empty binding, each step narrows or extends the
bindings, and the head is read off what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from whence.diagnostics import Diagnostic, Span
from whence.syntax.nodes import (
    Atom,
    Constant,
    Constraint,
    Kind,
    Program,
    Rule,
    Subsumption,
    Term,
    Variable,
)


class Version(Enum):
    """Which rows of a relation a step reads in a round of semi-naive evaluation."""

    ALL = ""
    OLD = "old "
    DELTA = "Δ"
    BEFORE = "before "
    """As it was before the transaction; only live relations know."""
    FOLLOWED = "followed "
    """The rows that the recursion follows; only live relations know."""


Operand: TypeAlias = Variable | Constant
"""A value known when a step runs."""

Key: TypeAlias = tuple[tuple[int, Operand], ...]
"""Columns that must equal known values."""

Takes: TypeAlias = tuple[tuple[int, str], ...]
"""Columns whose values become variables."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Every row of a relation; always the first step."""

    relation: str
    version: Version
    takes: Takes
    key: Key = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """Each binding with every row that has its key."""

    relation: str
    version: Version
    key: Key
    takes: Takes
    below: str | None = None
    """A variable that the ranks of the rows must be below; only live relations have ranks."""


@dataclass(frozen=True, slots=True)
class Exists:
    """The bindings for which a row has the key, or none has."""

    relation: str
    version: Version
    key: Key
    negated: bool
    below: str | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """The bindings for which the constraint holds."""

    constraint: Constraint


@dataclass(frozen=True, slots=True)
class Bind:
    """Each binding with the term's value."""

    variable: str
    term: Term


@dataclass(frozen=True, slots=True)
class Unpack:
    """Each binding whose record is not nil, with the record's fields."""

    record: str
    arity: int
    takes: Takes


@dataclass(frozen=True, slots=True)
class Fold:
    """Each binding with the aggregate over the rows that have its key."""

    variable: str
    function: str
    kind: Kind
    relation: str
    key: Key
    target: int | None


@dataclass(frozen=True, slots=True)
class Gather:
    """Each binding with the aggregate over what the inner steps make of it.

    For aggregates whose bodies need values that only the recursion around them knows.
    """

    variable: str
    function: str
    kind: Kind
    steps: tuple[Step, ...]
    target: str | None


Step: TypeAlias = Scan | Probe | Exists | Test | Bind | Unpack | Fold | Gather


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A rule, or a delta version of it; `delta` is the relation whose new rows it starts from."""

    rule: Rule
    head: Atom
    steps: tuple[Step, ...]
    delta: str | None = None


@dataclass(frozen=True, slots=True)
class Keyed:
    """A subsumption that keeps, of the rows with equal key, the one with the best value."""

    key: tuple[int, ...]
    value: int
    kind: Kind
    greatest: bool


class Combine(Enum):
    """What a step makes of the value that it starts from and its own weight."""

    SUM = "+"
    PRODUCT = "*"
    LEAST = "min"
    GREATEST = "max"
    BOUNDED = "bounded"
    """max(0, a + b - 1)."""


@dataclass(frozen=True, slots=True)
class Search:
    """A recursion as a search: `pivot` columns are carried along, `state` columns change."""

    relation: str
    keyed: Keyed | None
    """Which value is best for a state; None where a state is just reached."""
    pivot: tuple[int, ...]
    state: tuple[int, ...]
    combine: Combine
    steps: tuple[Rule, ...]
    """Rules for `@step:` tuples: the state a step leaves, the one it reaches, and its weight."""
    seeds: tuple[Rule, ...]
    """The rules without recursion, which give what searches start from."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Only the rows that are best in their group can matter.

    Of those that are equally good all do, or with no `ties` any one.
    """

    key: tuple[int, ...]
    value: int
    kind: Kind
    greatest: bool
    ties: bool = True


@dataclass(frozen=True, slots=True)
class Positive:
    """An assumption: all values of a column of a relation are above zero."""

    relation: str
    column: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Growth:
    """Columns of a recursive relation that grow with each round while nothing tests them.

    `free` are the columns on which no rule of the recursion depends. Of these, the way round a
    cycle changes every value of a column of `certain` or none; and multiplies every value of a
    column of `scaled` by the same.
    """

    relation: str
    free: tuple[int, ...]
    certain: tuple[int, ...]
    scaled: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Domination:
    """A general subsumption: pairs of a dominated and a dominating tuple, one after the other."""

    relation: str
    subsumption: Subsumption
    pairs: tuple[RulePlan, ...]


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """Relations computed together: rules run once, then delta rules until nothing is new."""

    number: int
    relations: tuple[str, ...]
    recursive: bool
    once: tuple[RulePlan, ...]
    repeated: tuple[RulePlan, ...]
    keyed: tuple[tuple[str, Keyed], ...] = ()
    dominations: tuple[Domination, ...] = ()
    selections: tuple[tuple[str, tuple[Selection, ...]], ...] = ()
    assumes: tuple[Positive, ...] = ()
    """What the selections rest on; where it does not hold, they must not be used."""
    growths: tuple[Growth, ...] = ()
    search: Search | None = None
    steps: tuple[RulePlan, ...] = ()
    """The plans of the search's steps."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """What a stratum plan is made from, once the sizes of what lies below are known."""

    number: int
    relations: tuple[str, ...]
    recursive: bool
    facts: tuple[Atom, ...]
    rules: tuple[Rule, ...]
    subsumptions: tuple[Subsumption, ...]
    selections: tuple[tuple[str, tuple[Selection, ...]], ...] = ()
    assumes: tuple[Positive, ...] = ()
    growths: tuple[Growth, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A rewritten program in evaluation order."""

    program: Program
    strata: tuple[Stratum, ...]
    refusals: tuple[tuple[str, Diagnostic], ...] = ()
    """Recursive relations under aggregates that are computed in full all the same, and why."""

    @property
    def selected(self) -> frozenset[str]:
        """The relations of which only what is best is followed: they may lack other rows."""
        return frozenset(name for stratum in self.strata for name, _ in stratum.selections)
