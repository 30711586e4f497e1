"""Finds the bindings under which the bodies of rules hold, over plain Python values.

It knows what each literal and term means; where the tuples of a relation come from is left to
those who use it. Numbers are ints, symbols strings, records tuples and `nil` None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count
from typing import TypeAlias, assert_never

from whence.analysis.traverse import level_names
from whence.analysis.typesystem import TypeSystem
from whence.functor import AGGREGATES, COMPARISONS, FUNCTORS, NEGATED, UserFunctors
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Conjunction,
    Constant,
    Constraint,
    Counter,
    Disjunction,
    HeadAggregate,
    InInterval,
    Kind,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    Term,
    Truth,
    UserCall,
    Variable,
    Wildcard,
    children,
    rebuild,
    variables,
)

Value: TypeAlias = "int | float | str | tuple[Value, ...] | None"
Row: TypeAlias = tuple[Value, ...]
Bindings: TypeAlias = Mapping[str, Value]
Body: TypeAlias = tuple[Literal, ...]
Names: TypeAlias = frozenset[str]


class Solver(ABC):
    """Bodies, literals and terms of a program whose types are resolved."""

    def __init__(self, program: Program, functors: UserFunctors) -> None:
        types = TypeSystem(program)
        self.returns = {f.name: types.kinds[types.ids[f.returns]] for f in program.functors}
        self.functors = functors
        self.counter = count()

    @abstractmethod
    def rows(self, atom: Atom, given: Bindings, scope: Names) -> Iterable[Row]:
        """Return tuples of the atom's relation: all that match, and any others."""

    @abstractmethod
    def ordinal(self, value: Value, kind: Kind) -> int:
        """Return the number of a symbol or record, which `ord` gives."""

    def solve(self, body: Body, given: Bindings, scope: Names) -> Iterator[Bindings]:
        """Yield the bindings, as an extension of those given, under which the body holds."""
        pending = [iter(((body, given),))]  # a stack of its own: bodies may be long
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
            elif step[0]:
                pending.append(self._steps(*step, scope))
            else:
                yield step[1]

    def _steps(self, body: Body, given: Bindings, scope: Names) -> Iterator[tuple[Body, Bindings]]:
        """Yield what is left of a body, and the bindings, after one of its literals."""
        for place, literal in enumerate(body):
            rest = body[:place] + body[place + 1 :]
            match literal:
                case Conjunction(items=items):
                    yield items + rest, given
                    return
                case Disjunction(items=items):
                    yield from (((item, *rest), given) for item in items)
                    return
                case Negation(literal=inner) if not isinstance(inner, Atom):
                    yield (negated(inner), *rest), given
                    return
        place = self.choose(body, given, scope)
        rest = body[:place] + body[place + 1 :]
        for found in self.satisfy(body[place], given, scope):
            yield rest, found

    def choose(self, body: Body, given: Bindings, scope: Names) -> int:
        """Return the place of the literal to be satisfied next: the first that can be."""
        return next(i for i, literal in enumerate(body) if is_ready(literal, given.keys(), scope))

    def satisfy(self, literal: Literal, given: Bindings, scope: Names) -> Iterator[Bindings]:
        """Yield the bindings under which a literal that is ready holds."""
        match literal:
            case Atom(args=args):
                for row in self.rows(literal, given, scope):
                    yield from self.unify(args, row, given, scope)
            case Negation(literal=Atom() as atom):
                if not any(True for _ in self.satisfy(atom, given, scope)):
                    yield given
            case Truth(value=holds):
                if holds:
                    yield given
            case Constraint(op="=", left=left, right=right):
                if not is_known(left, given.keys(), scope):
                    left, right = right, left
                for value in self.values(left, given, scope):
                    yield from self.unify((right,), (value,), given, scope)
            case Constraint(op=op, left=left, right=right, kind=kind):
                for a in self.values(left, given, scope):
                    for b in self.values(right, given, scope):
                        if COMPARISONS[op, kind or Kind.NUMBER].scalar(a, b):
                            yield given
            case _:
                raise AssertionError(literal)

    def unify(
        self, terms: Sequence[Term], row: Row, given: Bindings, scope: Names
    ) -> Iterator[Bindings]:
        """Yield the bindings that make the terms equal to the row, if there are such."""
        found = dict(given)
        pending = list(zip(terms, row, strict=True))
        while pending:
            place = next(
                i
                for i, (term, _) in enumerate(pending)
                if isinstance(term, Variable | Wildcard | Record)
                or is_known(term, found.keys(), scope)
            )
            term, value = pending.pop(place)
            match term:
                case Wildcard():
                    continue
                case Variable(name=name) if name not in found:
                    found[name] = value
                case Record(items=items) if isinstance(value, tuple):
                    pending.extend(zip(items, value, strict=True))
                case Record():
                    return
                case _:
                    if not any(same(v, value) for v in self.values(term, found, scope)):
                        return
        yield found

    def row(self, terms: Sequence[Term], found: Bindings, scope: Names) -> list[Row]:
        """Return the row of values of the terms; none if one of them has no value."""
        row: list[Value] = []
        for term in terms:
            values = self.values(term, found, scope)
            if not values:
                return []
            row += values
        return [tuple(row)]

    def values(self, term: Term, found: Bindings, scope: Names) -> list[Value]:
        """Return the value of a term; none for an aggregate that has none."""
        match term:
            case Variable(name=name):
                return [found[name]]
            case Constant(value=value, kind=kind):
                return [float(value) if kind is Kind.FLOAT else value]
            case Nil():
                return [None]
            case Counter():
                return [next(self.counter)]
            case Record(items=items):
                return list(self.row(items, found, scope))
            case Cast(term=inner):
                return self.values(inner, found, scope)
            case Call(functor="ord", args=(arg,), kind=Kind.SYMBOL | Kind.RECORD as kind):
                values = self.values(arg, found, scope)
                return [self.ordinal(value, kind) for value in values]
            case Call(functor=functor, args=args, kind=kind):
                function = FUNCTORS[functor, kind or Kind.NUMBER]
                return [function.scalar(*row) for row in self.row(args, found, scope)]
            case UserCall(name=name, args=args):
                user = self.functors[name]
                kind = self.returns[name]
                return [user.scalar(kind, *row) for row in self.row(args, found, scope)]  # type: ignore[arg-type]
            case Aggregate():
                return self.aggregate(term, found, scope)
            case Wildcard():
                raise AssertionError("a wildcard has no value")
            case HeadAggregate():
                raise AssertionError("an aggregate of a head has a rule of its own here")
            case _:
                assert_never(term)

    def aggregate(self, term: Aggregate, found: Bindings, scope: Names) -> list[Value]:
        """Return the aggregate over the distinct assignments of all variables of its body."""
        values = [value for value, _ in self.assignments(term, found, scope)]
        kind = Kind.NUMBER if term.function == "count" else term.kind or Kind.NUMBER
        result = AGGREGATES[term.function, kind].scalar(values)  # type: ignore[arg-type]
        return [] if result is None else [result]

    def assignments(
        self, term: Aggregate, found: Bindings, scope: Names
    ) -> list[tuple[Value, Bindings]]:
        """Return what an aggregate is over: the value of its target, and the assignment."""
        body = named_wildcards(term.body)
        shared = shared_names(term, scope)
        inner = names_of(*body, *([term.target] if term.target else [])) | shared
        given = {name: found[name] for name in shared}
        solutions = {tuple(sorted(s.items())): s for s in self.solve(body, given, inner)}
        if term.target is None:
            return [(0, s) for s in solutions.values()]
        return [(v, s) for s in solutions.values() for v in self.values(term.target, s, inner)]


