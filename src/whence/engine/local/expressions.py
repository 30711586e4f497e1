"""Terms and constraints, compiled to functions over a chunk of bindings."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whence.diagnostics import DataError, Diagnostic, Span
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.values import NIL, Values
from whence.functor.comparison import COMPARISONS
from whence.functor.table import FUNCTORS
from whence.functor.user import UserFunctors
from whence.functor.values import FunctorFault
from whence.syntax.nodes import (
    Aggregate,
    Call,
    Cast,
    Constant,
    Constraint,
    Counter,
    FunctorDecl,
    HeadAggregate,
    Kind,
    Nil,
    Record,
    Term,
    UserCall,
    Variable,
    Wildcard,
)

Expression: TypeAlias = Callable[[Rows, int], Ints]
"""From the first n bindings of a chunk to n codes."""

Condition: TypeAlias = Callable[[Rows, int], NDArray[np.bool_]]


class Context:
    """What compiling a term needs besides the term."""

    def __init__(
        self,
        values: Values,
        functors: Mapping[str, FunctorDecl],
        type_kinds: Mapping[str, Kind],
        user: UserFunctors,
    ) -> None:
        self.values = values
        self.functors = functors
        self.type_kinds = type_kinds
        self.user = user


def compile_term(term: Term, slots: Mapping[str, int], context: Context) -> Expression:
    """Return the function that gives the term's codes for a chunk of bindings."""
    match term:
        case Variable(name=name):
            slot = slots[name]
            return lambda binding, n: binding[:n, slot]
        case Constant():
            return _constant(context.values.code(term))
        case Nil():
            return _constant(NIL)
        case Cast(term=inner):
            return compile_term(inner, slots, context)
        case Record(items=items):
            return _record([compile_term(i, slots, context) for i in items], context.values)
        case Call():
            return _call(term, slots, context)
        case UserCall():
            return _user_call(term, slots, context)
        case Wildcard() | Counter() | Aggregate() | HeadAggregate():
            raise AssertionError(f"{term!r} has no value of its own")


def _constant(code: int) -> Expression:
    return lambda _binding, n: np.full(n, code, dtype=np.int64)


def _record(items: list[Expression], values: Values) -> Expression:
    def pack(binding: Rows, n: int) -> Ints:
        rows = np.empty((n, len(items)), dtype=np.int64)
        for column, item in enumerate(items):
            rows[:, column] = item(binding, n)
        return values.pack(rows)

    return pack


def _call(term: Call, slots: Mapping[str, int], context: Context) -> Expression:
    assert term.kind is not None
    functor = FUNCTORS[term.functor, term.kind]
    values, array, result, span = context.values, functor.array, functor.result, term.span
    args = [compile_term(a, slots, context) for a in term.args]
    kinds = [functor.params[0]] * len(args) if functor.variadic else list(functor.params)
    if functor.codes:
        kinds = [Kind.NUMBER] * len(args)
    if term.functor in _TOTAL and term.kind is Kind.NUMBER:
        left, right = args
        return lambda binding, n: array(left(binding, n), right(binding, n))  # type: ignore[return-value]

    def call(binding: Rows, n: int) -> Ints:
        decoded = [values.decode(a(binding, n), k) for a, k in zip(args, kinds, strict=True)]
        try:
            return values.encode(array(*decoded), result)
        except FunctorFault as fault:
            raise fault_error(fault, span) from None

    return call


_TOTAL: Final = frozenset({"+", "-", "*", "band", "bor", "bxor"})
"""Functors on numbers that cannot fault."""


def fault_error(fault: FunctorFault, span: Span) -> DataError:
    """Return the error for a functor that has no value for its arguments."""
    return DataError(Diagnostic("W0701", fault.message, span, "no value for some binding"))


def _user_call(term: UserCall, slots: Mapping[str, int], context: Context) -> Expression:
    decl = context.functors[term.name]
    kinds = [context.type_kinds[p.type] for p in decl.parameters]
    result = context.type_kinds[decl.returns]
    function = context.user[term.name]
    args = [compile_term(a, slots, context) for a in term.args]
    values, span = context.values, term.span

    def call(binding: Rows, n: int) -> Ints:
        decoded = [values.decode(a(binding, n), k) for a, k in zip(args, kinds, strict=True)]
        try:
            return values.encode(function.array(result, n, *decoded), result)
        except FunctorFault as fault:
            raise fault_error(fault, span) from None

    return call


def compile_constraint(
    constraint: Constraint, slots: Mapping[str, int], context: Context
) -> Condition:
    """Return the function that says for which bindings of a chunk the constraint holds."""
    left = compile_term(constraint.left, slots, context)
    right = compile_term(constraint.right, slots, context)
    op, kind = constraint.op, constraint.kind or Kind.NUMBER
    comparison = COMPARISONS[op, kind]
    if comparison.codes:
        compare = _ON_CODES[op]
        return lambda binding, n: compare(left(binding, n), right(binding, n))
    predicate = comparison.array
    values, span = context.values, constraint.span

    def holds(binding: Rows, n: int) -> NDArray[np.bool_]:
        sides = (values.decode(side(binding, n), kind) for side in (left, right))
        try:
            return predicate(*sides)
        except FunctorFault as fault:
            raise fault_error(fault, span) from None

    return holds


_ON_CODES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
