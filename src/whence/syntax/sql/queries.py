"""Queries as rules: SELECT, UNION, EXCEPT and INTERSECT, and subqueries inside conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from whence.diagnostics import Span
from whence.syntax.nodes import Atom, Constraint, Literal, Negation, Term, variables
from whence.syntax.sql.catalog import Catalog, check_columns
from whence.syntax.sql.conditions import conditions
from whence.syntax.sql.context import Context
from whence.syntax.sql.expressions import alike, as_type, term
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.grouping import Grouping, has_aggregates
from whence.syntax.sql.places import place_of
from whence.syntax.sql.scope import Names, Scope
from whence.syntax.sql.sources import read_from
from whence.syntax.sql.tidy import equated, substituted

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


@dataclass(frozen=True, slots=True)
class Selected:
    """A SELECT: what its body says, and what it gives."""

    body: list[Literal]
    terms: list[Term]
    names: Names


def plain(query: Expr) -> Expr:
    """Return a query without the parentheses around it."""
    while isinstance(query, exp.Subquery | exp.Paren) and not query.args.get("alias"):
        query = query.this
    return query


def column_names(context: Context, query: Expr) -> tuple[str, ...]:
    """Return the names that a query gives its columns."""
    query = plain(query)
    if isinstance(query, exp.SetOperation):
        return column_names(context, query.left)
    if isinstance(query, exp.Values):
        width = len(query.expressions[0].expressions)
        return tuple(f"column{i + 1}" for i in range(width))
    if not isinstance(query, exp.Select):
        raise unsupported("this query", place_of(context.source, query))
    catalog = with_views(context, context.catalog, query)
    scope = Scope(context.source, Names())
    read_from(context, catalog, scope, query)
    names = [name for name, _ in _outputs(context, scope, query)]
    return check_columns(names, place_of(context.source, query))


def define(context: Context, catalog: Catalog, name: str, query: Expr) -> None:
    """Add the rules that make a query the contents of a relation."""
    query = plain(query)
    place = place_of(context.source, query)
    if query.args.get("order") or query.args.get("limit") or query.args.get("offset"):
        hint = "order and cut the SELECT that reads the view"
        raise unsupported("ORDER BY or LIMIT inside a view", place, hint)
    match query:
        case exp.Union():
            if query.args.get("distinct") is False:
                hint = "relations are sets: write UNION"
                raise unsupported("UNION ALL", place, hint)
            catalog = with_views(context, catalog, query)
            define(context, catalog, name, query.left)
            define(context, catalog, name, query.right)
        case exp.Except() | exp.Intersect():
            if query.args.get("distinct") is False:
                raise unsupported("ALL here", place, "relations are sets: leave it out")
            catalog = with_views(context, catalog, query)
            _combine(context, catalog, name, query)
        case exp.Values():
            _values(context, name, query)
        case exp.Select():
            catalog = with_views(context, catalog, query)
            names = Names()
            scope = Scope(context.source, names)
            selected = _select(context, catalog, scope, query, name)
            _conclude(context, name, selected, place)
        case _:
            raise unsupported(f"`{type(query).__name__.upper()}` here", place)


def with_views(context: Context, catalog: Catalog, query: Expr) -> Catalog:
    """Return the names that a query knows, after the views of its WITH."""
    clause = query.args.get("with_")
    if clause is None:
        return catalog
    catalog = catalog.inner()
    for view in clause.expressions:
        alias, place = view.args["alias"], place_of(context.source, view.args["alias"])
        known = context.catalog.find(f"{alias.name} of {id(view)}")
        if known is None:
            name = context.catalog.fresh(alias.name)
            columns = tuple(column.name for column in alias.args.get("columns") or ())
            columns = columns or _columns_within(context, catalog, view.this)
            known = context.declare(name, check_columns(columns, place), place)
            context.catalog.add(f"{alias.name} of {id(view)}", known)
            catalog.add(alias.name, known)
            if not clause.recursive:
                define(context, catalog, known.name, view.this)
                catalog.add(alias.name, context.relations[known.name])
            else:
                view.meta["pending"] = known.name
        else:
            catalog.add(alias.name, context.relations[known.name])
    if clause.recursive:  # all of them may read each other
        for view in clause.expressions:
            pending = view.meta.pop("pending", None)
            if pending is not None:
                define(context, catalog, pending, view.this)
    return catalog


def _columns_within(context: Context, catalog: Catalog, query: Expr) -> tuple[str, ...]:
    outer, context.catalog = context.catalog, catalog
    try:
        return column_names(context, query)
    finally:
        context.catalog = outer


# ── SELECT ──


def _select(
    context: Context, catalog: Catalog, scope: Scope, query: exp.Select, name: str
) -> Selected:
    """Return the body and the columns of a SELECT; `name` is the relation that it is for."""
    for clause in ("windows", "qualify", "connect", "sample", "pivots", "laterals"):
        if query.args.get(clause):
            place = place_of(context.source, query.args[clause][0])
            raise unsupported(f"the clause {clause.upper().rstrip('S')}", place)
    body = read_from(context, catalog, scope, query)
    where = query.args.get("where")
    if where is not None:
        body += conditions(context, scope, where.this)
    body, into = equated(body, scope.local)
    outputs = _outputs(context, scope, query)
    group, having = query.args.get("group"), query.args.get("having")
    if not (group or having or any(has_aggregates(e) for _, e in outputs)):
        terms = [substituted(term(context, scope, e), into) for _, e in outputs]
        return Selected(body, terms, scope.names)
    grouping = Grouping(context, scope, body, into, group, name, query)
    if grouping.recursive:
        _keep_best(context, name, [e for _, e in outputs])
    terms = [grouping.term(e) for _, e in outputs]
    if having is not None:
        grouping.having(having.this)
    return Selected(grouping.body(), terms, scope.names)


def _keep_best(context: Context, name: str, outputs: list[Expr]) -> None:
    """Note which column of a recursive relation is the least or greatest of its group."""
    found = [(i, e) for i, e in enumerate(outputs) if has_aggregates(e)]
    index, expression = found[0]
    place = place_of(context.source, expression)
    if len(found) > 1 or not isinstance(expression, exp.Min | exp.Max):
        hint = "a recursion may take one MIN or MAX as a column"
        raise fault("W1516", "this aggregate cannot be part of a recursion", place, hint=hint)
    function = "min" if isinstance(expression, exp.Min) else "max"
    if context.best.setdefault(name, (index, function, place))[:2] != (index, function):
        raise fault("W1516", f"`{name}` takes two different aggregates", place)


def _outputs(context: Context, scope: Scope, query: exp.Select) -> list[tuple[str, Expr]]:
    """Return the columns of a SELECT with their names; `*` is all that is read."""
    out: list[tuple[str, Expr]] = []
    for item in query.expressions:
        place = place_of(context.source, item)
        match item:
            case exp.Star():
                out.extend(_all(scope, ""))
            case exp.Column(this=exp.Star()):
                found = _all(scope, item.table)
                if not found:
                    raise fault("W1503", f"there is no table `{item.table}` here", place)
                out.extend(found)
            case exp.Alias():
                out.append((item.alias, item.this))
            case exp.Column():
                out.append((item.name, item))
            case exp.AggFunc() | exp.Anonymous():
                name = item.name if isinstance(item, exp.Anonymous) else item.sql_name()
                out.append((name.lower(), item))
            case _:
                out.append((f"column{len(out) + 1}", item))
    return out


def _all(scope: Scope, table: str) -> list[tuple[str, Expr]]:
    out: list[tuple[str, Expr]] = []
    seen: set[str] = set()
    for alias, column, _ in scope.all():
        if table and alias.lower() != table.lower():
            continue
        if not table and column.lower() in scope.joined and column.lower() in seen:
            continue  # one column of USING
        seen.add(column.lower())
        out.append((column, exp.column(column, table=alias)))
    return out


def _conclude(context: Context, name: str, selected: Selected, place: Span) -> None:
    """Add the rule of a SELECT."""
    relation = context.relations[name]
    if len(selected.terms) != len(relation.columns):
        message = f"`{name}` has {len(relation.columns)} columns, this gives {len(selected.terms)}"
        raise fault("W1515", message, place)
    kinds = [context.infer(each, selected.names) for each in selected.terms]
    for column, known, kind in zip(relation.columns, relation.types, kinds, strict=True):
        if known is not None and kind is not None and "symbol" in (known, kind) and known != kind:
            message = f"column `{column}` of `{name}` is {_word(known)}, and {_word(kind)} here"
            raise fault("W1513", message, place, hint="CAST one of them")
    context.settle(name, kinds)
    settled = context.relations[name].types
    terms = [
        as_type(each, kind, wanted)
        for each, kind, wanted in zip(selected.terms, kinds, settled, strict=True)
    ]
    context.rule(name, terms, selected.body, place)


def _word(kind: str) -> str:
    return {"symbol": "a text", "float": "a float"}.get(kind, "a whole number")


def _combine(context: Context, catalog: Catalog, name: str, query: exp.SetOperation) -> None:
    """Add the rules of EXCEPT and INTERSECT."""
    width = len(context.relations[name].columns)
    sides = []
    for side, which in ((query.left, "left"), (query.right, "right")):
        part = context.catalog.fresh(f"{name}_{which}")
        context.declare(part, tuple(f"c{i + 1}" for i in range(width)))
        define(context, catalog, part, side)
        sides.append(context.relations[part])
    names = Names()
    kinds = sides[0].types
    row = tuple(names.fresh(f"c{i + 1}", kind) for i, kind in enumerate(kinds))
    other: Literal = Atom(sides[1].name, row)
    if isinstance(query, exp.Except):
        other = Negation(other)
    selected = Selected([Atom(sides[0].name, row), other], list(row), names)
    _conclude(context, name, selected, place_of(context.source, query))


def _values(context: Context, name: str, query: exp.Values) -> None:
    """Add facts."""
    for row in query.expressions:
        names = Names()
        scope = Scope(context.source, names)
        items = row.expressions if isinstance(row, exp.Tuple) else [row]
        terms = [term(context, scope, item) for item in items]
        _conclude(context, name, Selected([], terms, names), place_of(context.source, row))


# ── subqueries ──


def exists(context: Context, scope: Scope, query: Expr) -> Literal:
    """Return the literal that says whether a subquery has a row."""
    return _correlated(context, scope, plain(query), None)


def member(context: Context, scope: Scope, value: Expr, query: Expr) -> Literal:
    """Return the literal that says whether a value is in the one column of a subquery."""
    return _correlated(context, scope, plain(query), value)


def _correlated(context: Context, scope: Scope, query: Expr, value: Expr | None) -> Literal:
    """Return an atom over a relation for a subquery; its columns are what ties it to the outside.

    Where equalities tie it, the relation is made by the subquery alone; else the rows of the
    outside that it is asked for are part of its rule.
    """
    place = place_of(context.source, query)
    if not isinstance(query, exp.Select):
        name = context.catalog.fresh("subquery")
        columns = column_names(context, query)
        context.declare(name, columns)
        define(context, context.catalog, name, query)
        relation = context.relations[name]
        query = exp.select("*").from_(relation.name)
        context.catalog.add(relation.name, relation)
    inner = Scope(context.source, scope.names, outer=scope)
    catalog = with_views(context, context.catalog, query)
    selected = _select(context, catalog, inner, query, "")
    body = list(selected.body)
    if value is not None:
        if len(selected.terms) != 1:
            raise fault("W1515", "the subquery of IN must give one column", place)
        left = term(context, scope, value)
        left, right = alike(context, scope, left, selected.terms[0])
        body.append(Constraint("=", left, right))
        for each in variables(left).values():
            inner.used_outer[each.name] = each
    outside = set(inner.used_outer)
    for each in inner.used_outer.values():  # known further out only: so it is for the outer one
        if each.name not in scope.local:
            scope.used_outer[each.name] = each
    keys: list[tuple[Term, Term]] = []
    rest: list[Literal] = []
    for literal in body:
        key = _key(literal, outside)
        if key is not None:
            keys.append(key)
        else:
            rest.append(literal)
    if any(outside & variables(literal).keys() for literal in rest):
        return _tied(context, scope, inner, body)
    part = context.part("subquery", [inner for _, inner in keys], rest, scope.names)
    return Atom(part.name, tuple(outer for outer, _ in keys))


def _key(literal: Literal, outside: set[str]) -> tuple[Term, Term] | None:
    """Return the two sides of an equality between the outside and the inside."""
    if not (isinstance(literal, Constraint) and literal.op == "="):
        return None
    left, right = variables(literal.left).keys(), variables(literal.right).keys()
    if left and left <= outside and not right & outside and right:
        return literal.left, literal.right
    if right and right <= outside and not left & outside and left:
        return literal.right, literal.left
    return None


def _tied(context: Context, scope: Scope, inner: Scope, body: Sequence[Literal]) -> Literal:
    used = list(inner.used_outer.values())
    asked: dict[str, Atom] = {}
    for variable in used:
        read = scope.reading(variable.name)
        if read is not None:
            asked[read.alias] = read.atom
    part = context.part("subquery", used, [*asked.values(), *body], scope.names)
    return Atom(part.name, tuple(used))


def single_value(context: Context, scope: Scope, subquery: exp.Subquery) -> Term:
    """Return the term of a subquery that gives one value: an aggregate over all its rows."""
    query = plain(subquery)
    place = place_of(context.source, subquery)
    if (
        not isinstance(query, exp.Select)
        or len(query.expressions) != 1
        or query.args.get("group")
        or not has_aggregates(query.expressions[0])
    ):
        hint = "a subquery as a value gives one aggregate, such as `(SELECT MAX(x) FROM t)`"
        raise unsupported("a subquery that may give many values", place, hint)
    inner = Scope(context.source, scope.names, outer=scope)
    selected = _select(context, context.catalog, inner, query, "")
    for each in inner.used_outer.values():
        if each.name not in scope.local:
            scope.used_outer[each.name] = each
    if selected.body:
        raise unsupported("HAVING in a subquery that is a value", place)
    return selected.terms[0]