# ── names ────────────────────────────────────────────────────────────────────────────


def names_of(*nodes: Term | Literal) -> Names:
    """Return the names of the variables outside of aggregates."""
    return frozenset(level_names(*nodes))


def shared_names(term: Aggregate, scope: Names) -> Names:
    """Return the names that an aggregate shares with what stands around it."""
    return frozenset(scope & variables(*term.body).keys() - variables(term.target or Nil()).keys())


def named_wildcards(body: Body) -> Body:
    """Return the body of an aggregate with a variable for each wildcard that an atom binds."""
    fresh = count()

    def name(node: Term | Literal) -> Term | Literal:
        match node:
            case Wildcard():
                return Variable(f"_ {next(fresh)}")
            case Atom() | Record() | Conjunction() | Disjunction():
                return rebuild(node, name)
            case _:
                return node

    (named,) = rebuild(Conjunction((Conjunction(body),)), name).items
    assert isinstance(named, Conjunction)
    return named.items


def negated(literal: Literal) -> Literal:
    """Return the negation of a literal, moved inward."""
    match literal:
        case Negation(literal=inner):
            return inner
        case Conjunction(items=items):
            return Disjunction(tuple(map(Negation, items)))
        case Disjunction(items=items):
            return Conjunction(tuple(map(Negation, items)))
        case Truth(value=holds):
            return Truth(not holds)
        case Constraint(op=op):
            return replace(literal, op=NEGATED[op])
        case Atom():
            return Negation(literal)
        case InInterval():
            raise AssertionError("an interval of NDlog is comparisons here")
        case _:
            assert_never(literal)


def is_known(node: Term | Literal, bound: Set[str], scope: Names, wild: bool = False) -> bool:
    """Say whether all that a term or literal needs is bound; `wild` lets wildcards pass."""
    match node:
        case Variable(name=name):
            return name in bound
        case Wildcard():
            return wild
        case Aggregate():
            return shared_names(node, scope) <= bound
        case _:
            return all(is_known(child, bound, scope, wild) for child in children(node))


def is_matchable(terms: Iterable[Term], bound: Set[str], scope: Names) -> bool:
    """Say whether the terms can be compared with values, which binds variables among them."""
    pending, computed, names = list(terms), [], set(bound)
    while pending:
        match pending.pop():
            case Variable(name=name):
                names.add(name)
            case Record(items=items):
                pending.extend(items)
            case Wildcard():
                pass
            case term:
                computed.append(term)
    return all(is_known(term, names, scope) for term in computed)


def is_ready(literal: Literal, bound: Set[str], scope: Names) -> bool:
    """Say whether a literal that is no conjunction or disjunction can be satisfied now."""
    match literal:
        case Atom(args=args):
            return is_matchable(args, bound, scope)
        case Constraint(op="=", left=left, right=right):
            return any(
                is_known(a, bound, scope) and is_matchable((b,), bound, scope)
                for a, b in ((left, right), (right, left))
            )
        case _:
            return is_known(literal, bound, scope, wild=True)


def same(a: Value, b: Value) -> bool:
    """Say whether two values are equal; a NaN equals itself."""
    return a == b or (a != a and b != b)
