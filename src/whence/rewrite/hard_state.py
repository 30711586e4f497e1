"""The hard state of an NDlog program as a program with types, for the embedded engine.

Locations and keys are left out. Not every program can be told so: lists, times and numbers of more
than 64 bits have no counterpart, and `Untold` says which it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from whence.analysis.ndlog.state import State, aggregates, hard_part, states
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Attribute,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Directive,
    Disjunction,
    HeadAggregate,
    InInterval,
    Kind,
    Literal,
    Negation,
    Program,
    RelationDecl,
    Rule,
    Term,
    Variable,
    Wildcard,
    rebuild,
    variables,
)

FUNCTORS: Final = {"f_sum": "+", "f_compute": "+", "f_min": "min", "f_max": "max"}
_ARITHMETIC: Final = frozenset({"+", "-", "neg", "min", "max"})
_ORDERED: Final = frozenset({"<", "<=", ">", ">="})
MAX_WHOLE: Final = 1 << 40
"""Larger numbers might not fit into 64 bits once they are added up."""

Slot = tuple[str, int | str]


class Untold(Exception):
    """The program cannot be written with types; the message says why."""


def hard_state(program: Program, base: Mapping[str, tuple[Kind | None, ...]]) -> Program:
    """Return the hard-state rules of a program with declarations of their relations.

    `base` has the kinds of the columns of relations that are read. Those without rules become
    inputs; what is queried, or else what is derived, becomes an output.
    """
    known = states(program)
    rules = [_named_wildcards(rule) for rule in hard_part(program)]
    rules = [part for number, rule in enumerate(rules) for part in _plain(rule, number)]
    kinds = _Kinds()
    for relation, columns in base.items():
        for column, kind in enumerate(columns):
            if kind is not None:
                kinds.let((relation, column), kind)
    for number, rule in enumerate(rules):
        kinds.rule(rule, str(number))
    kinds.check()
    arities = {atom.relation: len(atom.args) for rule in rules for atom in _atoms(rule)}
    arities |= {name: len(columns) for name, columns in base.items()}
    derived = {rule.head.relation for rule in rules}
    asked = [q.atom.relation for q in program.queries if known.get(q.atom.relation) is State.HARD]
    outputs = asked or [n for n in derived if known.get(n) is State.HARD and n not in base]
    return Program(
        relations=tuple(
            RelationDecl(name, tuple(kinds.attributes(name, arity)))
            for name, arity in arities.items()
        ),
        rules=tuple(rules),
        directives=(
            *(Directive("input", name) for name in base),
            *(Directive("output", name) for name in dict.fromkeys(outputs)),
        ),
    )


# ── rules


def _named_wildcards(rule: Rule) -> Rule:
    """Give wildcards outside of negations a name, since an aggregate is over instances."""
    if not aggregates(rule):
        return rule
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


def _plain(rule: Rule, number: int) -> Iterable[Rule]:
    """Yield the rules that stand for one of NDlog; an aggregate has one for its instances."""
    body = tuple(_literal(literal) for literal in rule.body)
    head = _atom(rule.head)
    if not aggregates(rule):
        yield Rule((head,), body, span=rule.span)
        return
    keys = [arg for arg in head.args if not isinstance(arg, HeadAggregate)]
    names = list(variables(*(lit for lit in rule.body if not isinstance(lit, Negation))))
    columns = [Variable(f"k {i}") for i in range(len(keys))]
    instances = f"{head.relation} by {rule.name or number}"
    all_columns = (*keys, *(Variable(name) for name in names))
    yield Rule((Atom(instances, all_columns, span=head.span),), body, span=rule.span)
    inner = Atom(instances, (*columns, *(Variable(f"i {name}") for name in names)))
    results = {i: Variable(f"r {i}") for i in range(len(head.args))}
    folds = [
        Constraint("=", results[index], _fold(arg, inner), span=head.span)
        for index, arg in enumerate(head.args)
        if isinstance(arg, HeadAggregate)
    ]
    plain = iter(columns)
    args = tuple(
        results[index] if isinstance(arg, HeadAggregate) else next(plain)
        for index, arg in enumerate(head.args)
    )
    outer = Atom(instances, (*columns, *(Wildcard() for _ in names)))
    yield Rule((replace(head, args=args),), (outer, *folds), span=rule.span)


def _fold(arg: HeadAggregate, inner: Atom) -> Aggregate:
    if arg.function == "count":
        return Aggregate("count", None, (inner,))
    if arg.function == "avg" or not isinstance(arg.target, Variable):
        raise Untold(f"`{arg.function}` of such a term")
    return Aggregate(arg.function, Variable(f"i {arg.target.name}"), (inner,))


def _atom(atom: Atom) -> Atom:
    return Atom(atom.relation, tuple(_term(arg) for arg in atom.args), span=atom.span)


def _literal(literal: Literal) -> Literal:
    match literal:
        case Atom():
            return _atom(literal)
        case Negation():
            return replace(literal, literal=_literal(literal.literal))
        case Constraint():
            return replace(literal, left=_term(literal.left), right=_term(literal.right))
        case Conjunction() | Disjunction():
            return replace(literal, items=tuple(_literal(item) for item in literal.items))
        case InInterval():
            return _interval(literal)
        case _:
            return literal


def _interval(found: InInterval) -> Literal:
    item, low, high = (_term(term) for term in (found.item, found.low, found.high))
    above = Constraint("<=" if found.closed_low else "<", low, item)
    below = Constraint("<=" if found.closed_high else "<", item, high)
    return Disjunction(
        (
            Conjunction((Constraint("<", low, high), above, below)),
            Conjunction((Constraint(">=", low, high), Disjunction((above, below)))),
        ),
        span=found.span,
    )


def _term(term: Term) -> Term:
    match term:
        case Variable() | Wildcard() | HeadAggregate():
            return term
        case Constant(value=value) if isinstance(value, bool) or value in (_INFINITY, -_INFINITY):
            raise Untold(f"the value `{value}`")
        case Constant(value=int() as value) if abs(value) > MAX_WHOLE:
            raise Untold("a number of many digits")
        case Constant():
            return term
        case Call(functor=functor, args=args):
            functor = FUNCTORS.get(functor, functor)
            if functor not in _ARITHMETIC:
                raise Untold(f"`{functor}`")
            return replace(term, functor=functor, args=tuple(_term(arg) for arg in args))
        case _:
            raise Untold("lists")


_INFINITY: Final = float("inf")


def _atoms(rule: Rule) -> list[Atom]:
    found: list[Atom] = []
    pending: list[Term | Literal] = [*rule.heads, *rule.body]
    while pending:
        node = pending.pop()
        if isinstance(node, Atom):
            found.append(node)
        elif isinstance(node, Negation):
            pending.append(node.literal)
        elif isinstance(node, Conjunction | Disjunction):
            pending.extend(node.items)
    return found


# ── kinds


@dataclass
class _Kinds:
    """The kind of each column and variable: those that are compared or computed agree."""

    parents: dict[Slot, Slot] = field(default_factory=dict)
    known: dict[Slot, Kind] = field(default_factory=dict)
    numeric: list[Slot] = field(default_factory=list)
    fresh: count[int] = field(default_factory=count)

    def root(self, slot: Slot) -> Slot:
        while (parent := self.parents.get(slot, slot)) != slot:
            slot = parent
        return slot

    def let(self, slot: Slot, kind: Kind) -> None:
        before = self.known.setdefault(self.root(slot), kind)
        if before is not kind:
            raise Untold(f"values of the kinds {before.value} and {kind.value} in one column")

    def join(self, one: Slot, two: Slot) -> None:
        a, b = self.root(one), self.root(two)
        if a == b:
            return
        kind = self.known.pop(a, None)
        self.parents[a] = b
        if kind is not None:
            self.let(b, kind)

    def rule(self, rule: Rule, scope: str) -> None:
        for atom in _atoms(rule):
            for column, arg in enumerate(atom.args):
                self.join((atom.relation, column), self.term(arg, scope))
        pending = list(rule.body)
        while pending:
            match pending.pop():
                case Negation(literal=inner):
                    pending.append(inner)
                case Conjunction(items=items) | Disjunction(items=items):
                    pending.extend(items)
                case Constraint(op=op, left=left, right=right):
                    one, two = self.term(left, scope), self.term(right, scope)
                    self.join(one, two)
                    if op in _ORDERED:
                        self.numeric.append(one)
                case _:
                    pass

    def term(self, term: Term, scope: str) -> Slot:
        slot: Slot = (f"rule {scope}", f"{next(self.fresh)}")
        match term:
            case Variable(name=name):
                return f"rule {scope}", f"variable {name}"
            case Constant(value=str()):
                self.let(slot, Kind.SYMBOL)
            case Constant(value=float()):
                self.let(slot, Kind.FLOAT)
            case Constant():
                self.numeric.append(slot)
            case Call(args=args):
                for arg in args:
                    self.join(slot, self.term(arg, scope))
                self.numeric.append(slot)
            case Aggregate(function="count"):
                self.let(slot, Kind.NUMBER)
                self.inner(term, scope)
            case Aggregate(target=Variable() as target):
                self.join(slot, self.term(target, scope))
                self.numeric.append(slot)
                self.inner(term, scope)
            case _:
                pass
        return slot

    def inner(self, term: Aggregate, scope: str) -> None:
        for literal in term.body:
            assert isinstance(literal, Atom)
            for column, arg in enumerate(literal.args):
                self.join((literal.relation, column), self.term(arg, scope))

    def check(self) -> None:
        for slot in self.numeric:
            root = self.root(slot)
            if self.known.setdefault(root, Kind.NUMBER) is Kind.SYMBOL:
                raise Untold("text that is ordered or computed with")

    def attributes(self, relation: str, arity: int) -> Iterable[Attribute]:
        for column in range(arity):
            kind = self.known.get(self.root((relation, column)), Kind.SYMBOL)
            yield Attribute(f"c{column + 1}", kind.value)


def not_here() -> Diagnostic:
    """Return what to say where an NDlog program cannot be evaluated as others are."""
    return Diagnostic(
        "W1340",
        "this is an NDlog program, which runs on a network",
        hint="`whence net run` runs it; `whence run` evaluates its hard state in one place",
    )
