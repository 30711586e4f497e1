"""Plans: what is to be computed, step by step, in terms of variables; engines decide how.

A rule plan is a pipeline. It starts from one empty binding, each step narrows or extends the
bindings, and the head is read off what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

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


@dataclass(frozen=True, slots=True)
class Exists:
    """The bindings for which a row has the key, or none has."""

    relation: str
    version: Version
    key: Key
    negated: bool


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


@dataclass(frozen=True, slots=True)
class Stratum:
    """What a stratum plan is made from, once the sizes of what lies below are known."""

    number: int
    relations: tuple[str, ...]
    recursive: bool
    facts: tuple[Atom, ...]
    rules: tuple[Rule, ...]
    subsumptions: tuple[Subsumption, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A rewritten program in evaluation order."""

    program: Program
    strata: tuple[Stratum, ...]
