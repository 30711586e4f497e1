"""Type inference of one clause.

The rules are Soufflé's. A body atom makes its argument a subtype of the declared type; heads and
negated atoms only ask for the right kind. An overloaded functor, or a constant such as `1`, that
the clause leaves open is decided in the order symbol, number, unsigned, float; and once something
is decided, inference starts over.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import assert_never

from whence.analysis.clauses import Clause
from whence.analysis.solver import Conflict, Key, Solver
from whence.analysis.typesystem import ALL, TypeSystem
from whence.functor.table import INFIX, Functor, overloads
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
    FunctorDecl,
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
)

_NUMERIC = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)
_ROUNDS = 12


@dataclass(slots=True)
class Typing:
    """What inference found out about a clause whose aggregates have names apart.

    Every variable has a slot, and every occurrence of another term has one; `types` is indexed by
    slots.
    """

    clause: Clause
    variables: dict[str, int] = field(default_factory=dict)
    terms: list[tuple[Term, int]] = field(default_factory=list)
    """Terms other than variables with their slots, outermost and leftmost first."""
    arguments: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The slots of what is inside a term, by the term's slot."""
    atoms: list[tuple[Atom, bool, tuple[int, ...]]] = field(default_factory=list)
    """Atoms, whether they are negated, and the slots of their arguments."""
    comparisons: list[tuple[Constraint, int, int]] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    overloads: dict[int, Functor] = field(default_factory=dict)
    constants: dict[int, Kind] = field(default_factory=dict)


class Inference:
    """Infers the types of the clauses of one program."""

    def __init__(self, program: Program) -> None:
        self.system = TypeSystem(program)
        ids = self.system.ids
        self.relations: Mapping[str, tuple[int, ...]] = {
            decl.name: tuple([ids.get(attribute.type, -1) for attribute in decl.attributes])
            for decl in reversed(program.relations)
        }
        self.functors: Mapping[str, FunctorDecl] = {
            decl.name: decl for decl in reversed(program.functors)
        }
        self.numeric = sum(1 << self.system.constant(kind) for kind in _NUMERIC)

    def infer(self, clause: Clause, ignored: Set[Key] = frozenset()) -> Typing:
        """Return the types of the clause's variables and terms; empty sets where none will do."""
        typing = Typing(clause)
        for _ in range(_ROUNDS):
            solver = _Collector(self, typing, ignored).clause()
            solver.solve()
            typing.types = solver.types
            if not self._decide(typing):
                break
        return typing

    def conflict(self, typing: Typing, ignored: Set[Key]) -> Conflict | None:
        """Return what first made a set of types empty."""
        return _Collector(self, typing, ignored).clause().conflict()

    def _decide(self, typing: Typing) -> bool:
        """Fix the overloads and constants that the types allow; return whether that says more."""
        changed = False
        for term, slot in reversed(typing.terms):  # what is inside a call is decided before it
            if type(term) is Call:
                changed |= self._decide_call(typing, slot, term)
        for term, slot in typing.terms:
            if type(term) is Constant and term.kind is None:
                changed |= self._decide_constant(typing, slot)
        return changed

    def _decide_call(self, typing: Typing, slot: int, call: Call) -> bool:
        known = typing.overloads.get(slot)
        for form in (known,) if known is not None else overloads(call.functor):
            if self._fits(typing, form, slot):
                typing.overloads[slot] = form
                return known is not form and not self._is_settled(typing, form, slot)
        return typing.overloads.pop(slot, None) is not None

    def _is_settled(self, typing: Typing, form: Functor, slot: int) -> bool:
        """Whether the types were of the form's kinds before it was chosen."""
        if form.name == "ord":
            return False
        args = typing.arguments[slot]
        kinds = form.params * len(args) if form.variadic else form.params
        return all(
            not typing.types[inner] & ~self.system.by_kind[kind]
            for inner, kind in zip((*args, slot), (*kinds, form.result), strict=True)
        )

    def _fits(self, typing: Typing, form: Functor, slot: int) -> bool:
        args = typing.arguments[slot]
        if not form.accepts(len(args)):
            return False
        kinds = form.params * len(args) if form.variadic else form.params
        return all(
            self._may_be(typing, arg, kind) for arg, kind in zip(args, kinds, strict=True)
        ) and self._may_be(typing, slot, form.result)

    def _may_be(self, typing: Typing, slot: int, kind: Kind) -> bool:
        known = typing.overloads.get(slot)
        if known is not None:
            return known.result is kind
        types = typing.types[slot]
        return types == ALL or bool(types & self.system.by_kind[kind])

    def _decide_constant(self, typing: Typing, slot: int) -> bool:
        types = typing.types[slot]
        before = typing.constants.get(slot)
        for kind in _NUMERIC:
            if types & self.system.by_kind[kind]:
                typing.constants[slot] = kind
                return before is not kind and bool(types & ~self.system.by_kind[kind])
        return typing.constants.pop(slot, None) is not None


