"""GROUP BY, aggregates and HAVING: what is aggregated is the body once more, for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Disjunction,
    Literal,
    Term,
    Variable,
    variables,
    walk,
)
from whence.syntax.sql.conditions import conditions
from whence.syntax.sql.context import Context
from whence.syntax.sql.expressions import as_type, term
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.places import place_of
from whence.syntax.sql.scope import Scope
from whence.syntax.sql.tidy import substituted, substituted_in

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_FUNCTIONS: Final = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Min: "min",
    exp.Max: "max",
}


def has_aggregates(expression: Expr) -> bool:
    """Say whether an expression aggregates, outside of its subqueries."""
    for node in expression.walk(prune=lambda n: isinstance(n, exp.Subquery | exp.Select)):
        if isinstance(node, exp.AggFunc):
            return True
    return False


class Grouping:
    """One SELECT with aggregates.

    Within a recursion there is no aggregate: its rows are those of the body, and the relation
    keeps only the best of each group.
    """

    def __init__(
        self,
        context: Context,
        scope: Scope,
        body: Sequence[Literal],
        into: Mapping[str, Term],
        group: exp.Group | None,
        name: str,
        asked: Expr,
    ) -> None:
        self._context, self._scope, self._into, self._asked = context, scope, into, asked
        self._body = self._without_alternatives(list(body))
        self._more: list[Literal] = []
        self._groups: dict[str, Term] = {}
        """For each grouping expression, as text, the variable that holds its value."""
        self._shared: dict[str, Term] = {}
        """Variables that are the same within an aggregate as outside of it."""
        self._equal: list[tuple[Variable, Term]] = []
        self._grouped = group is not None
        read = {n.relation for part in body for n in walk(part) if isinstance(n, Atom)}
        self.recursive = bool(read & set(context.together.get(name, frozenset())))
        for number, expression in enumerate(group.expressions if group else (), 1):
            self._group(expression, number)

    def term(self, expression: Expr) -> Term:
        """Return the term of an output column."""
        return self._convert(expression)

    def having(self, expression: Expr) -> None:
        """Keep only the groups for which a condition holds."""
        if self.recursive:
            place = place_of(self._context.source, expression)
            raise fault("W1516", "HAVING cannot be part of a recursion", place)
        found = conditions(self._context, self._scope, expression, self._aggregate)
        self._more += substituted_in(found, self._into)

    def body(self) -> list[Literal]:
        """Return the body of the rule."""
        if self.recursive:
            return [*self._body, *self._equalities()]
        if not self._grouped:
            return self._more
        return [*self._body, *self._equalities(), *self._more]

    # ── how ──

    def _without_alternatives(self, body: list[Literal]) -> list[Literal]:
        """Return the body; if it has alternatives, which aggregates cannot, as a relation."""
        if not any(isinstance(n, Disjunction) for part in body for n in walk(part)):
            return body
        columns = list(variables(*body).values())
        if any(column.name in self._scope.used_outer for column in columns):
            place = place_of(self._context.source, self._asked)
            raise unsupported("an aggregate over alternatives of the outer query", place)
        part = self._context.part("rows", columns, body, self._scope.names)
        return [Atom(part.name, tuple(columns))]

    def _group(self, expression: Expr, number: int) -> None:
        if isinstance(expression, exp.Literal):
            place = place_of(self._context.source, expression)
            raise unsupported("GROUP BY a position", place, "name the column")
        value = substituted(term(self._context, self._scope, expression), self._into)
        if isinstance(value, Variable):
            self._shared[value.name] = value
            self._groups[_key(expression)] = value
            return
        kind = self._context.infer(value, self._scope.names)
        variable = self._scope.names.fresh(f"group{number}", kind)
        self._equal.append((variable, value))
        self._groups[_key(expression)] = variable

    def _equalities(self) -> list[Literal]:
        return [Constraint("=", variable, value) for variable, value in self._equal]

    def _convert(self, expression: Expr) -> Term:
        """Return a term over groups and aggregates."""
        known = self._groups.get(_key(expression))
        if known is not None:
            return known
        if isinstance(expression, exp.Column):
            value = substituted(self._scope.resolve(expression), self._into)
            if not isinstance(value, Variable) or value.name not in self._shared:
                place = place_of(self._context.source, expression)
                hint = "put it into GROUP BY, or into an aggregate"
                message = f"`{expression.name}` has no single value in a group"
                raise fault("W1517", message, place, hint=hint)
            return value
        if isinstance(expression, exp.AggFunc):
            return term(self._context, self._scope, expression, self._aggregate)
        if not any(isinstance(n, exp.AggFunc | exp.Column) for n in expression.walk()):
            return term(self._context, self._scope, expression)
        found = term(self._context, self._scope, expression, self._aggregate)
        found = substituted(found, self._into)
        self._check_grouped(expression)
        return found

    def _check_grouped(self, expression: Expr) -> None:
        """Check that columns outside of aggregates are grouped."""
        outside = expression.walk(prune=lambda n: isinstance(n, exp.AggFunc | exp.Subquery))
        for node in outside:
            if isinstance(node, exp.Column):
                self._convert(node)

    def _aggregate(self, expression: exp.AggFunc) -> Term:
        function = _FUNCTIONS[type(expression)]
        place = place_of(self._context.source, expression)
        inside = expression.this
        distinct = isinstance(inside, exp.Distinct)
        if distinct:
            if len(inside.expressions) != 1:
                raise unsupported("DISTINCT of several columns", place)
            inside = inside.expressions[0]
        value = None
        if not (function == "count" and isinstance(inside, exp.Star)):
            value = substituted(term(self._context, self._scope, inside), self._into)
        if self.recursive:
            return self._best(function, value, expression)
        if value is not None and function in ("min", "max", "sum", "mean"):
            self._check_number(value, expression)
        if distinct and value is not None and function in ("count", "sum", "mean"):
            return self._over_distinct(function, value)
        if function == "count":
            value = None  # nothing is NULL, so every row counts
        if function == "sum" and not self._grouped:
            some = self._fresh(Aggregate("count", None, tuple(self._body)))
            self._more.append(Constraint("<", Constant(0, None), some))
        if function == "mean" and value is not None:
            kind = self._context.infer(value, self._scope.names)
            value = as_type(value, kind, "float")
        return self._fresh(Aggregate(function, value, tuple(self._body), span=place))

    def _check_number(self, value: Term, expression: exp.AggFunc) -> None:
        if self._context.infer(value, self._scope.names) == "symbol":
            place = place_of(self._context.source, expression)
            hint = "texts can be counted"
            raise unsupported(f"{expression.sql_name()} of texts", place, hint)

    def _over_distinct(self, function: str, value: Term) -> Term:
        """Return an aggregate over different values only: a relation of groups and values."""
        groups = list(self._groups.values())
        body = [*self._body, *self._equalities()]
        names = self._scope.names
        part = self._context.part("different", [*groups, value], body, names)
        item = names.fresh("item", self._context.infer(value, names))
        target: Term | None = None if function == "count" else item
        if function == "mean":
            target = as_type(item, self._context.infer(item, names), "float")
        return Aggregate(function, target, (Atom(part.name, (*groups, item)),))

    def _fresh(self, aggregate: Aggregate) -> Aggregate:
        """Return an aggregate with variables of its own, but for those of the groups."""
        own = {
            name: self._scope.names.fresh(name, self._scope.names.types.get(name))
            for name in variables(*aggregate.body)
            if name not in self._shared and name not in self._scope.used_outer
        }
        into: dict[str, Term] = dict(own)
        body = substituted_in(aggregate.body, into)
        for variable, value in self._equal:
            body.append(Constraint("=", substituted(value, into), variable))
        target = None if aggregate.target is None else substituted(aggregate.target, into)
        if target is not None and variables(target).keys() - {v.name for v in own.values()}:
            # A variable of the outside as what is aggregated would be another one inside.
            item = self._scope.names.fresh("item", self._context.infer(target, self._scope.names))
            body.append(Constraint("=", item, target))
            target = item
        return Aggregate(aggregate.function, target, tuple(body), span=aggregate.span)

    def _best(self, function: str, value: Term | None, expression: exp.AggFunc) -> Term:
        """Return the value itself: the relation keeps the least or greatest of each group."""
        place = place_of(self._context.source, expression)
        if function not in ("min", "max") or value is None:
            hint = "a recursion may take MIN or MAX; aggregate others in a view on top of it"
            message = f"{expression.sql_name()} cannot be part of a recursion"
            raise fault("W1516", message, place, hint=hint)
        return value


def _key(expression: Expr) -> str:
    return str(expression.sql(dialect="postgres")).lower()
