"""What an instance of a rule rests on: its literals as the rule states them, with their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from whence.analysis.traverse import level
from whence.engine.solver import Bindings, Names, named_wildcards, names_of, same, shared_names
from whence.explain.model import Absence, Fact, Folded, Holds, Premise, Proof, Value
from whence.explain.search import Instance, Search
from whence.functor import AGGREGATES
from whence.rewrite.normalise import aggregate_bodies
from whence.rewrite.terms import transform
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Negation,
    Nil,
    Record,
    Term,
    Variable,
    Wildcard,
)
from whence.syntax.printer import print_literal, print_term

NodeT = TypeVar("NodeT", bound=Term | Literal)
_SHOWN = 20
"""Levels of a record that the text of a literal shows."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate of an instance, with some of the facts it is over."""

    text: str
    value: Value
    size: int
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An instance with its aggregates worked out."""

    instance: Instance
    folds: Mapping[int, tuple[Fold, ...]]
    """By the place of the literal in the body."""

    def facts(self) -> Iterator[Fact]:
        """Yield all facts that a proof has to go on with."""
        yield from self.instance.premises
        for folds in self.folds.values():
            for fold in folds:
                yield from fold.facts


def step_of(search: Search, instance: Instance, over: int) -> Step:
    """Work out the aggregates of an instance, with up to `over` facts of each."""
    rule = instance.rule
    folds = {
        place: tuple(_fold(search, term, instance.found, rule.scope, over) for term in terms)
        for place, literal in enumerate(rule.body)
        if (terms := _aggregates(literal))
    }
    return Step(instance, folds)


def premises_of(search: Search, step: Step, proof: Callable[[Fact], Proof]) -> tuple[Premise, ...]:
    """Return the premises in the order of the body."""
    rule, found = step.instance.rule, step.instance.found
    facts = iter(step.instance.premises)
    premises: list[Premise] = []
    for place, literal in enumerate(rule.body):
        for fold in step.folds.get(place, ()):
            over = tuple([proof(fact) for fact in fold.facts])
            premises.append(Folded(fold.text, fold.value, fold.size, over))
        if isinstance(literal, Atom):
            premises.append(proof(next(facts)))
        else:
            values = [fold.value for fold in step.folds.get(place, ())]
            premises += _beside(search, literal, found, rule.scope, values)
    return tuple(premises)


def beside_of(search: Search, step: Step) -> tuple[Absence | Holds | Folded, ...]:
    """Return what the instance rests on beside facts; aggregates come without proofs."""
    rule, found = step.instance.rule, step.instance.found
    beside: list[Absence | Holds | Folded] = []
    for place, literal in enumerate(rule.body):
        folds = step.folds.get(place, ())
        beside += [Folded(fold.text, fold.value, fold.size, ()) for fold in folds]
        if not isinstance(literal, Atom):
            values = [fold.value for fold in folds]
            beside += _beside(search, literal, found, rule.scope, values)
    return tuple(beside)


def bindings_of(instance: Instance) -> tuple[tuple[str, Value], ...]:
    """Return the values of the variables that the rule was written with."""
    found = instance.found
    return tuple([(name, found[name]) for name in instance.rule.names if name in found])


def _beside(
    search: Search, literal: Literal, found: Bindings, scope: Names, folded: Sequence[Value]
) -> Iterator[Absence | Holds]:
    match literal:
        case Negation(literal=Atom() as atom):
            text = literal_text(search, literal, found, scope)
            yield Absence(atom.relation, pattern_of(search, atom, found, scope), text)
        case Constraint() if is_of_head(literal) or _is_result(literal):
            return
        case _:
            yield Holds(literal_text(search, literal, found, scope, folded))


def is_of_head(literal: Literal) -> bool:
    """Say whether a literal is no literal of the rule, but an argument of its head."""
    return (
        isinstance(literal, Constraint)
        and isinstance(literal.left, Variable)
        and literal.left.name.startswith("@")
    )


def _is_result(literal: Constraint) -> bool:
    """Say whether a constraint only names the result of an aggregate."""
    match literal:
        case Constraint(op="=", left=Variable(), right=Aggregate()):
            return True
        case Constraint(op="=", left=Aggregate(), right=Variable()):
            return True
        case _:
            return False


# ── aggregates ──


def _aggregates(literal: Literal) -> list[Aggregate]:
    return [node for node in level(literal) if isinstance(node, Aggregate)]


def _fold(search: Search, term: Aggregate, found: Bindings, scope: Names, over: int) -> Fold:
    text = print_term(_within(term, found, scope))
    size = search.counted(term, found, scope)
    if size is not None:
        (atom,) = term.body
        assert isinstance(atom, Atom)
        given = {name: found[name] for name in shared_names(term, scope)}
        rows = search.tuples.matching(atom.relation, search.known(atom, given, scope) or {})
        facts = tuple([Fact(atom.relation, row) for row in islice(rows, over)])
        return Fold(text, size, size, facts)
    assignments = search.assignments(term, found, scope)
    kind = Kind.NUMBER if term.function == "count" else term.kind or Kind.NUMBER
    values = [value for value, _ in assignments]
    result = AGGREGATES[term.function, kind].scalar(values)  # type: ignore[arg-type]
    if term.function in ("min", "max"):
        assignments = sorted(assignments, key=lambda a: not same(a[0], result))
    some: dict[Fact, None] = {}
    for _, assignment in assignments:
        if len(some) >= over:
            break
        some.update(dict.fromkeys(_facts(search, term, assignment)))
    return Fold(text, result, len(assignments), tuple(some)[:over])


def _facts(search: Search, term: Aggregate, assignment: Bindings) -> Iterator[Fact]:
    """Yield the facts of one assignment of an aggregate's body."""
    named = replace(term, body=named_wildcards(term.body))
    for flat in aggregate_bodies(named):
        scope = names_of(*flat) | frozenset(assignment)
        if any(True for _ in search.solve(flat, assignment, scope)):
            for literal in flat:
                if isinstance(literal, Atom):
                    yield search.fact(literal, assignment, scope)
            return