class _Collector:
    """Numbers the terms of a clause and says what their types must satisfy."""

    def __init__(self, inference: Inference, typing: Typing, ignored: Set[Key]) -> None:
        self.inference = inference
        self.system = inference.system
        self.solver = Solver(inference.system, ignored)
        self.typing = typing
        typing.variables = {}
        typing.terms = []
        typing.arguments = {}
        typing.atoms = []
        typing.comparisons = []

    def clause(self) -> Solver:
        """Return the solver that knows all constraints of the clause."""
        clause = self.typing.clause
        self.atom(clause.head, sink=True, negated=False)
        for literal in clause.body:
            self.literal(literal, False)
        return self.solver

    def literal(self, literal: Literal, negated: bool) -> None:
        match literal:
            case Atom():
                self.atom(literal, sink=negated, negated=negated)
            case Negation(literal=inner):
                self.literal(inner, not negated)
            case Constraint(left=left, right=right):
                sides = self.term(left), self.term(right)
                self.typing.comparisons.append((literal, *sides))
                self.solver.place = literal
                self.solver.equal(*sides)
            case Conjunction(items=items) | Disjunction(items=items):
                for item in items:
                    self.literal(item, negated)
            case Truth():
                pass
            case InInterval():
                raise AssertionError("an interval of NDlog is comparisons here")
            case _:
                assert_never(literal)

    def atom(self, atom: Atom, *, sink: bool, negated: bool) -> None:
        slots = tuple([self.term(arg) for arg in atom.args])
        self.typing.atoms.append((atom, negated, slots))
        declared = self.inference.relations.get(atom.relation, ())
        if len(declared) != len(slots):
            return
        self.solver.place = atom
        for slot, type_ in zip(slots, declared, strict=True):
            if type_ < 0:
                continue
            kind = self.system.kinds[type_]
            if sink and kind is not Kind.RECORD:
                type_ = self.system.constant(kind)
            self.solver.below(slot, type_, sink=sink)

    def term(self, term: Term) -> int:
        """Return the slot of a term, after saying what it must satisfy."""
        if type(term) is Variable:
            variables = self.typing.variables
            slot = variables.get(term.name)
            if slot is None:
                slot = variables[term.name] = self.solver.slot()
            return slot
        slot = self.solver.slot()
        self.typing.terms.append((term, slot))
        match term:
            case Constant():
                self.constant(term, slot)
            case Call():
                self.call(term, slot)
            case Record(items=items):
                for index, item in enumerate(self.inside(slot, items)):
                    self.solver.place = term
                    self.solver.item(item, slot, index)
            case UserCall():
                self.user_call(term, slot)
            case Cast():
                self.cast(term, slot)
            case Aggregate():
                self.aggregate(term, slot)
            case Counter():
                self.solver.place = term
                self.solver.below(slot, self.system.constant(Kind.NUMBER))
            case Wildcard() | Nil() | Variable():
                pass
            case HeadAggregate():
                raise AssertionError("an aggregate of a head has a rule of its own here")
            case _:
                assert_never(term)
        return slot

    def inside(self, slot: int, terms: tuple[Term, ...]) -> tuple[int, ...]:
        slots = self.typing.arguments[slot] = tuple([self.term(term) for term in terms])
        return slots

    def constant(self, constant: Constant, slot: int) -> None:
        kind = constant.kind or self.typing.constants.get(slot)
        self.solver.place = constant
        if kind is Kind.SYMBOL:
            self.solver.below(slot, self.system.constant(kind))
        elif kind is None:
            self.solver.among(slot, self.inference.numeric)
        else:
            self.solver.among(slot, 1 << self.system.constant(kind))

    def call(self, call: Call, slot: int) -> None:
        args = self.inside(slot, call.args)
        self.solver.place = call
        form = self.typing.overloads.get(slot)
        infix = call.functor in INFIX
        if form is None:
            self.solver.overloaded(overloads(call.functor), slot, args, infix)
        if infix:
            for arg in args:
                self.solver.same_base(arg, slot)
        elif form is not None:
            self.solver.below(slot, self.system.constant(form.result))
            if form.name != "ord":
                for i, arg in enumerate(args):
                    kind = form.params[0 if form.variadic else i]
                    self.solver.below(arg, self.system.constant(kind))

    def user_call(self, call: UserCall, slot: int) -> None:
        args = self.inside(slot, call.args)
        self.solver.place = call
        decl = self.inference.functors.get(call.name)
        if decl is None or len(decl.parameters) != len(args):
            return
        ids = self.system.ids
        if decl.returns in ids:
            self.solver.below(slot, ids[decl.returns])
        for arg, parameter in zip(args, decl.parameters, strict=True):
            if parameter.type in ids:
                self.solver.below(arg, ids[parameter.type])

    def cast(self, cast: Cast, slot: int) -> None:
        (inner,) = self.inside(slot, (cast.term,))
        self.solver.place = cast
        type_ = self.system.ids.get(cast.type)
        if type_ is not None:
            self.solver.below(slot, type_)
            if isinstance(cast.term, Constant | Nil):
                self.solver.below(inner, type_)

    def aggregate(self, aggregate: Aggregate, slot: int) -> None:
        target = () if aggregate.target is None else (aggregate.target,)
        targets = self.inside(slot, target)
        self.solver.place = aggregate
        match aggregate.function:
            case "count":
                self.solver.below(slot, self.system.constant(Kind.NUMBER))
            case "mean":
                self.solver.below(slot, self.system.constant(Kind.FLOAT))
            case _:
                self.solver.among(slot, self.inference.numeric)
        for inner in targets:
            self.solver.equal(inner, slot)
        for literal in aggregate.body:
            self.literal(literal, False)
