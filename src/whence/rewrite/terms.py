"""Names, substitution and readiness: what the passes ask of terms and literals.

"Level" means outside of aggregates: the names of a rule's level are those that its aggregates
may share, once their own variables have been named apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import TypeVar, cast

from whence.functor import FUNCTORS, NEGATED
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Constant,
    Constraint,
    Counter,
    Kind,
    Literal,
    Negation,
    Nil,
    Record,
    Rule,
    Subsumption,
    Term,
    Truth,
    UserCall,
    Variable,
    Wildcard,
    children,
    rebuild,
    walk,
)

NodeT = TypeVar("NodeT", bound=Term | Literal)


class Names:
    """A supply of variable names; `claimed` names have an owner, the others only occur."""

    def __init__(self, used: Iterable[str], claimed: Iterable[str] = ()) -> None:
        self.used = set(used)
        self.claimed = set(claimed)
        self._count = 0

    def fresh(self) -> str:
        """Return a name that does not occur yet: `_1`, `_2`, …"""
        while True:
            self._count += 1
            name = f"_{self._count}"
            if name not in self.used:
                self.used.add(name)
                return name

    def claim(self, name: str) -> str:
        """Return `name` for its first owner, and for later ones a variant that does not occur."""
        variant, count = name, 0
        while variant in (self.used if count else self.claimed):
            count += 1
            variant = f"{name}_{count}"
        self.used.add(variant)
        self.claimed.add(variant)
        return variant


def names(*nodes: Term | Literal) -> dict[str, None]:
    """Return the names of all variables inside the nodes, in order of appearance."""
    found: dict[str, None] = {}
    for node in nodes:
        kind = type(node)
        if kind is Variable:
            found[cast(Variable, node).name] = None
        elif kind is not Constant and kind is not Wildcard:
            for inner in walk(node):
                if type(inner) is Variable:
                    found[inner.name] = None
    return found


def level_nodes(*nodes: Term | Literal) -> Iterator[Term | Literal]:
    """Yield the nodes and what is inside them; of an aggregate only the aggregate itself."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        yield node
        if type(node) is not Aggregate:
            inner = children(node)
            if inner:
                pending.extend(reversed(inner))


def level_names(*nodes: Term | Literal) -> dict[str, None]:
    """Return the names of the variables that stand outside of aggregates."""
    return {node.name: None for node in level_nodes(*nodes) if type(node) is Variable}


def level_aggregates(*nodes: Term | Literal) -> list[Aggregate]:
    """Return the aggregates that stand in no other aggregate."""
    return [node for node in level_nodes(*nodes) if type(node) is Aggregate]


def rule_names(rule: Rule) -> dict[str, None]:
    """Return the names of all variables of a rule."""
    return names(*rule.heads, *rule.body)


def transform(
    node: NodeT,
    change: Callable[[Term | Literal], Term | Literal],
    stop: type[Term | Literal] | None = None,
) -> NodeT:
    """Return the node with `change` applied to it and all inside it, innermost first.

    A node of the type `stop` is changed without looking inside. Not recursive: terms may nest
    more deeply than Python's stack likes.
    """
    done: list[Term | Literal] = []
    pending: list[tuple[Term | Literal, int]] = [(node, -1)]
    while pending:
        current, count = pending.pop()
        if count < 0:
            inner = () if type(current) is stop else children(current)
            if not inner:
                done.append(change(current))
                continue
            pending.append((current, len(inner)))
            pending.extend((child, -1) for child in reversed(inner))
        else:
            parts = done[-count:]
            del done[-count:]
            if any(a is not b for a, b in zip(parts, children(current), strict=True)):
                supply = iter(parts)
                current = rebuild(current, lambda _, supply=supply: next(supply))  # type: ignore[misc]
            done.append(change(current))
    return cast(NodeT, done[0])


def substitute(node: NodeT, by: Mapping[str, Term]) -> NodeT:
    """Return the node with variables replaced, also inside aggregates."""
    return cast(NodeT, _substitute(node, by))


def _substitute(node: Term | Literal, by: Mapping[str, Term]) -> Term | Literal:
    def change(inner: Term | Literal) -> Term | Literal:
        return by.get(inner.name, inner) if isinstance(inner, Variable) else inner

    if not isinstance(node, Atom):
        return transform(node, change)
    args = tuple(
        by.get(arg.name, arg) if isinstance(arg, Variable) else transform(arg, change)
        for arg in node.args
    )
    return Atom(node.relation, args, span=node.span)


