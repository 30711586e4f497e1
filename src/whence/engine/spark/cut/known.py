"""What placing knows of a program: its statements by relation, what is given, and how much."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from whence.analysis.kinds import relation_kinds
from whence.engine.spark.cut.reading import Statement, read_rule, read_subsumption
from whence.engine.spark.model import Placement, Whole
from whence.plan.nodes import Plan, Stratum
from whence.syntax.nodes import Kind, Program, RelationDecl, Subsumption, Variable

BROADCAST_BYTES = 64 * 1024 * 1024
"""What is more than this, at 8 bytes a cell, is not sent to every task if there is another way."""


@dataclass(frozen=True, slots=True)
class Known:
    """A plan as placing looks at it."""

    plan: Plan
    tasks: int
    rules: Mapping[str, tuple[Statement, ...]]
    subsumptions: Mapping[str, tuple[tuple[Subsumption, Statement], ...]]
    decls: Mapping[str, RelationDecl]
    kinds: Mapping[str, tuple[Kind, ...]]
    given: frozenset[str]
    """The relations that have facts, from inputs or stated, whether they have rules or not."""
    readers: Mapping[str, frozenset[int]]
    """The numbers of the strata that read a relation."""
    sizes: Mapping[str, int]
    broadcast: int

    @property
    def program(self) -> Program:
        return self.plan.program

    def arity(self, relation: str) -> int:
        return self.decls[relation].arity

    def is_defined(self, stratum: Stratum) -> bool:
        """Say whether there is anything to be done for a stratum."""
        return bool(stratum.rules or stratum.subsumptions)

    def statements(self, relation: str) -> tuple[Statement, ...]:
        """Return the rules and subsumptions of a relation."""
        subsumed = tuple(s for _, s in self.subsumptions.get(relation, ()))
        return self.rules.get(relation, ()) + subsumed

    def bytes(self, relation: str) -> int:
        """Return about how much the relation is, as far as that is known."""
        rows = self.sizes.get(relation, 0)
        return rows * max(1, self.arity(relation)) * 8 if rows else 0

    def fits(self, relation: str) -> bool:
        """Say whether what is given of the relation may be sent to every task."""
        return self.bytes(relation) <= self.broadcast

    def is_awkward(self, relation: str, column: int) -> bool:
        """Say whether values of the column are better not hashed: texts of records, and floats."""
        return self.kinds[relation][column] in (Kind.FLOAT, Kind.RECORD)

    def allows(self, relation: str, placement: Placement) -> bool:
        """Say whether tuples that may dominate each other meet in this placement."""
        return all(
            isinstance(placement, Whole) or placement.column in shared
            for shared in map(_shared, self.subsumptions.get(relation, ()))
        )


def know(
    plan: Plan,
    *,
    inputs: Collection[str],
    sizes: Mapping[str, int] | None,
    tasks: int,
    broadcast: int = BROADCAST_BYTES,
) -> Known:
    """Return what placing wants to know of a plan."""
    program = plan.program
    given = {*inputs, *(d.relation for d in program.directives if d.action == "input")}
    rules: dict[str, list[Statement]] = {}
    subsumptions: dict[str, list[tuple[Subsumption, Statement]]] = {}
    for stratum in plan.strata:
        given.update(fact.relation for fact in stratum.facts)
        for rule in stratum.rules:
            rules.setdefault(rule.head.relation, []).append(read_rule(rule))
        for one in stratum.subsumptions:
            pair = (one, read_subsumption(one))
            subsumptions.setdefault(one.dominated.relation, []).append(pair)
    readers: dict[str, set[int]] = {}
    for stratum in plan.strata:
        for name in stratum.relations:
            pairs = subsumptions.get(name, ())
            for statement in (*rules.get(name, ()), *(s for _, s in pairs)):
                for reading in statement.readings:
                    readers.setdefault(reading.relation, set()).add(stratum.number)
    decls = {decl.name: decl for decl in program.relations}
    given.update(name for name in decls if name not in rules)
    return Known(
        plan,
        tasks,
        {name: tuple(found) for name, found in rules.items()},
        {name: tuple(found) for name, found in subsumptions.items()},
        decls,
        relation_kinds(program),
        frozenset(given) & decls.keys(),
        {name: frozenset(numbers) for name, numbers in readers.items()},
        dict(sizes or {}),
        broadcast,
    )


def _shared(subsumption: tuple[Subsumption, Statement]) -> set[int]:
    """Return the columns in which a dominated and its dominating tuple agree."""
    worse, better = subsumption[1].readings[:2]
    return {
        column
        for column, (a, b) in enumerate(zip(worse.terms, better.terms, strict=True))
        if a == b and isinstance(a, Variable)
    }
