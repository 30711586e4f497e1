"""Conditions of WHERE, ON and HAVING as literals; a NOT is pushed down to what it denies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from whence.syntax.nodes import (
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Truth,
)
from whence.syntax.sql.context import Context
from whence.syntax.sql.expressions import Aggregated, alike, term
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.places import place_of
from whence.syntax.sql.scope import Scope

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_COMPARISONS: Final[dict[type[exp.Expr], tuple[str, str]]] = {
    exp.EQ: ("=", "!="),
    exp.NEQ: ("!=", "="),
    exp.LT: ("<", ">="),
    exp.LTE: ("<=", ">"),
    exp.GT: (">", "<="),
    exp.GTE: (">=", "<"),
}


def conditions(
    context: Context,
    scope: Scope,
    expression: Expr,
    aggregated: Aggregated | None = None,
    *,
    denied: bool = False,
) -> list[Literal]:
    """Return literals that all hold exactly where the condition holds, or does not if `denied`."""

    def inner(e: Expr, deny: bool) -> list[Literal]:
        return conditions(context, scope, e, aggregated, denied=deny)

    place = place_of(context.source, expression)
    match expression:
        case exp.Paren():
            return inner(expression.this, denied)
        case exp.Not():
            return inner(expression.this, not denied)
        case exp.And() | exp.Or():
            sides = [inner(expression.left, denied), inner(expression.right, denied)]
            if isinstance(expression, exp.And) != denied:
                return [*sides[0], *sides[1]]
            return [Disjunction(tuple(_one(side) for side in sides), span=place)]
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return [_comparison(context, scope, expression, aggregated, denied)]
        case exp.Between():
            low, high = expression.args["low"], expression.args["high"]
            spread = exp.and_(
                exp.GTE(this=expression.this.copy(), expression=low.copy()),
                exp.LTE(this=expression.this.copy(), expression=high.copy()),
            )
            return inner(spread, denied)
        case exp.In():
            return _in(context, scope, expression, aggregated, denied)
        case exp.Exists():
            from whence.syntax.sql.queries import exists

            found = exists(context, scope, expression.this)
            return [Negation(found, span=place)] if denied else [found]
        case exp.Like() | exp.RegexpLike() | exp.ILike():
            return [_like(context, scope, expression, denied)]
        case exp.Boolean():
            return [Truth(bool(expression.this) != denied, span=place)]
        case exp.Is():
            if isinstance(expression.expression, exp.Null):
                return [Truth(denied, span=place)]  # nothing is ever NULL
            raise unsupported("IS", place)
        case exp.Column() | exp.Literal():
            hint = "compare it: `= 1`"
            raise fault("W1514", "this is a value, and a condition is wanted", place, hint=hint)
        case _:
            text = " ".join(expression.sql(dialect="postgres").split())[:60]
            raise unsupported(f"the condition `{text}`", place)


def _one(literals: list[Literal]) -> Literal:
    return literals[0] if len(literals) == 1 else Conjunction(tuple(literals))


def _comparison(
    context: Context,
    scope: Scope,
    expression: exp.Binary,
    aggregated: Aggregated | None,
    denied: bool,
) -> Literal:
    place = place_of(context.source, expression)
    left = term(context, scope, expression.left, aggregated)
    right = term(context, scope, expression.right, aggregated)
    left, right = alike(context, scope, left, right)
    kinds = {context.infer(left, scope.names), context.infer(right, scope.names)} - {None}
    if "symbol" in kinds and len(kinds) > 1:
        hint = "CAST one of them"
        raise fault("W1513", "a text is compared with a number", place, hint=hint)
    operator = _COMPARISONS[type(expression)][denied]
    return Constraint(operator, left, right, span=place)


def _in(
    context: Context,
    scope: Scope,
    expression: exp.In,
    aggregated: Aggregated | None,
    denied: bool,
) -> list[Literal]:
    place = place_of(context.source, expression)
    query = expression.args.get("query")
    if query is not None:
        from whence.syntax.sql.queries import member

        found = member(context, scope, expression.this, query)
        return [Negation(found, span=place)] if denied else [found]
    items = expression.expressions
    if not items:
        raise unsupported("IN of this", place, "write a list of values or a subquery")
    each: list[Literal] = []
    for item in items:
        equal = exp.EQ(this=expression.this.copy(), expression=item.copy())
        each.append(_comparison(context, scope, equal, aggregated, denied))
    return each if denied or len(each) == 1 else [Disjunction(tuple(each), span=place)]


def _like(context: Context, scope: Scope, expression: Expr, denied: bool) -> Literal:
    """Return a LIKE as a match of the whole text; Soufflé's patterns are regular expressions."""
    place = place_of(context.source, expression)
    pattern = expression.expression
    if isinstance(expression, exp.ILike) or not (
        isinstance(pattern, exp.Literal) and pattern.is_string
    ):
        raise unsupported("LIKE without a constant pattern", place)
    text = str(pattern.this)
    if not isinstance(expression, exp.RegexpLike):
        escaped = (f"\\{c}" if c in r"\.^$*+?()[]{}|/" else c for c in text)
        text = "".join({"%": "[^]*", "_": "[^]"}.get(c, c) for c in escaped)
    value = term(context, scope, expression.this)
    operator = "not_match" if denied else "match"
    return Constraint(operator, Constant(text, Kind.SYMBOL, span=place), value, span=place)
