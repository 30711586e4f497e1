"""The definition of annotations: the sum over all derivation trees of a fact, tree by tree.

All instances of all rules come from naive evaluation over plain Python values. Slow and obvious;
the judge of grounding and of every way to solve.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, TypeAlias, TypeVar

from whence.analysis.strata import strata
from whence.engine.naive import State
from whence.engine.solver import Bindings, Names, Row, Value, names_of
from whence.functor import UserFunctors
from whence.semiring.base import Cell, Law, Semiring
from whence.syntax.nodes import Aggregate, Atom, Literal, Program
from whence.syntax.tuples import tuple_text

T = TypeVar("T")

Fact: TypeAlias = tuple[str, Row]

_PREMISES = "@premises"
"""Beside the variables of a binding: the facts of the atoms that are satisfied."""


class TooManyTrees(Exception):
    """There are more derivation trees than are to be looked at."""


class Infinite(Exception):
    """A fact has infinitely many derivation trees."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A rule, by its place in the program, with values: the head and the facts of its atoms."""

    rule: int
    head: Fact
    premises: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Derivations:
    """All that is derived, and from what."""

    facts: tuple[Fact, ...]
    stated: tuple[tuple[Fact, Cell | None], ...]
    """The facts of the program's text, with their annotations."""
    instances: tuple[Instance, ...]

    def deriving(self) -> dict[Fact, list[Instance]]:
        """Return the instances that derive each fact."""
        found: dict[Fact, list[Instance]] = {fact: [] for fact in self.facts}
        for instance in self.instances:
            found[instance.head].append(instance)
        return found


class Derive(Protocol):
    """How derivations are found; `derivations`, or the same with a memory."""

    def __call__(
        self, program: Program, given: Mapping[str, Iterable[Row]], *, without: frozenset[Fact]
    ) -> Derivations: ...


def derivations(
    program: Program,
    given: Mapping[str, Iterable[Row]],
    functors: UserFunctors | None = None,
    *,
    without: Collection[Fact] = (),
) -> Derivations:
    """Return the facts of a program whose types are resolved, and all instances of its rules.

    Facts of `without` are taken back once their stratum is complete. An instance is one for each
    way in which the body holds; two alternatives of a disjunction are two.
    """
    state = _Recording(program, functors or UserFunctors())
    for name, rows in given.items():
        state.relations[name].update(dict.fromkeys(rows))
    found: list[Instance] = []
    for stratum in strata(program):
        state.complete(stratum.relations, stratum.recursive)
        found += [i for i in state.instances() if i.head[0] in stratum.relations]
        for name, row in without:
            if name in stratum.relations:
                state.relations[name].pop(row, None)
    facts = {(name, row): None for name, rows in state.relations.items() for row in rows}
    return Derivations(
        tuple(facts),
        tuple(found for found in state.stated() if found[0] in facts),
        tuple(i for i in found if i.head in facts and all(p in facts for p in i.premises)),
    )


class _Recording(State):
    """Naive evaluation that knows which facts a body was satisfied by."""

    recording = False

    def instances(self) -> Iterator[Instance]:
        """Yield the instances of all rules over the relations as they are."""
        self.recording = True
        for number, rule in enumerate(self.program.rules):
            scope = names_of(*rule.heads, *rule.body)
            for found in self.solve(rule.body, {}, scope) if rule.body else ():
                for head in rule.heads:
                    for row in self.row(head.args, found, scope):
                        premises: Any = found.get(_PREMISES, ())
                        yield Instance(number, (head.relation, row), premises)
        self.recording = False

    def stated(self) -> Iterator[tuple[Fact, Cell | None]]:
        """Yield the facts of the program's text, with their annotations."""
        for rule in self.program.rules:
            for head in rule.heads if not rule.body else ():
                for row in self.row(head.args, {}, frozenset()):
                    cell = None if rule.annotation is None else rule.annotation.value
                    yield (head.relation, row), cell

    def satisfy(self, literal: Literal, given: Bindings, scope: Names) -> Iterator[Bindings]:
        if not self.recording or not isinstance(literal, Atom):
            yield from super().satisfy(literal, given, scope)
            return
        before: Any = given.get(_PREMISES, ())
        for row in self.rows(literal, given, scope):
            for found in self.unify(literal.args, row, given, scope):
                premises: Any = (*before, (literal.relation, row))
                yield {**found, _PREMISES: premises}

    def aggregate(self, term: Aggregate, found: Bindings, scope: Names) -> list[Value]:
        # What is inside is read for its support.
        before, self.recording = self.recording, False
        values = super().aggregate(term, found, scope)
        self.recording = before
        return values


