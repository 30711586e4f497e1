"""Hypothesis strategies for syntax trees, as a parse can give them."""

from __future__ import annotations

from hypothesis import strategies as st

from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Attribute,
    Call,
    Cast,
    Conjunction,
    Constant,
    Constraint,
    Counter,
    Directive,
    Disjunction,
    FunctorDecl,
    Kind,
    Literal,
    Negation,
    Nil,
    Pragma,
    Program,
    Record,
    RecordType,
    RelationDecl,
    Rule,
    Subsumption,
    Subtype,
    Term,
    Truth,
    UnionType,
    UserCall,
    Variable,
    Wildcard,
)
from whence.syntax.operators import INFIX
from whence.syntax.table import load

FUNCTIONS = sorted(
    word for word, terminal in load("souffle").words.items() if terminal == "FUNCTION"
)
NAMES = ["a", "b", "edge", "x", "Y1", "?z", "?", "_u", "q?", "number", "prov", "x0_?", "__", "e5"]
COMPARISONS = ["=", "!=", "<", "<=", ">", ">=", "match", "contains"]
AGGREGATES = ["sum", "mean", "min", "max"]
TEXT = st.text(max_size=6)

Draw = st.DrawFn


def minus(term: Term) -> Term:
    """Return what a minus sign before the term gives: a constant swallows it."""
    folds = isinstance(term, Constant) and term.kind in (None, Kind.FLOAT) and term.value >= 0
    if folds and term.value <= 2**63:
        return Constant(-term.value, term.kind)
    return term if folds else Call("neg", (term,))


def negate(literal: Literal) -> Literal:
    """Return what `!` before the literal gives: `match` and `contains` have their own negations."""
    if isinstance(literal, Constraint) and literal.op in ("match", "contains"):
        return Constraint(f"not_{literal.op}", literal.left, literal.right)
    return Negation(literal)


# Plain functions of `draw`: nested strategies for a grammar this size are slow to build.


def name(draw: Draw) -> str:
    return draw(st.sampled_from(NAMES))


def qualified(draw: Draw) -> str:
    return ".".join(some(draw, name, 1, 2))


def some(draw: Draw, make, low: int = 0, high: int = 3) -> tuple:
    return tuple(make(draw) for _ in range(draw(st.integers(low, high))))


def constant(draw: Draw) -> Constant:
    match draw(st.integers(0, 4)):
        case 0:
            return Constant(draw(st.integers(-(2**63), 2**64 - 1)), None)
        case 1:
            return Constant(draw(st.integers(-3, 3)), None)
        case 2:
            return Constant(draw(st.integers(0, 2**64 - 1)), Kind.UNSIGNED)
        case 3:
            value = draw(st.floats(allow_nan=False, allow_infinity=False))
            return Constant(value, Kind.FLOAT)
        case _:
            return Constant(draw(TEXT), Kind.SYMBOL)


def term(draw: Draw, depth: int = 3) -> Term:
    def inner(draw: Draw) -> Term:
        return term(draw, depth - 1)

    match draw(st.integers(0, 13 if depth else 3)):
        case 0:
            return Variable(name(draw))
        case 1:
            return draw(st.sampled_from([Wildcard(), Nil(), Counter()]))
        case 2 | 3:
            return constant(draw)
        case 4:
            return Record(some(draw, inner))
        case 5 | 6 | 7:
            return Call(draw(st.sampled_from(sorted(INFIX))), (inner(draw), inner(draw)))
        case 8:
            return minus(inner(draw))
        case 9:
            return Call(draw(st.sampled_from(["bnot", "lnot"])), (inner(draw),))
        case 10:
            return Call(draw(st.sampled_from(FUNCTIONS)), some(draw, inner))
        case 11:
            return Call(draw(st.sampled_from(["min", "max"])), some(draw, inner, 2))
        case 12:
            if draw(st.booleans()):
                return UserCall(name(draw), some(draw, inner))
            return Cast(inner(draw), qualified(draw))
        case _:
            scope = body(draw, depth - 1)
            if draw(st.booleans()):
                return Aggregate("count", None, scope)
            return Aggregate(draw(st.sampled_from(AGGREGATES)), inner(draw), scope)


