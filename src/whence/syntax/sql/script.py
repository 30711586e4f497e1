"""A script in SQL as a program and what is to be done with it, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from sqlglot import exp

from whence.diagnostics import Source, Span
from whence.syntax.nodes import (
    Atom,
    Attribute,
    Constraint,
    Directive,
    FunctorDecl,
    Program,
    RelationDecl,
    Subsumption,
    Variable,
    walk,
)
from whence.syntax.sql.catalog import Catalog, Relation, check_columns, check_name, type_of
from whence.syntax.sql.context import Context
from whence.syntax.sql.faults import fault, unsupported
from whence.syntax.sql.places import place_of
from whence.syntax.sql.queries import column_names, define
from whence.syntax.sql.recursion import recursive_with
from whence.syntax.sql.statements import statements

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_PASSES: Final = 12
"""Types go from view to view in as many passes as views read each other; then they are settled."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do with the facts of now: ask a query, then show its rows or change a table.

    `program` has the rules of the query; relations without rules are those that it reads.
    """

    action: Literal["select", "insert", "delete", "update"]
    program: Program
    relation: str
    columns: tuple[str, ...]
    table: str = ""
    order: tuple[tuple[int, bool], ...] = ()
    """Columns to order by, and whether downwards."""
    limit: int | None = None
    span: Span = field(default=Span(), compare=False)

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations whose rows the step needs."""
        made = {rule.head.relation for rule in self.program.rules}
        return tuple(d.name for d in self.program.relations if d.name not in made)


@dataclass(frozen=True, slots=True)
class Script:
    """Tables and views as a program, and the steps in order."""

    program: Program
    steps: tuple[Step, ...] = ()
    tables: tuple[str, ...] = ()
    views: tuple[str, ...] = ()


def translate(
    text: str,
    *,
    name: str = "<sql>",
    known: Iterable[RelationDecl] = (),
    functors: Iterable[FunctorDecl] = (),
) -> Script:
    """Return what a script says; `known` are relations that there are already."""
    source = Source(name, text)
    outer = Catalog()
    for decl in known:
        kinds = tuple(attribute.type for attribute in decl.attributes)
        outer.add(decl.name, Relation(decl.name, tuple(a.name for a in decl.attributes), kinds))
        outer.taken.add(decl.name.lower())
    made = _Made(source, outer, {decl.name: decl for decl in functors})
    rest: list[Expr] = []
    for statement in statements(source):
        if not made.take(statement):
            rest.append(statement)
    context = made.settled()
    tables = tuple(made.tables)
    views = tuple(name for name, _ in made.views)
    program = _program(context, context.relations.values(), made.functors.values())
    inputs = tuple(Directive("input", table) for table in tables)
    program = Program(
        functors=program.functors,
        relations=program.relations,
        rules=program.rules,
        subsumptions=program.subsumptions,
        directives=inputs,
    )
    steps = tuple(_step(made, context, statement, i) for i, statement in enumerate(rest, 1))
    return Script(program, steps, tables, views)


class _Made:
    """The tables, views and functions that a script makes."""

    def __init__(self, source: Source, outer: Catalog, functors: Mapping[str, FunctorDecl]) -> None:
        self.source, self.outer = source, outer
        self.tables: dict[str, Relation] = {}
        self.views: list[tuple[str, tuple[tuple[str, ...], Expr, Span]]] = []
        self.known_functors = dict(functors)
        self.functors: dict[str, FunctorDecl] = {}

    def take(self, statement: Expr) -> bool:
        """Take a statement that makes something; say whether it was one."""
        if statement.meta.get("views"):
            for view in statement.args["with_"].expressions:
                alias = view.args["alias"]
                columns = tuple(column.name for column in alias.args.get("columns") or ())
                self._view(alias.name, columns, view.this, alias)
            return True
        if not isinstance(statement, exp.Create):
            return False
        place = place_of(self.source, statement)
        match statement.kind:
            case "TABLE":
                self._table(statement)
            case "VIEW":
                target = statement.this
                schema = target if isinstance(target, exp.Schema) else None
                columns = tuple(c.name for c in schema.expressions) if schema else ()
                named = target.this if schema else target
                self._view(named.name, columns, statement.expression, named)
            case "FUNCTION":
                self._function(statement)
            case kind:
                raise unsupported(f"CREATE {kind}", place)
        return True

    def settled(self) -> Context:
        """Translate the views again and again until the types of all columns are known."""
        types: dict[str, tuple[str | None, ...]] = {}
        together: Mapping[str, frozenset[str]] = {}
        for _ in range(_PASSES):
            context = self._pass(types, together)
            found = {name: relation.types for name, relation in context.relations.items()}
            cycles = recursive_with(context.rules)
            if found == types and cycles == together:
                break
            types, together = found, cycles
        for relation in context.relations.values():
            for column, kind in zip(relation.columns, relation.types, strict=True):
                if kind is None:
                    message = f"nothing tells the type of column `{column}` of `{relation.name}`"
                    hint = "a recursive view needs a part that reads tables; or CAST the column"
                    raise fault("W1518", message, relation.place, hint=hint)
        return context

    def _pass(
        self, types: Mapping[str, tuple[str | None, ...]], together: Mapping[str, frozenset[str]]
    ) -> Context:
        catalog = self.outer.inner()
        catalog.taken = set(self.outer.taken)
        functors = {**self.known_functors, **self.functors}
        context = Context(self.source, catalog, types, together, functors)
        for relation in self.tables.values():
            catalog.add(relation.name, relation)
            catalog.taken.add(relation.name.lower())
            context.relations[relation.name] = relation
        for name, (columns, _query, place) in self.views:
            catalog.taken.add(name.lower())
            if columns:
                catalog.add(name, context.declare(name, columns, place))
        for name, (columns, query, place) in self.views:
            if not columns:
                found = check_columns(column_names(context, query), place)
                catalog.add(name, context.declare(name, found, place))
        for name, (_, query, _place) in self.views:
            define(context, catalog, name, query)
            catalog.add(name, context.relations[name])
        return context

    def _table(self, statement: exp.Create) -> None:
        schema, place = statement.this, place_of(self.source, statement.this)
        if statement.expression is not None or not isinstance(schema, exp.Schema):
            raise unsupported("CREATE TABLE without columns", place, "name columns and types")
        columns, kinds = [], []
        for item in schema.expressions:
            at = place_of(self.source, item)
            if isinstance(item, exp.ColumnDef):
                if item.kind is None:
                    raise fault("W1518", f"column `{item.name}` has no type", at)
                columns.append(item.name)
                kinds.append(type_of(item.kind, at))
        name = self._new(schema.this.name, schema.this)
        relation = Relation(name, check_columns(columns, place), tuple(kinds), place)
        self.tables[name] = relation

    def _view(self, name: str, columns: tuple[str, ...], query: Expr, at: Expr) -> None:
        place = place_of(self.source, at)
        check_columns(columns, place)
        self.views.append((self._new(name, at), (columns, query, place)))

    def _function(self, statement: exp.Create) -> None:
        defined, place = statement.this, place_of(self.source, statement.this)
        name = defined.this.name
        check_name(name, place)
        returns = None
        properties = statement.args.get("properties")
        for item in properties.expressions if properties is not None else ():
            if isinstance(item, exp.ReturnsProperty):
                returns = type_of(item.this, place)
        if returns is None:
            raise fault("W1518", f"`{name}` does not say what it RETURNS", place)
        parameters = tuple(
            Attribute(item.name, type_of(item.kind, place)) for item in defined.expressions
        )
        self.functors[name] = FunctorDecl(name, parameters, returns, span=place)

    def _new(self, name: str, at: Expr) -> str:
        place = place_of(self.source, at)
        check_name(name, place)
        taken = {known.lower() for known in (*self.tables, *(view for view, _ in self.views))}
        if name.lower() in taken or self.outer.find(name) is not None:
            raise fault("W1505", f"there is a `{name}` already", place)
        return name


