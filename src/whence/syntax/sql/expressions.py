"""Expressions of SQL as terms: columns, constants, arithmetic, text and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from whence.diagnostics import nearest
from whence.syntax.nodes import Call, Constant, Kind, Term, UserCall
from whence.syntax.sql.catalog import type_of
from whence.syntax.sql.context import Context
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.places import place_of
from whence.syntax.sql.scope import Scope
from whence.syntax.sql.typing import NUMERIC, is_open

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

Aggregated = Callable[[exp.AggFunc], Term]
"""Makes the term of an aggregate; without it an expression has none."""

_INFIX: Final = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_AGGREGATES: Final = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_MAX_INTEGER: Final = 2**63


def term(
    context: Context, scope: Scope, expression: Expr, aggregated: Aggregated | None = None
) -> Term:
    """Return the term of an expression."""

    def inner(e: Expr) -> Term:
        return term(context, scope, e, aggregated)

    place = place_of(context.source, expression)
    match expression:
        case exp.Paren():
            return inner(expression.this)
        case exp.Column():
            if isinstance(expression.this, exp.Star):
                raise fault("W1510", "`*` is not a value", place, hint="name a column")
            return scope.resolve(expression)
        case exp.Literal():
            return _constant(context, expression)
        case exp.Neg():
            return _negated(inner(expression.this))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            left, right = alike(context, scope, inner(expression.left), inner(expression.right))
            _check_numeric(context, scope, expression, left, right)
            return Call(_INFIX[type(expression)], (left, right), span=place)
        case exp.DPipe():
            return _concatenated(
                context, scope, [inner(e) for e in (expression.left, expression.right)]
            )
        case exp.Concat():
            return _concatenated(context, scope, [inner(e) for e in expression.expressions])
        case exp.Cast():
            return _cast(context, scope, expression, inner(expression.this))
        case exp.Least() | exp.Greatest():
            each = tuple(inner(part) for part in (expression.this, *expression.expressions))
            name = "min" if isinstance(expression, exp.Least) else "max"
            return Call(name, each, span=place)
        case exp.Length():
            return Call("strlen", (inner(expression.this),), span=place)
        case exp.Substring():
            return _substring(inner, expression)
        case exp.Coalesce():
            return inner(expression.this)  # there is no NULL, so the first value is the one
        case exp.Subquery():
            return _scalar(context, scope, expression)
        case exp.Null():
            hint = "leave out the row, or use a value that says so"
            raise unsupported("NULL", place, hint)
        case exp.Boolean():
            raise unsupported("a truth value as a column", place, "use 0 and 1")
        case exp.AggFunc():
            if type(expression) not in _AGGREGATES:
                hint = "use COUNT, SUM, AVG, MIN or MAX"
                raise unsupported(f"the aggregate {_name(expression)}", place, hint)
            if aggregated is None:
                hint = "aggregates stand in SELECT and HAVING"
                raise fault("W1511", f"{_name(expression)} cannot stand here", place, hint=hint)
            return aggregated(expression)
        case exp.Case() | exp.If() | exp.Window():
            hint = "write a SELECT for each case, with UNION"
            raise unsupported(f"`{_short(expression)}`", place, hint)
        case exp.Anonymous():
            return _user(context, expression, [inner(e) for e in expression.expressions])
        case exp.Func():
            given = [e for e in expression.args.values() if isinstance(e, exp.Expr)]
            return _user(context, expression, [inner(e) for e in given])
        case _:
            raise unsupported(f"`{_short(expression)}`", place)


def alike(context: Context, scope: Scope, left: Term, right: Term) -> tuple[Term, Term]:
    """Return two terms of one type, as far as SQL makes them so: whole numbers become floats."""
    kinds = context.infer(left, scope.names), context.infer(right, scope.names)
    if "float" in kinds and kinds[0] != kinds[1]:
        return as_type(left, kinds[0], "float"), as_type(right, kinds[1], "float")
    if set(kinds) == {"number", "unsigned"}:
        return (
            left if is_open(left) else as_type(left, kinds[0], "number"),
            right if is_open(right) else as_type(right, kinds[1], "number"),
        )
    return left, right


def as_type(value: Term, kind: str | None, wanted: str | None) -> Term:
    """Return a value as another numeric type."""
    if kind == wanted or kind not in NUMERIC or wanted not in NUMERIC:
        return value
    if is_open(value):
        if wanted == "float" and isinstance(value, Constant):
            return Constant(float(value.value), Kind.FLOAT, span=value.span)
        return value
    return Call(f"to_{wanted}", (value,), span=value.span)


def _constant(context: Context, literal: exp.Literal) -> Term:
    place = place_of(context.source, literal)
    text = str(literal.this)
    if literal.is_string:
        return Constant(text, Kind.SYMBOL, span=place)
    try:
        whole = int(text)
    except ValueError:
        return Constant(float(text), Kind.FLOAT, span=place)
    if whole >= _MAX_INTEGER:
        raise fault("W1512", f"{text} does not fit 64 bits", place)
    return Constant(whole, None, span=place)


def _negated(value: Term) -> Term:
    if isinstance(value, Constant) and not isinstance(value.value, str):
        return Constant(-value.value, value.kind, span=value.span)
    return Call("neg", (value,), span=value.span)


def _check_numeric(context: Context, scope: Scope, whole: Expr, *parts: Term) -> None:
    for part in parts:
        if context.infer(part, scope.names) == "symbol":
            place = place_of(context.source, whole)
            hint = "texts are put together with `||`; CAST makes a number of a text"
            raise fault("W1513", "this is arithmetic with a text", place, hint=hint)


def _concatenated(context: Context, scope: Scope, parts: list[Term]) -> Term:
    return Call("cat", _flat([_text(context, scope, part) for part in parts]))


def _text(context: Context, scope: Scope, value: Term) -> Term:
    kind = context.infer(value, scope.names)
    return value if kind in ("symbol", None) else Call("to_string", (value,), span=value.span)


def _flat(parts: list[Term]) -> tuple[Term, ...]:
    out: list[Term] = []
    for part in parts:
        out.extend(part.args if isinstance(part, Call) and part.functor == "cat" else (part,))
    return tuple(out)


def _cast(context: Context, scope: Scope, cast: exp.Cast, value: Term) -> Term:
    place = place_of(context.source, cast)
    wanted = type_of(cast.to, place)
    if context.infer(value, scope.names) == wanted and not is_open(value):
        return value
    return Call("to_string" if wanted == "symbol" else f"to_{wanted}", (value,), span=place)


def _substring(inner: Callable[[Expr], Term], e: exp.Substring) -> Term:
    start, length = e.args.get("start"), e.args.get("length")
    begin: Term = Constant(0, None)
    if start is not None:
        found = inner(start)
        if isinstance(found, Constant) and isinstance(found.value, int):
            begin = Constant(found.value - 1, None)
        else:
            begin = Call("-", (found, Constant(1, None)))
    count: Term = Constant(-1, None) if length is None else inner(length)
    return Call("substr", (inner(e.this), begin, count))


def _user(context: Context, expression: exp.Func, args: list[Term]) -> Term:
    name = expression.name if isinstance(expression, exp.Anonymous) else expression.sql_name()
    place = place_of(context.source, expression)
    known = {functor.lower(): functor for functor in context.functors}
    if name.lower() not in known:
        like = nearest(name.lower(), known)
        hint = f"did you mean `{like}`?" if like else "declare your own with CREATE FUNCTION"
        raise fault("W1509", f"there is no function `{name.lower()}`", place, hint=hint)
    decl = context.functors[known[name.lower()]]
    if len(args) != len(decl.parameters):
        message = f"`{decl.name}` takes {len(decl.parameters)} values, not {len(args)}"
        raise fault("W1509", message, place)
    return UserCall(decl.name, tuple(args), span=place)


def _scalar(context: Context, scope: Scope, subquery: exp.Subquery) -> Term:
    from whence.syntax.sql.queries import single_value

    return single_value(context, scope, subquery)


def _name(expression: exp.Func) -> str:
    return expression.sql_name()


def _short(expression: Expr) -> str:
    text = " ".join(expression.sql(dialect="postgres").split())
    return text if len(text) <= 60 else f"{text[:59]}…"