def atom(draw: Draw, depth: int = 3) -> Atom:
    return Atom(qualified(draw), some(draw, lambda draw: term(draw, depth)))


def literal(draw: Draw, depth: int = 2) -> Literal:
    def inner(draw: Draw) -> Literal:
        return literal(draw, depth - 1)

    match draw(st.integers(0, 6 if depth else 3)):
        case 0 | 1:
            return atom(draw, depth)
        case 2:
            op = draw(st.sampled_from(COMPARISONS))
            return Constraint(op, term(draw, depth), term(draw, depth))
        case 3:
            return Truth(draw(st.booleans()))
        case 4:
            return negate(inner(draw))
        case 5:
            return Conjunction(some(draw, inner, 2))
        case _:
            return Disjunction(some(draw, inner, 2))


def body(draw: Draw, depth: int = 2) -> tuple[Literal, ...]:
    return some(draw, lambda draw: literal(draw, depth), 1)


def attribute(draw: Draw) -> Attribute:
    return Attribute(name(draw), qualified(draw))


def type_decl(draw: Draw) -> Subtype | UnionType | RecordType:
    match draw(st.integers(0, 2)):
        case 0:
            return Subtype(name(draw), qualified(draw), draw(st.booleans()))
        case 1:
            return UnionType(name(draw), some(draw, qualified, 2))
        case _:
            return RecordType(name(draw), some(draw, attribute))


def functor(draw: Draw) -> FunctorDecl:
    def parameter(draw: Draw) -> Attribute:
        return attribute(draw) if draw(st.booleans()) else Attribute("", qualified(draw))

    return FunctorDecl(name(draw), some(draw, parameter), qualified(draw), draw(st.booleans()))


def relation(draw: Draw) -> RelationDecl:
    storage = draw(st.sampled_from([(), ("btree",), ("brie",), ("eqrel",), ("btree_delete",)]))
    hints = draw(st.sampled_from([(), ("inline",), ("no_magic", "no_inline"), ("overridable",)]))
    provenance = draw(st.sampled_from([None, "", "tropical", "top-2", "count", 'a"\\b']))
    return RelationDecl(name(draw), some(draw, attribute), storage + hints, provenance)


def order(draw: Draw) -> tuple[int, tuple[int, ...]]:
    return draw(st.integers(0, 9)), some(draw, lambda draw: draw(st.integers(0, 99)))


def rule(draw: Draw) -> Rule:
    if draw(st.booleans()):
        return Rule((atom(draw),))
    return Rule(some(draw, atom, 1, 2), body(draw), some(draw, order, 0, 2))


def subsumption(draw: Draw) -> Subsumption:
    return Subsumption(atom(draw, 1), atom(draw, 1), body(draw), some(draw, order, 0, 1))


def directive(draw: Draw) -> Directive:
    def pair(draw: Draw) -> tuple[str, str]:
        return name(draw), name(draw) if draw(st.booleans()) else draw(TEXT)

    action = draw(st.sampled_from(["input", "output", "printsize", "limitsize"]))
    return Directive(action, qualified(draw), some(draw, pair, 0, 2))


def pragma(draw: Draw) -> Pragma:
    return Pragma(draw(TEXT), draw(TEXT))


@st.composite
def terms(draw: Draw) -> Term:
    return term(draw)


@st.composite
def programs(draw: Draw) -> Program:
    return Program(
        types=some(draw, type_decl, 0, 1),
        functors=some(draw, functor, 0, 1),
        relations=some(draw, relation, 0, 1),
        rules=some(draw, rule, 0, 2),
        subsumptions=some(draw, subsumption, 0, 1),
        directives=some(draw, directive, 0, 1),
        pragmas=some(draw, pragma, 0, 1),
    )
