"""The definition of what a program means: naive evaluation over plain Python values.

No index, no plan, no rewrite: stratum by stratum, every rule over everything, until nothing is
new. Numbers are ints, symbols strings, records tuples and `nil` None. The judge of all engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count
from typing import TypeAlias, assert_never

from whence.analysis.strata import strata
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
    Kind,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    Subsumption,
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


def evaluate(
    program: Program,
    facts: Mapping[str, Iterable[Row]],
    functors: UserFunctors | None = None,
) -> dict[str, set[Row]]:
    """Return every relation of a program whose types are resolved, given the input facts."""
    state = _State(program, functors or UserFunctors())
    for name, rows in facts.items():
        state.relations[name].update(dict.fromkeys(rows))
    for stratum in strata(program):
        state.complete(stratum.relations, stratum.recursive)
    return {name: set(rows) for name, rows in state.relations.items()}


class _State:
    """The relations so far; rows keep the order in which they were derived."""

    def __init__(self, program: Program, functors: UserFunctors) -> None:
        self.program = program
        self.relations: dict[str, dict[Row, None]] = {d.name: {} for d in program.relations}
        types = TypeSystem(program)
        self.returns = {f.name: types.kinds[types.ids[f.returns]] for f in program.functors}
        self.functors = functors
        self.counter = count()
        self.codes: dict[Value, int] = {}

    def complete(self, names: Sequence[str], recursive: bool) -> None:
        """Apply the rules of a stratum until they give nothing new."""
        while True:
            before = {name: list(self.relations[name]) for name in names}
            derived = [
                (head.relation, row)
                for rule in self.program.rules
                if any(head.relation in before for head in rule.heads)
                for scope in [names_of(*rule.heads, *rule.body)]
                for found in self.solve(rule.body, {}, scope)
                for head in rule.heads
                if head.relation in before
                for row in self.row(head.args, found, scope)
            ]
            for name, row in derived:
                self.relations[name].setdefault(row)
            for name in names:
                self.drop_dominated(name)
            if not recursive or before == {name: list(self.relations[name]) for name in names}:
                return

    def drop_dominated(self, name: str) -> None:
        """Drop rows that others dominate; of two that dominate each other the later one goes."""
        rows = list(self.relations[name])
        order = {row: place for place, row in enumerate(rows)}
        pairs = {
            (worse, better)
            for subsumption in self.program.subsumptions
            if subsumption.dominated.relation == name
            for worse, better in self.dominations(subsumption)
            if worse != better
        }
        for worse, better in pairs:
            if (better, worse) not in pairs or order[better] < order[worse]:
                self.relations[name].pop(worse, None)

    def dominations(self, rule: Subsumption) -> Iterator[tuple[Row, Row]]:
        """Yield the pairs of a dominated and a dominating row."""
        scope = names_of(rule.dominated, rule.dominating, *rule.body)
        rows = list(self.relations[rule.dominated.relation])
        for worse in rows:
            for given in self.unify(rule.dominated.args, worse, {}, scope):
                for better in rows:
                    for found in self.unify(rule.dominating.args, better, given, scope):
                        if any(True for _ in self.solve(rule.body, found, scope)):
                            yield worse, better

    def solve(self, body: Body, given: Bindings, scope: Names) -> Iterator[Bindings]:
        """Yield the bindings, as an extension of those given, under which the body holds."""
        if not body:
            yield given
            return
        for place, literal in enumerate(body):
            rest = body[:place] + body[place + 1 :]
            match literal:
                case Conjunction(items=items):
                    yield from self.solve(items + rest, given, scope)
                    return
                case Disjunction(items=items):
                    for item in items:
                        yield from self.solve((item, *rest), given, scope)
                    return
                case Negation(literal=inner) if not isinstance(inner, Atom):
                    yield from self.solve((negated(inner), *rest), given, scope)
                    return
        place = next(i for i, literal in enumerate(body) if is_ready(literal, given.keys(), scope))
        for found in self.satisfy(body[place], given, scope):
            yield from self.solve(body[:place] + body[place + 1 :], found, scope)

    def satisfy(self, literal: Literal, given: Bindings, scope: Names) -> Iterator[Bindings]:
        """Yield the bindings under which a literal that is ready holds."""
        match literal:
            case Atom(relation=relation, args=args):
                for row in list(self.relations[relation]):
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
            case Call(functor="ord", args=(arg,), kind=Kind.SYMBOL | Kind.RECORD):
                values = self.values(arg, found, scope)
                return [self.codes.setdefault(value, len(self.codes)) for value in values]
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
            case _:
                assert_never(term)

    def aggregate(self, term: Aggregate, found: Bindings, scope: Names) -> list[Value]:
        """Return the aggregate over the distinct assignments of all variables of its body."""
        body = named_wildcards(term.body)
        shared = shared_names(term, scope)
        inner = names_of(*body, *([term.target] if term.target else [])) | shared
        given = {name: found[name] for name in shared}
        solutions = {tuple(sorted(s.items())): s for s in self.solve(body, given, inner)}
        if term.target is None:
            values: list[Value] = [0] * len(solutions)
        else:
            values = [v for s in solutions.values() for v in self.values(term.target, s, inner)]
        kind = Kind.NUMBER if term.function == "count" else term.kind or Kind.NUMBER
        result = AGGREGATES[term.function, kind].scalar(values)  # type: ignore[arg-type]
        return [] if result is None else [result]


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