# ── words ──


def known_atom(search: Search, atom: Atom, found: Bindings, scope: Names) -> Atom:
    """Return an atom with the values of its arguments; what has none stays as it is."""
    known = search.known(atom, found, scope) or {}
    args = [
        value_term(known[c]) if c in known else instantiated(arg, found, scope)
        for c, arg in enumerate(atom.args)
    ]
    return replace(atom, args=tuple(args))


def pattern_of(
    search: Search, atom: Atom, found: Bindings, scope: Names
) -> tuple[Value | None, ...]:
    """Return the values of an atom's arguments, None where any would do."""
    known = search.known(atom, found, scope) or {}
    return tuple([known.get(column) for column in range(len(atom.args))])


def literal_text(
    search: Search,
    literal: Literal,
    found: Bindings,
    scope: Names,
    folded: Sequence[Value] = (),
) -> str:
    """Return a literal with values for its variables, and for its aggregates where given."""
    match literal:
        case Atom():
            return print_literal(known_atom(search, literal, found, scope))
        case Negation(literal=Atom() as atom):
            return print_literal(Negation(known_atom(search, atom, found, scope)))
        case _:
            return print_literal(instantiated(literal, found, scope, folded))


def instantiated(node: NodeT, found: Bindings, scope: Names, folded: Sequence[Value] = ()) -> NodeT:
    """Return a term or literal with values for variables, and for aggregates as far as given."""
    results = iter(folded)

    def change(inner: Term | Literal) -> Term | Literal:
        match inner:
            case Variable(name=name) if name in found:
                return value_term(found[name])
            case Variable(name=name) if name[0] in "@_" and not name.isidentifier():
                return Wildcard()
            case Aggregate():
                for value in results:
                    return value_term(value)
                return _within(inner, found, scope)
            case _:
                return inner

    return transform(node, change, Aggregate)


def _within(term: Aggregate, found: Bindings, scope: Names) -> Aggregate:
    """Return an aggregate with values for the variables that it shares with its rule."""
    shared = {name: found[name] for name in shared_names(term, scope) if name in found}

    def change(inner: Term | Literal) -> Term | Literal:
        match inner:
            case Variable(name=name) if name in shared:
                return value_term(shared[name])
            case Variable(name=name) if name[0] == "_" and name[1:].isdigit():
                return Wildcard()  # it was one before aggregates had names for what they are over
            case Aggregate():
                return _within(inner, shared, scope)
            case _:
                return inner

    body = tuple([transform(literal, change, Aggregate) for literal in term.body])
    return replace(term, body=body)


def value_term(value: Value, levels: int = _SHOWN) -> Term:
    """Return the term that stands for a value; of a deep record only some levels."""
    match value:
        case None:
            return Nil()
        case str():
            return Constant(value, Kind.SYMBOL)
        case float():
            return Constant(value, Kind.FLOAT)
        case int():
            return Constant(value, None)
        case _ if levels:
            return Record(tuple([value_term(item, levels - 1) for item in value]))
        case _:
            return Variable("…")
