"""Hypothesis strategies for NDlog trees, as a parse can give them."""

from __future__ import annotations

from hypothesis import strategies as st

from whence.functor.ndlog import FUNCTIONS
from whence.syntax.nodes import (
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    HeadAggregate,
    InInterval,
    Kind,
    Literal,
    Materialize,
    Negation,
    Pragma,
    Program,
    Query,
    Record,
    Rule,
    Term,
    Variable,
    Watch,
    Wildcard,
)

RELATIONS = ["link", "path", "bestSucc", "p", "q1", "min", "sum_", "f"]
WORDS = ["a", "n0", "b", "min", "count", "infinity", "keys", "delete", "f_init", "true", "in"]
VARIABLES = ["S", "D", "NI", "X1", "_Z", "Query1"]
INFIX = ["+", "-", "*", "/", "%", "bshl", "bshr"]

names = st.sampled_from(VARIABLES).map(Variable)
numbers = st.integers(-(2**161), 2**161).map(lambda value: Constant(value, None))
floats = st.floats(allow_nan=False).map(lambda value: Constant(value + 0.0, Kind.FLOAT))
strings = (st.sampled_from(WORDS) | st.text(max_size=6)).map(
    lambda value: Constant(value, Kind.SYMBOL)
)
truths = st.booleans().map(lambda value: Constant(value, None))
leaves = names | numbers | floats | strings | truths | st.just(Wildcard())


def minus(term: Term) -> Term:
    """Return what a minus sign before the term gives: a constant swallows it."""
    if isinstance(term, Constant) and type(term.value) in (int, float) and term.value >= 0:
        return Constant(0 - term.value, term.kind)
    return Call("neg", (term,))


def _larger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    lists = st.lists(inner, max_size=3).map(tuple)
    return (
        lists.map(Record)
        | st.builds(Call, st.sampled_from(sorted(FUNCTIONS)), lists)
        | st.builds(Call, st.sampled_from(INFIX), st.tuples(inner, inner))
        | inner.map(minus)
    )


# Made once: building a recursive strategy takes longer than drawing from it.
TERMS = st.recursive(leaves, _larger, max_leaves=4)
FEW = st.lists(TERMS, max_size=3)


def terms() -> st.SearchStrategy[Term]:
    return TERMS


def _place(term: Term) -> bool:
    whole = isinstance(term, Constant) and type(term.value) in (int, str)
    return isinstance(term, Variable | Wildcard) or (whole and not _negative(term))


def _negative(term: Constant) -> bool:
    return isinstance(term.value, int) and term.value < 0


@st.composite
def atoms(draw: st.DrawFn, head: bool = False) -> Atom:
    args = draw(FEW)
    if head:
        for index in range(len(args)):
            if draw(st.integers(0, 4)) == 0:
                function = draw(st.sampled_from(["min", "max", "sum", "count", "avg"]))
                whole = function == "count" and draw(st.booleans())
                args[index] = HeadAggregate(function, None if whole else args[index])
    places = [i for i, arg in enumerate(args) if _place(_target(arg))]
    location = draw(st.none() | st.sampled_from(places)) if places else None
    link = bool(args) and draw(st.booleans())
    name = draw(st.sampled_from(RELATIONS))
    return Atom(name, tuple(args), location=location, link=link)


def _target(term: Term) -> Term | None:
    return term.target if isinstance(term, HeadAggregate) else term


def _literal(inner: st.SearchStrategy[Literal]) -> st.SearchStrategy[Literal]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return several.map(Conjunction) | several.map(Disjunction) | inner.map(Negation)


COMPARISONS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
FLAT: st.SearchStrategy[Literal] = (
    atoms()
    | st.builds(Constraint, COMPARISONS, TERMS, TERMS)
    | st.builds(InInterval, TERMS, TERMS, TERMS, st.booleans(), st.booleans())
)
LITERALS = st.recursive(FLAT, _literal, max_leaves=3)
HEADS = atoms(head=True)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    body = tuple(draw(st.lists(LITERALS, max_size=2)))
    name = draw(st.sampled_from(["", "sp1", "SB2", "sp1-d", "x-1-y"]))
    delete = bool(body) and draw(st.booleans())
    return Rule((draw(HEADS),), body, name=name, delete=delete)


def tables() -> st.SearchStrategy[Materialize]:
    return st.builds(
        Materialize,
        st.sampled_from(RELATIONS),
        st.none() | st.floats(0, 1e12, allow_nan=False).map(abs),
        st.none() | st.integers(0, 1000),
        st.lists(st.integers(1, 5), max_size=3).map(tuple),
    )


def _facts_last(found: list[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(found, key=lambda rule: not rule.body))


def programs() -> st.SearchStrategy[Program]:
    return st.builds(
        Program,
        rules=st.lists(rules(), max_size=3).map(_facts_last),
        tables=st.lists(tables(), max_size=2).map(tuple),
        watches=st.lists(st.sampled_from(RELATIONS).map(Watch), max_size=2).map(tuple),
        queries=st.lists(atoms().map(Query), max_size=2).map(tuple),
        pragmas=st.sampled_from([(), (Pragma("network", "full"),)]),
        dialect=st.just("ndlog"),
    )
