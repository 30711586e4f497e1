"""Statements that ask or change: each is a query, whose rows are shown, inserted or deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from whence.diagnostics import Source
from whence.syntax.sql.catalog import Catalog, Relation
from whence.syntax.sql.context import Context
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.places import place_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement as a query, and what becomes of its rows."""

    action: Literal["select", "insert", "delete", "update"]
    query: Expr
    columns: tuple[str, ...] = ()
    table: str = ""
    order: tuple[Expr, ...] = ()
    limit: int | None = None

    def ordered(self, source: Source, columns: tuple[str, ...]) -> tuple[tuple[int, bool], ...]:
        """Return the columns to order by, and whether downwards."""
        known = {column.lower(): i for i, column in enumerate(columns)}
        found = []
        for item in self.order:
            by, place = item.this, place_of(source, item)
            index = known.get(by.name.lower()) if isinstance(by, exp.Column) else None
            if isinstance(by, exp.Literal) and not by.is_string and by.this.isdigit():
                index = int(by.this) - 1
            if index is None or not 0 <= index < len(columns):
                hint = f"name one of {', '.join(columns)}"
                raise unsupported("ORDER BY something that is not selected", place, hint)
            found.append((index, bool(item.args.get("desc"))))
        return tuple(found)


def query_of(source: Source, whole: Context, outer: Catalog, statement: Expr) -> Asked:
    """Return a statement as a query."""
    place = place_of(source, statement)
    match statement:
        case exp.Query():
            return _select(source, statement)
        case exp.Insert():
            return _insert(source, whole, outer, statement)
        case exp.Delete():
            table = _table(source, whole, outer, statement.this)
            where = statement.args.get("where")
            query = exp.select("*").from_(statement.this.copy())
            if where is not None:
                query = query.where(where.this.copy())
            return Asked("delete", query, table.columns, table.name)
        case exp.Update():
            return _update(source, whole, outer, statement)
        case exp.Command():
            raise unsupported(f"`{statement.name.upper()}`", place)
        case _:
            raise unsupported(f"`{type(statement).__name__.upper()}`", place)


def _select(source: Source, query: Expr) -> Asked:
    query = query.copy()
    order, limit = query.args.get("order"), query.args.get("limit")
    if query.args.get("offset"):
        raise unsupported("OFFSET", place_of(source, query.args["offset"]))
    query.set("order", None)
    query.set("limit", None)
    count = None
    if limit is not None:
        value = limit.expression
        if not (isinstance(value, exp.Literal) and value.this.isdigit()):
            raise unsupported("LIMIT that is no number", place_of(source, limit))
        count = int(value.this)
    return Asked("select", query, order=tuple(order.expressions) if order else (), limit=count)


def _table(source: Source, whole: Context, outer: Catalog, table: Expr) -> Relation:
    name, place = table.name, place_of(source, table)
    for known in whole.relations.values():
        if known.name.lower() == name.lower():
            if any(rule.head.relation == known.name for rule in whole.rules):
                hint = "insert into the tables that it reads"
                raise fault("W1519", f"`{name}` is a view and holds no rows", place, hint=hint)
            return known
    return outer.get(name, place)


def _insert(source: Source, whole: Context, outer: Catalog, statement: exp.Insert) -> Asked:
    target = statement.this
    named = [c.name for c in target.expressions] if isinstance(target, exp.Schema) else []
    table = _table(source, whole, outer, target.this if named else target)
    place = place_of(source, target)
    query = statement.expression
    if query is None:
        raise unsupported("INSERT of nothing", place)
    if statement.args.get("conflict") or statement.args.get("returning"):
        raise unsupported("ON CONFLICT and RETURNING", place)
    if named and [n.lower() for n in named] != [c.lower() for c in table.columns]:
        places = {name.lower(): i for i, name in enumerate(named)}
        missing = [c for c in table.columns if c.lower() not in places]
        if missing or len(places) != len(table.columns):
            message = f"`{table.name}` has the columns {', '.join(table.columns)}"
            raise fault("W1515", message, place, hint="give all of them: there is no NULL")
        if not isinstance(query, exp.Values):
            raise unsupported("INSERT … SELECT with columns in another order", place)
        order = [places[c.lower()] for c in table.columns]
        query = query.copy()
        for row in query.expressions:
            if len(row.expressions) == len(order):
                row.set("expressions", [row.expressions[i] for i in order])
    return Asked("insert", query, table.columns, table.name)


def _update(source: Source, whole: Context, outer: Catalog, statement: exp.Update) -> Asked:
    """Return the old rows beside the new ones, in one query."""
    table = _table(source, whole, outer, statement.this)
    values: dict[str, Expr] = {}
    known = {column.lower() for column in table.columns}
    for item in statement.expressions:
        place = place_of(source, item)
        if not isinstance(item, exp.EQ) or item.this.name.lower() not in known:
            raise fault("W1508", f"`{table.name}` has no such column", place)
        values[item.this.name.lower()] = item.expression.copy()
    alias = statement.this.alias or statement.this.name
    old = [exp.column(column, table=alias) for column in table.columns]
    new = [values.get(c.lower(), exp.column(c, table=alias)) for c in table.columns]
    query = exp.select(*old, *new).from_(statement.this.copy())
    where = statement.args.get("where")
    if where is not None:
        query = query.where(where.this.copy())
    columns = (*table.columns, *(f"new_{column}" for column in table.columns))
    return Asked("update", query, columns, table.name)