def _program(
    context: Context, relations: Iterable[Relation], functors: Iterable[FunctorDecl]
) -> Program:
    decls = tuple(
        RelationDecl(
            relation.name,
            tuple(
                Attribute(column, kind or "symbol")
                for column, kind in zip(relation.columns, relation.types, strict=True)
            ),
            span=relation.place,
        )
        for relation in relations
    )
    best = tuple(
        _keeping(context.relations[name], *kept) for name, kept in sorted(context.best.items())
    )
    return Program(
        functors=tuple(functors), relations=decls, rules=tuple(context.rules), subsumptions=best
    )


def _keeping(relation: Relation, index: int, function: str, place: Span) -> Subsumption:
    """Return the clause by which a relation keeps the best of each group."""
    shared = [Variable(column.lower()) for column in relation.columns]
    worse, better = list(shared), list(shared)
    worse[index], better[index] = Variable("worse"), Variable("better")
    operator = "<" if function == "min" else ">"
    return Subsumption(
        Atom(relation.name, tuple(worse)),
        Atom(relation.name, tuple(better)),
        (Constraint(operator, Variable("better"), Variable("worse")),),
        span=place,
    )


def _step(made: _Made, whole: Context, statement: Expr, number: int) -> Step:
    """Return what a statement asks or changes."""
    from whence.syntax.sql.steps import query_of

    source = made.source
    place = place_of(source, statement)
    asked = query_of(source, whole, made.outer, statement)
    types: dict[str, tuple[str | None, ...]] = {}
    together: Mapping[str, frozenset[str]] = {}
    for _ in range(_PASSES):
        context = _asking(made, whole, types, together)
        name = context.catalog.fresh(f"{asked.action}{number}")
        columns = asked.columns or column_names(context, asked.query)
        context.declare(name, check_columns(columns, place), place)
        define(context, context.catalog, name, asked.query)
        found = {name: relation.types for name, relation in context.relations.items()}
        cycles = recursive_with(context.rules)
        if found == types and cycles == together:
            break
        types, together = found, cycles
    made_here = set(context.relations) - set(whole.relations)
    read = {
        node.relation
        for rule in context.rules
        for literal in rule.body
        for node in walk(literal)
        if isinstance(node, Atom)
    }
    relations = []
    for each in sorted(made_here | read, key=str):
        known = context.relations.get(each) or context.catalog.find(each)
        assert known is not None
        relations.append(known)
    program = _program(context, relations, context.functors.values())
    return Step(
        asked.action,
        program,
        name,
        columns,
        asked.table,
        asked.ordered(source, columns),
        asked.limit,
        place,
    )


def _asking(
    made: _Made,
    whole: Context,
    types: Mapping[str, tuple[str | None, ...]],
    together: Mapping[str, frozenset[str]],
) -> Context:
    """Return a pass in which tables and views are given, and only a query is translated."""
    catalog = made.outer.inner()
    catalog.taken = set(made.outer.taken) | {name.lower() for name in whole.relations}
    for name in (*made.tables, *(view for view, _ in made.views)):
        catalog.add(name, whole.relations[name])
    functors = {**made.known_functors, **made.functors}
    context = Context(made.source, catalog, types, together, functors)
    context.relations.update(whole.relations)
    return context
