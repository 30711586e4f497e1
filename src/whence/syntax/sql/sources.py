"""What a SELECT reads: tables, views, subqueries and their joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from whence.syntax.nodes import Constraint, Literal
from whence.syntax.sql.catalog import Catalog
from whence.syntax.sql.conditions import conditions
from whence.syntax.sql.context import Context
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.places import place_of
from whence.syntax.sql.scope import Read, Scope

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


def read_from(context: Context, catalog: Catalog, scope: Scope, query: exp.Select) -> list[Literal]:
    """Return an atom for each relation that is read, and the conditions of joins."""
    clause = query.args.get("from_")
    if clause is None:
        return []
    body: list[Literal] = [_read(context, catalog, scope, clause.this).atom]
    for join in clause.this.args.get("joins") or ():
        body += _join(context, catalog, scope, join)
    for join in query.args.get("joins") or ():
        body += _join(context, catalog, scope, join)
    return body


def _read(context: Context, catalog: Catalog, scope: Scope, item: Expr) -> Read:
    from whence.syntax.sql.queries import column_names, define, plain

    place = place_of(context.source, item)
    match item:
        case exp.Table():
            if item.db:
                raise unsupported(f"the schema `{item.db}`", place, "name the table alone")
            relation = catalog.get(item.name, place)
            relation = context.relations.get(relation.name, relation)
            alias = item.args.get("alias")
            if alias is not None and alias.args.get("columns"):
                raise unsupported("names for the columns of a table here", place)
            return scope.add(item.alias or item.name, relation, item)
        case exp.Subquery() | exp.Values():
            inner = plain(item.this) if isinstance(item, exp.Subquery) else item
            alias = item.args.get("alias")
            name = context.catalog.fresh(alias.name if alias is not None else "subquery")
            given = tuple(c.name for c in (alias.args.get("columns") or ())) if alias else ()
            outer, context.catalog = context.catalog, catalog
            try:
                context.declare(name, given or column_names(context, inner), place)
                define(context, catalog, name, inner)
            finally:
                context.catalog = outer
            return scope.add(alias.name if alias else name, context.relations[name], item)
        case _:
            raise unsupported(f"`{type(item).__name__.upper()}` in FROM", place)


def _join(context: Context, catalog: Catalog, scope: Scope, join: exp.Join) -> list[Literal]:
    place = place_of(context.source, join)
    if join.side or (join.kind and join.kind not in ("INNER", "CROSS")):
        kind = " ".join(word for word in (join.side, join.kind) if word)
        hint = "there is no NULL: write two SELECTs with UNION, one with NOT EXISTS"
        raise unsupported(f"a {kind.upper()} JOIN", place, hint)
    before = list(scope.reads)
    read = _read(context, catalog, scope, join.this)
    body: list[Literal] = [read.atom]
    using = [identifier.name for identifier in join.args.get("using") or ()]
    if join.method == "NATURAL":
        earlier = {column.lower() for each in before for column in each.relation.columns}
        using = [column for column in read.relation.columns if column.lower() in earlier]
    for column in using:
        body.append(_same(scope, before, read, column, join, place=place))
        scope.joined[column.lower()] = column
    on = join.args.get("on")
    if on is not None:
        body += conditions(context, scope, on)
    return body


def _same(
    scope: Scope, before: list[Read], read: Read, column: str, join: exp.Join, *, place: object
) -> Literal:
    """Return the equality of a column on both sides."""

    def find(reads: list[Read]) -> object:
        for each in reads:
            columns = zip(each.relation.columns, each.variables, strict=True)
            for known, variable in columns:
                if known.lower() == column.lower():
                    return variable
        message = f"USING names `{column}`, which one side does not have"
        raise fault("W1508", message, place_of(scope.source, join))

    return Constraint("=", find(before), find([read]))  # type: ignore[arg-type]
