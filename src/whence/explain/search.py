"""The solver of the definition over tuples that are looked up, from a head that is known.

It takes literals in the order that promises the fewest tuples, and can be kept below a rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass

from whence.analysis.traverse import has_aggregate
from whence.engine.solver import Bindings, Body, Names, Row, Solver, is_known, is_ready, same
from whence.explain.lookup import Tuples
from whence.explain.model import Fact, Value
from whence.explain.rules import HeadRule, Rules
from whence.functor import FunctorFault, UserFunctors
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Cast,
    Constant,
    Kind,
    Literal,
    Nil,
    Term,
    Variable,
    Wildcard,
)

_LATE = 1e6
"""What an aggregate counts as, in tuples: what binds or tests at less cost comes before it."""


class Exhausted(Exception):
    """A search has looked at as many tuples as it may."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a rule that holds."""

    rule: HeadRule
    found: Bindings
    premises: tuple[Fact, ...]
    """The facts that its positive atoms name, in the order of the body."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The arguments of an atom: plain values, variables, and what has to be computed."""

    values: tuple[tuple[int, Value], ...]
    variables: tuple[tuple[int, str], ...]
    others: tuple[tuple[int, Term], ...]


class Search(Solver):
    """Finds instances of rules; `steps` counts the tuples it has looked at."""

    def __init__(self, rules: Rules, functors: UserFunctors, tuples: Tuples) -> None:
        super().__init__(rules.program, functors)
        self.rules = rules
        self.tuples = tuples
        self.limit: int | None = None
        self.steps = 0
        self._below: Mapping[str, int] = {}
        self._shapes: dict[int, tuple[Atom, _Shape]] = {}

    def below(self, ranks: Mapping[str, int]) -> Search:
        """Return a search in which atoms of these relations are of lower rank."""
        if not ranks:
            return self
        found = copy(self)
        found._below = ranks
        return found

    def limited(self, limit: int) -> Search:
        """Return a search that raises `Exhausted` after so many tuples."""
        found = copy(self)
        found.limit, found.steps = limit, 0
        return found

    # ── instances ──

    def instances(self, fact: Fact) -> Iterator[Instance]:
        """Yield the instances that derive a fact, rule by rule."""
        for rule in self.rules.of(fact.relation):
            yield from self.instances_of(rule, fact.row)

    def instances_of(self, rule: HeadRule, row: Row) -> Iterator[Instance]:
        """Yield the instances of a rule whose head is the row."""
        given = rule.given(row)
        if given is None:
            return
        for found in self.solve(rule.body, given, rule.scope):
            premises = tuple([self.fact(atom, found, rule.scope) for atom in rule.atoms])
            yield Instance(rule, found, premises)

    def fact(self, atom: Atom, found: Bindings, scope: Names) -> Fact:
        """Return the fact that an atom is under bindings of all its variables."""
        shape = self._shape(atom)
        if not shape.others:
            row: list[Value] = [None] * len(atom.args)
            for column, value in shape.values:
                row[column] = value
            for column, name in shape.variables:
                row[column] = found[name]
            return Fact(atom.relation, tuple(row))
        (values,) = self.row(atom.args, found, scope)
        return Fact(atom.relation, values)

    # ── what the solver asks ──

    def choose(self, body: Body, given: Bindings, scope: Names) -> int:
        """Return the place of a test that can be made, else of the atom with fewest tuples."""
        best, least = -1, float("inf")
        bound = given.keys()
        for place, literal in enumerate(body):
            if isinstance(literal, Atom):
                shape = self._shape(literal)
                if shape.others and not is_ready(literal, bound, scope):
                    continue
                if len(body) == 1:
                    return place
                known = self.known(literal, given, scope)
                if known is None or len(known) == len(literal.args):
                    return place  # at most one tuple
                cost = self.tuples.expected(literal.relation, known)
            elif not is_ready(literal, bound, scope):
                continue
            elif not has_aggregate(literal):
                return place
            else:
                cost = _LATE
            if cost < least:
                best, least = place, cost
        assert best >= 0, "the rule is not safe"
        return best

    def satisfy(self, literal: Literal, given: Bindings, scope: Names) -> Iterator[Bindings]:
        """Yield the bindings under which a literal holds; what has no value does not."""
        try:
            if isinstance(literal, Atom):
                yield from self._matches(literal, given, scope)
            else:
                yield from super().satisfy(literal, given, scope)
        except FunctorFault:
            return

    def rows(self, atom: Atom, given: Bindings, scope: Names) -> Iterator[Row]:
        known = self.known(atom, given, scope)
        if known is None:
            return
        below = self._below.get(atom.relation) if self._below else None
        for row in self.tuples.matching(atom.relation, known, below):
            self.steps += 1
            if self.limit is not None and self.steps > self.limit:
                raise Exhausted
            yield row

    def ordinal(self, value: Value, kind: Kind) -> int:
        return self.tuples.ordinal(value, kind)

    def values(self, term: Term, found: Bindings, scope: Names) -> list[Value]:
        if isinstance(term, Cast):
            inner = self.values(term.term, found, scope)
            return [self.tuples.reread(value, term.type) for value in inner]
        return super().values(term, found, scope)

    def aggregate(self, term: Aggregate, found: Bindings, scope: Names) -> list[Value]:
        counted = self.counted(term, found, scope)
        return super().aggregate(term, found, scope) if counted is None else [counted]

    # ── how ──

    def counted(self, term: Aggregate, found: Bindings, scope: Names) -> int | None:
        """Return a count of the tuples of one atom without looking at them, None of others."""
        match term:
            case Aggregate(function="count", target=None, body=(Atom() as atom,)):
                shape = self._shape(atom)
                bound = {name: found[name] for _, name in shape.variables if name in scope}
                free = [name for _, name in shape.variables if name not in scope]
                if shape.others or len(set(free)) < len(free):
                    return None
                known = dict(shape.values)
                known.update({c: bound[n] for c, n in shape.variables if n in bound})
                return self.tuples.count(atom.relation, known)
        return None

    def known(self, atom: Atom, given: Bindings, scope: Names) -> dict[int, Value] | None:
        """Return the values that columns must have; None when an argument has no value."""
        shape = self._shape(atom)
        known = dict(shape.values)
        for column, name in shape.variables:
            if name in given:
                known[column] = given[name]
        for column, term in shape.others:
            if is_known(term, given.keys(), scope):
                values = self.values(term, given, scope)
                if not values:
                    return None
                known[column] = values[0]
        return known

    def _matches(self, atom: Atom, given: Bindings, scope: Names) -> Iterator[Bindings]:
        shape = self._shape(atom)
        if shape.others:
            for row in self.rows(atom, given, scope):
                yield from self.unify(atom.args, row, given, scope)
            return
        free = [(column, name) for column, name in shape.variables if name not in given]
        for row in self.rows(atom, given, scope):
            found = dict(given)
            for column, name in free:
                if not same(found.setdefault(name, row[column]), row[column]):
                    break
            else:
                yield found

    def _shape(self, atom: Atom) -> _Shape:
        known = self._shapes.get(id(atom))
        if known is not None:
            return known[1]
        values: list[tuple[int, Value]] = []
        names: list[tuple[int, str]] = []
        others: list[tuple[int, Term]] = []
        for column, arg in enumerate(atom.args):
            match arg:
                case Wildcard():
                    continue
                case Variable(name=name):
                    names.append((column, name))
                case Constant(value=value, kind=kind):
                    values.append((column, float(value) if kind is Kind.FLOAT else value))
                case Nil():
                    values.append((column, None))
                case _:
                    others.append((column, arg))
        shape = _Shape(tuple(values), tuple(names), tuple(others))
        self._shapes[id(atom)] = atom, shape  # with the atom: its id is its own while it lives
        return shape
