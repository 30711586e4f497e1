"""What the hard state of a program means, slow and obvious: the judge of every network.

The rules are applied to all facts of the network at once, round by round until nothing new comes;
who holds a tuple makes no difference. A relation is complete before it is negated or aggregated.
An aggregate is over the instances of its rule. Keys of derived relations are not looked at: which
of two tuples with one key stays depends on the order in which they come.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, Final

from whence.analysis.ndlog.state import State, aggregates, body_atoms, hard_part, states
from whence.analysis.strata import strata
from whence.diagnostics import Diagnostic, LimitError, ProgramError
from whence.functor.ndlog import (
    COMPARISONS,
    FAULTS,
    FUNCTIONS,
    OPERATORS,
    in_interval,
    node_functions,
)
from whence.syntax.nodes import (
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    HeadAggregate,
    InInterval,
    Literal,
    Negation,
    Program,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
    rebuild,
    variables,
    walk,
)

Row = tuple[Any, ...]
Bindings = dict[str, Any]

MAX_FACTS: Final = 1_000_000
"""How many facts may be derived before a program is said not to end."""


def central(
    program: Program,
    base_facts: Mapping[str, Iterable[Row]] | None = None,
    *,
    max_facts: int = MAX_FACTS,
    look: Callable[[int], None] = lambda facts: None,
) -> dict[str, set[Row]]:
    """Return all hard-state relations of a program over the base facts of all its nodes.

    `f_now` is 0 here, and `f_rand` draws the same numbers each time. `look` is told how many facts
    there are, now and then, and may end it all by raising.
    """
    rules = [_wildcards_named(rule) for rule in hard_part(program)]
    known = states(program)
    found = _Facts(name for name, state in known.items() if state is State.HARD)
    for name, rows in (base_facts or {}).items():
        if known.get(name) is State.HARD:
            for row in rows:
                found.add(name, tuple(row))
    solver = _Solver(found)
    for stratum in strata(replace(program, rules=tuple(rules))):
        here = [rule for rule in rules if rule.head.relation in stratum.relations]
        _check(here, stratum.relations)
        while _round(here, solver, max_facts, look):
            pass
    return found.relations


def _round(rules: list[Rule], solver: _Solver, max_facts: int, look: Callable[[int], None]) -> bool:
    """Apply each rule once to all facts; say whether there was news."""
    news = False
    for rule in rules:
        for row in list(_derived(rule, solver)):
            news |= solver.facts.add(rule.head.relation, row)
        look(solver.facts.size)
    if solver.facts.size > max_facts:
        raise LimitError(
            Diagnostic(
                "W1341",
                f"more than {max_facts} facts follow, and there may be no end",
                rules[0].span,
                hint="bound what the recursion computes, as in `C < 100`, or check for cycles",
            )
        )
    return news


def _check(rules: list[Rule], together: tuple[str, ...]) -> None:
    for rule in rules:
        for literal in rule.body:
            for atom in body_atoms(replace(rule, body=(literal,))):
                negated = isinstance(literal, Negation)
                if atom.relation in together and (negated or aggregates(rule)):
                    way = "its own negation" if negated else "an aggregate of itself"
                    raise ProgramError(
                        Diagnostic(
                            "W1328",
                            f"`{rule.head.relation}` depends on {way}",
                            atom.span,
                            "read here",
                            hint="only an event can lead back to what was aggregated or negated",
                        )
                    )


# ── heads


def _derived(rule: Rule, solver: _Solver) -> Iterator[Row]:
    if aggregates(rule):
        yield from _aggregated(rule, solver)
        return
    for bindings in solver.solve(rule.body, {}):
        try:
            yield tuple(solver.value(arg, bindings) for arg in rule.head.args)
        except FAULTS:
            continue


def _aggregated(rule: Rule, solver: _Solver) -> Iterator[Row]:
    groups: defaultdict[Row, list[Row]] = defaultdict(list)
    instances = {tuple(sorted(b.items())): b for b in solver.solve(rule.body, {})}
    for bindings in instances.values():
        try:
            key, values = solver.split(rule.head, bindings)
        except FAULTS:
            continue
        groups[key].append(values)
    folds = [arg.function for arg in rule.head.args if isinstance(arg, HeadAggregate)]
    for key, members in groups.items():
        results = iter(fold(f, column) for f, column in zip(folds, zip(*members, strict=True)))  # noqa: B905
        plain = iter(key)
        yield tuple(
            next(results) if isinstance(arg, HeadAggregate) else next(plain)
            for arg in rule.head.args
        )


def fold(function: str, values: Iterable[Any]) -> Any:
    """Return the aggregate of one or more values."""
    values = list(values)
    match function:
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "count":
            return len(values)
        case "sum" | "avg":
            total = math.fsum(values) if any(isinstance(v, float) for v in values) else sum(values)
            return total if function == "sum" else total / len(values)
        case _:
            raise AssertionError(function)


# ── bodies


class _Facts:
    """Rows of relations, found by the values of some columns."""

    def __init__(self, names: Iterable[str]) -> None:
        self.relations: dict[str, set[Row]] = {name: set() for name in names}
        self.size = 0
        self._indexes: dict[str, dict[tuple[int, ...], defaultdict[Row, list[Row]]]] = {}

    def add(self, relation: str, row: Row) -> bool:
        rows = self.relations.setdefault(relation, set())
        if row in rows:
            return False
        rows.add(row)
        self.size += 1
        for columns, index in self._indexes.get(relation, {}).items():
            if len(row) > max(columns, default=-1):
                index[tuple(row[c] for c in columns)].append(row)
        return True

    def matching(self, relation: str, columns: tuple[int, ...], values: Row) -> list[Row]:
        indexes = self._indexes.setdefault(relation, {})
        index = indexes.get(columns)
        if index is None:
            index = indexes[columns] = defaultdict(list)
            for row in self.relations.get(relation, ()):
                index[tuple(row[c] for c in columns)].append(row)
        return list(index.get(values, ()))


class _Solver:
    """Finds the bindings that satisfy a body."""

    def __init__(self, facts: _Facts) -> None:
        self.facts = facts
        self.functions: dict[str, Callable[..., Any]] = {
            **OPERATORS,
            **{name: function.call for name, function in FUNCTIONS.items()},
            **node_functions(lambda: 0.0, Random(0)),
        }

    def solve(self, body: tuple[Literal, ...], given: Bindings) -> Iterator[Bindings]:
        """Yield the bindings under which all literals hold; each is asked once it can be."""
        if not body:
            yield given
            return
        ready = [i for i, literal in enumerate(body) if _is_ready(literal, given, body)]
        tests = [i for i in ready if not isinstance(body[i], Atom)]
        groups = [i for i, part in enumerate(body) if isinstance(part, Conjunction | Disjunction)]
        chosen = next(iter(tests or ready or groups), -1)
        if chosen < 0:
            hint = "bind its variables in a predicate, or compute them with `=`"
            raise ProgramError(
                Diagnostic("W1313", "this can never be asked", body[0].span, hint=hint)
            )
        rest = body[:chosen] + body[chosen + 1 :]
        for bindings in self.satisfy(body[chosen], given):
            yield from self.solve(rest, bindings)

    def satisfy(self, literal: Literal, given: Bindings) -> Iterator[Bindings]:
        match literal:
            case Atom():
                yield from self.match(literal, given)
            case Negation(inner):
                if next(self.satisfy(inner, given), None) is None:
                    yield given
            case Constraint("=", left, right):
                yield from self.equate(left, right, given)
            case Conjunction(items):
                yield from self.solve(items, given)
            case Disjunction(items):
                for item in items:
                    yield from self.satisfy(item, given)
            case Truth(value):
                if value:
                    yield given
            case Constraint() | InInterval():
                if self.holds(literal, given):
                    yield given

    def holds(self, literal: Constraint | InInterval, given: Bindings) -> bool:
        try:
            if isinstance(literal, Constraint):
                sides = self.value(literal.left, given), self.value(literal.right, given)
                return bool(COMPARISONS[literal.op](*sides))
            item, low = self.value(literal.item, given), self.value(literal.low, given)
            high = self.value(literal.high, given)
            return in_interval(item, low, high, literal.closed_low, literal.closed_high)
        except FAULTS:
            return False

    def match(self, atom: Atom, given: Bindings) -> Iterator[Bindings]:
        try:
            bound = {
                column: self.value(arg, given)
                for column, arg in enumerate(atom.args)
                if _is_known(arg, given)
            }
        except FAULTS:
            return
        for row in self.facts.matching(atom.relation, tuple(bound), tuple(bound.values())):
            if len(row) == len(atom.args):
                yield from _unify(list(zip(atom.args, row, strict=True)), given, self)

    def equate(self, left: Term, right: Term, given: Bindings) -> Iterator[Bindings]:
        if not _is_known(left, given):
            left, right = right, left
        try:
            value = self.value(left, given)
        except FAULTS:
            return
        yield from _unify([(right, value)], given, self)

    def value(self, term: Term, bindings: Bindings) -> Any:
        match term:
            case Variable(name):
                return bindings[name]
            case Constant(value):
                return value
            case Record(items):
                return tuple(self.value(item, bindings) for item in items)
            case Call(functor, args):
                return self.functions[functor](*(self.value(arg, bindings) for arg in args))
            case _:
                raise AssertionError(f"{term!r} has no value")

    def split(self, head: Atom, bindings: Bindings) -> tuple[Row, Row]:
        """Return the columns of a head that group, and the values to aggregate."""
        key: list[Any] = []
        values: list[Any] = []
        for arg in head.args:
            if isinstance(arg, HeadAggregate):
                values.append(0 if arg.target is None else self.value(arg.target, bindings))
            else:
                key.append(self.value(arg, bindings))
        return tuple(key), tuple(values)


def _unify(pairs: list[tuple[Term, Any]], given: Bindings, solver: _Solver) -> Iterator[Bindings]:
    """Yield the bindings that make each term equal to its value, if there are such."""
    found = dict(given)
    later: list[tuple[Term, Any]] = []
    while pairs:
        term, value = pairs.pop(0)
        match term:
            case Wildcard():
                continue
            case Variable(name) if name not in found:
                found[name] = value
            case Record(items) if not _is_known(term, found):
                if not isinstance(value, tuple) or len(items) != len(value):
                    return
                pairs.extend(zip(items, value, strict=True))
            case _ if not _is_known(term, found):
                later.append((term, value))
            case _:
                try:
                    if solver.value(term, found) != value:
                        return
                except FAULTS:
                    return
    for term, value in later:
        try:
            if solver.value(term, found) != value:
                return
        except FAULTS:
            return
    yield found


def _is_known(node: Term | Literal, bound: Mapping[str, Any]) -> bool:
    return not _has_wildcard(node) and variables(node).keys() <= bound.keys()


def _has_wildcard(node: Term | Literal) -> bool:
    return any(isinstance(inner, Wildcard) for inner in walk(node))


def _is_ready(literal: Literal, bound: Bindings, body: tuple[Literal, ...]) -> bool:
    """Say whether a literal can be asked now, with others of the body still to come."""
    match literal:
        case Atom(args=args):
            computed = [a for a in args if not isinstance(a, Variable | Wildcard | Record)]
            own = {v for a in args if isinstance(a, Variable | Record) for v in variables(a)}
            return all(variables(a).keys() <= bound.keys() | own for a in computed)
        case Constraint("=", left, right):
            return any(
                _is_known(a, bound) and isinstance(b, Variable | Record | Wildcard)
                for a, b in ((left, right), (right, left))
            ) or _is_known(literal, bound)
        case Conjunction(items) | Disjunction(items):
            # Its atoms bind what they can; what they lack must come from the others.
            others = {v for other in body if other is not literal for v in variables(other)}
            return variables(*items).keys() & others <= bound.keys()
        case Negation(inner):
            others = {v for other in body if other is not literal for v in variables(other)}
            return variables(inner).keys() & others <= bound.keys()
        case _:
            return _is_known(literal, bound)


def _wildcards_named(rule: Rule) -> Rule:
    """Give each wildcard outside of negations a name: instances differ by what it stands for."""
    fresh = count()

    def named(node: Term | Literal) -> Term | Literal:
        match node:
            case Wildcard():
                return Variable(f"_ {next(fresh)}")
            case Negation():
                return node
            case _:
                return rebuild(node, named)

    return replace(rule, body=tuple(named(literal) for literal in rule.body))  # type: ignore[misc]