def annotate(
    program: Program,
    given: Iterable[tuple[Fact, Cell | None]],
    semiring: Semiring[T],
    *,
    derive: Derive = derivations,
    most: int = 20_000,
) -> dict[Fact, T]:
    """Return the annotation of every fact, given base facts and what they are annotated with.

    The same fact with the same annotation is given once; with several it has their sum. What
    turns out zero is not there: it is taken back before the strata above are evaluated. In the
    program's text no fact is annotated zero.
    """
    given = list(given)
    rows: dict[str, list[Row]] = {}
    for (name, row), value in base_of(given, semiring).items():
        if value != semiring.zero:
            rows.setdefault(name, []).append(row)
    order = [stratum.relations for stratum in strata(program)]
    without: frozenset[Fact] = frozenset()
    while True:
        found = derive(program, rows, without=without)
        values = sums(found, base_of((*given, *found.stated), semiring), semiring, most=most)
        zeros = {fact for fact, value in values.items() if value == semiring.zero} - without
        if not zeros:
            return values
        lowest = min(i for i, names in enumerate(order) for name, _ in zeros if name in names)
        without |= {fact for fact in zeros if fact[0] in order[lowest]}


def base_of(given: Iterable[tuple[Fact, Cell | None]], semiring: Semiring[T]) -> dict[Fact, T]:
    """Return the annotations of base facts; one that comes without has its name."""
    found: dict[Fact, dict[T, None]] = {}
    for fact, cell in given:
        text = tuple_text(*fact)
        value = semiring.variable(text) if cell is None else semiring.annotate(text, cell)
        found.setdefault(fact, {})[value] = None
    return {fact: semiring.sum(values) for fact, values in found.items()}


def sums(
    found: Derivations, base: Mapping[Fact, T], semiring: Semiring[T], *, most: int = 20_000
) -> dict[Fact, T]:
    """Return the sum over the derivation trees of each fact.

    Where a fact is derived from itself there are infinitely many. To an absorptive semiring those
    add nothing that repeat a fact on a path; to a stable one those add nothing that are high
    enough; to any other the sum is infinite, or there is none.
    """
    if semiring.laws & Law.ABSORPTIVE:
        return _by_tree(found, base, semiring, most, skip_repeats=True)
    if semiring.laws & Law.STABLE:
        return _by_height(found, base, semiring)
    return _by_tree(found, base, semiring, most, skip_repeats=False)


def _by_tree(
    found: Derivations,
    base: Mapping[Fact, T],
    semiring: Semiring[T],
    most: int,
    *,
    skip_repeats: bool,
) -> dict[Fact, T]:
    deriving = found.deriving()
    looked_at = 0

    def trees(fact: Fact, above: frozenset[Fact]) -> Iterator[T]:
        """Yield the product of the leaves of each derivation tree."""
        nonlocal looked_at
        if fact in above:
            if skip_repeats:
                return
            raise Infinite(fact)
        if fact in base:
            yield base[fact]
        for instance in deriving[fact]:
            ways = [list(trees(premise, above | {fact})) for premise in instance.premises]
            for choice in product(*ways):
                looked_at += 1
                if looked_at > most:
                    raise TooManyTrees
                value = semiring.one
                for part in choice:
                    value = semiring.times(value, part)
                yield value

    values: dict[Fact, T] = {}
    for fact in found.facts:
        total = semiring.zero
        try:
            for value in trees(fact, frozenset()):
                total = semiring.plus(total, value)
        except Infinite:
            if semiring.infinite is None:
                raise
            total = semiring.infinite
        values[fact] = total
    return values


def _by_height(found: Derivations, base: Mapping[Fact, T], semiring: Semiring[T]) -> dict[Fact, T]:
    """Sum over trees of ever greater height, until that changes nothing."""
    values = dict.fromkeys(found.facts, semiring.zero)
    while True:
        higher = {fact: base.get(fact, semiring.zero) for fact in found.facts}
        for instance in found.instances:
            value = semiring.one
            for premise in instance.premises:
                value = semiring.times(value, values[premise])
            higher[instance.head] = semiring.plus(higher[instance.head], value)
        if higher == values:
            return values
        values = higher