def substitute_rule(rule: Rule, by: Mapping[str, Term]) -> Rule:
    """Return the rule with variables replaced in heads and body."""
    return replace(
        rule,
        heads=tuple(substitute(head, by) for head in rule.heads),
        body=tuple(substitute(literal, by) for literal in rule.body),
    )


def term_kind(term: Term) -> Kind | None:
    """Return the kind of a term's value, as far as the term alone says."""
    match term:
        case Constant(kind=kind) | Aggregate(kind=kind):
            return kind
        case Record() | Nil():
            return Kind.RECORD
        case Call(functor=functor, kind=kind) if kind and (functor, kind) in FUNCTORS:
            return FUNCTORS[functor, kind].result
        case _:
            return None


def is_deterministic(*nodes: Term | Literal) -> bool:
    """Say whether the nodes mean the same each time they are evaluated."""
    return not any(isinstance(inner, Counter | UserCall) for node in nodes for inner in walk(node))


_PARTIAL = frozenset(("/", "%", "^", "to_number", "to_unsigned", "to_float", "ftoi", "ftou"))


def may_fault(literal: Literal) -> bool:
    """Say whether evaluating a literal may stop with an error, such as a division by zero."""
    if type(literal) is Atom:
        return False
    return any(
        type(node) is UserCall or (type(node) is Call and node.functor in _PARTIAL)
        for node in walk(literal)
    )


def negate(literal: Literal) -> Literal:
    """Return the negation of an atom, constraint, truth value or negation."""
    match literal:
        case Negation(literal=inner):
            return inner
        case Constraint(op=op):
            return replace(literal, op=NEGATED[op])
        case Truth(value=value):
            return replace(literal, value=not value)
        case _:
            return Negation(literal, span=literal.span)


# ── readiness ────────────────────────────────────────────────────────────────────────


def _pattern(term: Term, level: Set[str], binds: set[str], needs: set[str]) -> None:
    """Add the variables that matching a value against `term` binds, and those it needs."""
    kind = type(term)
    if kind is Variable:
        binds.add(cast(Variable, term).name)
    elif kind is Record:
        for item in cast(Record, term).items:
            _pattern(item, level, binds, needs)
    elif kind not in (Wildcard, Constant, Nil, Counter):
        needs.update(names(term).keys() & level)


def newly_bound(literal: Literal, bound: Set[str], level: Set[str]) -> Collection[str] | None:
    """Return the variables that a flat literal binds, or None while it is not ready.

    `level` holds the rule's names outside of aggregates: an aggregate waits for those only.
    """
    match literal:
        case Atom(args=args):
            binds: set[str] = set()
            needs: set[str] = set()
            for arg in args:
                _pattern(arg, level, binds, needs)
            return binds if needs <= bound or needs <= bound | binds else None
        case Constraint(op="=", left=left, right=right):
            for given, other in ((left, right), (right, left)):
                if not _is_value(given) or not names(given).keys() & level <= bound:
                    continue
                binds, needs = set(), set()
                _pattern(other, level, binds, needs)
                if needs <= bound or needs <= bound | binds:
                    return binds
            return None
        case Truth():
            return ()
        case _:
            return () if names(literal).keys() & level <= bound else None


def _is_value(term: Term) -> bool:
    """Say whether a term has a value of its own, that is, holds no wildcard."""
    if type(term) is Record:
        return not any(type(inner) is Wildcard for inner in level_nodes(term))
    return type(term) is not Wildcard


def bound_by(body: Iterable[Literal], level: Set[str], given: Iterable[str] = ()) -> set[str]:
    """Return the variables that a flat body binds, starting from those given."""
    bound = set(given)
    waiting = list(body)
    while waiting:
        later = []
        for literal in waiting:
            new = newly_bound(literal, bound, level)
            if new is None:
                later.append(literal)
            else:
                bound.update(new)
        if len(later) == len(waiting):
            break
        waiting = later
    return bound


# ── subsumption as a rule ────────────────────────────────────────────────────────────

_SUBSUMES = Atom("@subsumes", ())


def as_rule(subsumption: Subsumption) -> Rule:
    """Return a rule whose body starts with the two atoms that a subsumption compares."""
    return Rule(
        (_SUBSUMES,),
        (subsumption.dominated, subsumption.dominating, *subsumption.body),
        subsumption.orders,
        span=subsumption.span,
    )


def as_subsumption(rule: Rule) -> Subsumption:
    """Return the subsumption that `as_rule` made a rule of."""
    dominated, dominating, *body = rule.body
    assert isinstance(dominated, Atom)
    assert isinstance(dominating, Atom)
    return Subsumption(dominated, dominating, tuple(body), rule.orders, span=rule.span)
