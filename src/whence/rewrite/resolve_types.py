"""Write into the program what type inference found, so that later passes go bottom-up."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from whence.analysis.clauses import Clause
from whence.analysis.inference import Inference, Typing
from whence.analysis.inferred import infer_program
from whence.functor.values import canonical_float
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
    Rule,
    Subsumption,
    Term,
    Truth,
    UserCall,
    Variable,
    Wildcard,
)


def resolve_types(program: Program) -> Program:
    """Fill in the kinds of constants, functors, comparisons and aggregates, and record types.

    Alternatives may differ in their types, so each becomes a rule of its own.

    >>> from whence.syntax.souffle import parse
    >>> program = parse(".decl a(x: float)  a(x + 1) :- a(x), x < 10.")
    >>> print(resolve_types(program).rules[0].head.args[0])
    Call(functor='+', args=(Variable(name='x'), Constant(value=1.0, ...)), kind=<Kind.FLOAT...>)
    """
    inferred = infer_program(program)
    rules: list[Rule] = []
    subsumptions: list[Subsumption] = []
    for typed in inferred.origins:
        origin = typed.origin
        if typed.constants is not None:
            assert isinstance(origin, Rule)
            rules.append(_resolve_fact(origin, typed.constants))
        # A `.plan` speaks of one body; of several it would be a guess which.
        orders = origin.orders if typed.bodies == 1 else ()
        for clause, typing in typed.clauses:
            head, body = _Resolver(inferred.inference, typing).clause(clause)
            if isinstance(origin, Rule):
                rules.append(Rule((head,), body, orders, origin.annotation, span=origin.span))
                continue
            less, more = body[:2]
            assert isinstance(less, Atom)
            assert isinstance(more, Atom)
            subsumptions.append(Subsumption(less, more, body[2:], orders, span=origin.span))
    return replace(program, rules=tuple(rules), subsumptions=tuple(subsumptions))


def _resolve_fact(fact: Rule, kinds: tuple[Kind, ...]) -> Rule:
    head = fact.heads[0]
    args = tuple([_constant(arg, kind) for arg, kind in zip(head.args, kinds, strict=True)])
    head = Atom(head.relation, args, span=head.span)
    return Rule((head,), annotation=fact.annotation, span=fact.span)


def _constant(constant: Term, kind: Kind) -> Constant:
    assert isinstance(constant, Constant)
    if constant.kind is kind:
        return constant
    value = canonical_float(float(constant.value)) if kind is Kind.FLOAT else constant.value
    return Constant(value, kind, span=constant.span)


class _Resolver:
    """Rebuilds a clause, meeting its terms in the order in which inference numbered them."""

    def __init__(self, inference: Inference, typing: Typing) -> None:
        self.system = inference.system
        self.typing = typing
        self.slots = iter([slot for _, slot in typing.terms])
        self.comparisons = iter(typing.comparisons)

    def clause(self, clause: Clause) -> tuple[Atom, tuple[Literal, ...]]:
        head = self.atom(clause.head)
        return head, tuple([self.literal(literal) for literal in clause.body])

    def atom(self, atom: Atom) -> Atom:
        return Atom(atom.relation, self.terms(atom.args), span=atom.span)

    def literal(self, literal: Literal) -> Literal:
        match literal:
            case Atom():
                return self.atom(literal)
            case Negation(literal=inner, span=span):
                return Negation(self.literal(inner), span=span)
            case Constraint(op=op, span=span):
                left, right = self.term(literal.left), self.term(literal.right)
                return Constraint(op, left, right, self.compared(), span=span)
            case Conjunction(items=items, span=span):
                return Conjunction(tuple([self.literal(item) for item in items]), span=span)
            case Disjunction(items=items, span=span):
                return Disjunction(tuple([self.literal(item) for item in items]), span=span)
            case Truth():
                return literal
            case InInterval():
                raise AssertionError("an interval of NDlog is comparisons here")
            case _:
                assert_never(literal)

    def compared(self) -> Kind:
        _, left, right = next(self.comparisons)
        return self.kind(left) or self.kind(right) or Kind.NUMBER

    def terms(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple([term if type(term) is Variable else self.term(term) for term in terms])

    def term(self, term: Term) -> Term:
        if type(term) is Variable:
            return term
        slot = next(self.slots)
        match term:
            case Constant():
                return _constant(term, term.kind or self.typing.constants.get(slot, Kind.NUMBER))
            case Call(functor=functor, args=args, span=span):
                return Call(
                    functor, self.terms(args), self.typing.overloads[slot].params[0], span=span
                )
            case Record(items=items, span=span):
                name = self.system.names[self.typing.types[slot].bit_length() - 1]
                return Record(self.terms(items), name, span=span)
            case UserCall(name=name, args=args, span=span):
                return UserCall(name, self.terms(args), span=span)
            case Cast(term=inner, type=type_, span=span):
                return Cast(self.term(inner), type_, span=span)
            case Aggregate(function=function, target=target, body=body, span=span):
                target = None if target is None else self.term(target)
                literals = tuple([self.literal(literal) for literal in body])
                kind = self.kind(slot) or Kind.NUMBER
                return Aggregate(function, target, literals, kind, span=span)
            case Wildcard() | Nil() | Counter() | Variable():
                return term
            case HeadAggregate():
                raise AssertionError("an aggregate of a head has a rule of its own here")
            case _:
                assert_never(term)

    def kind(self, slot: int) -> Kind | None:
        return self.system.kind_of(self.typing.types[slot])
