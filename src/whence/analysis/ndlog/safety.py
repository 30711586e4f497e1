"""Whether every variable of a rule gets its values from somewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whence.diagnostics import Diagnostic
from whence.syntax.nodes import (
    Atom,
    Conjunction,
    Constraint,
    Disjunction,
    InInterval,
    Literal,
    Negation,
    Program,
    Record,
    Rule,
    Term,
    Variable,
    Wildcard,
    variables,
    walk,
)


def check_safety(program: Program) -> list[Diagnostic]:
    """Report variables that no predicate of their rule binds and nothing computes."""
    found: list[Diagnostic] = []
    for rule in program.rules:
        bound = bound_by(rule.body, frozenset())
        wanted = [*_wildcards(rule), *_unbound(rule, bound)]
        seen: set[str] = set()
        for term, where in wanted:
            name = term.name if isinstance(term, Variable) else "_"
            if name not in seen:
                seen.add(name)
                found.append(_diagnostic(rule, term, name, where))
    return found


def bound_by(body: Iterable[Literal], given: frozenset[str]) -> frozenset[str]:
    """Return the variables that have values once the literals hold."""
    bound, before = given, None
    literals = tuple(body)
    while bound != before:
        before = bound
        for literal in literals:
            bound |= _binds(literal, bound)
    return bound


def _binds(literal: Literal, bound: frozenset[str]) -> frozenset[str]:
    match literal:
        case Atom(args=args):
            return frozenset(name for arg in args for name in _pattern(arg))
        case Constraint(op="=", left=left, right=right):
            found: frozenset[str] = frozenset()
            for known, other in ((left, right), (right, left)):
                if variables(known).keys() <= bound and not _has_wildcard(known):
                    found |= frozenset(_pattern(other))
            return found
        case Conjunction(items=items):
            return bound_by(items, bound)
        case Disjunction(items=items):
            each = [bound_by((item,), bound) for item in items]
            return frozenset.intersection(*each)
        case _:
            return frozenset()


def _pattern(term: Term) -> Iterator[str]:
    """Yield the variables that matching a term with a value gives values to."""
    pending = [term]
    while pending:
        match pending.pop():
            case Variable(name=name):
                yield name
            case Record(items=items):
                pending.extend(items)
            case _:
                pass


def _has_wildcard(term: Term) -> bool:
    return any(isinstance(node, Wildcard) for node in walk(term))


def _wildcards(rule: Rule) -> Iterator[tuple[Term, str]]:
    for arg in rule.head.args:
        for node in walk(arg):
            if isinstance(node, Wildcard):
                yield node, "head"


def _unbound(rule: Rule, bound: frozenset[str]) -> Iterator[tuple[Variable, str]]:
    for literal in rule.body:
        yield from _unbound_in(literal, bound)
    for name, variable in variables(*rule.head.args).items():
        if name not in bound:
            yield variable, "head"


def _unbound_in(literal: Literal, bound: frozenset[str]) -> Iterator[tuple[Variable, str]]:
    match literal:
        case Negation(literal=inner):
            for name, variable in variables(inner).items():
                if name not in bound:
                    yield variable, "negation"
        case Constraint() | InInterval() | Atom():
            for name, variable in variables(literal).items():
                if name not in bound:
                    yield variable, "comparison"
        case Conjunction(items=items):
            for item in items:
                yield from _unbound_in(item, bound | bound_by(items, bound))
        case Disjunction(items=items):
            for item in items:
                yield from _unbound_in(item, bound | bound_by((item,), bound))
        case _:
            pass


def _diagnostic(rule: Rule, term: Term, name: str, where: str) -> Diagnostic:
    if not rule.body:
        message, hint = "a fact is made of constants", "an address or symbol is written small"
    elif where == "negation":
        message = f"`{name}` is bound only under the negation"
        hint = "write `_` for any value, or bind it in a predicate that holds"
    elif where == "head":
        message = f"`{name}` of the head has no value"
        hint = "bind it in a predicate of the body, or compute it: `X = …`"
    else:
        message = f"`{name}` has no value here"
        hint = "bind it in a predicate of the body, or compute it: `X = …`"
    return Diagnostic("W1313", message, term.span, "no value", hint=hint)
