"""What columns mean in one SELECT: the tables it reads, and those of the SELECT around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.diagnostics import Source, nearest
from whence.syntax.nodes import Atom, Variable
from whence.syntax.sql.catalog import Relation
from whence.syntax.sql.faults import fault
from whence.syntax.sql.places import place_of
from whence.syntax.sql.tidy import fresh_in

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Read:
    """A relation that is read, under the name it has there; a variable for each column."""

    alias: str
    relation: Relation
    variables: tuple[Variable, ...]

    @property
    def atom(self) -> Atom:
        return Atom(self.relation.name, self.variables)


@dataclass(slots=True)
class Names:
    """Variables of one rule, each with a name of its own."""

    taken: set[str] = field(default_factory=set)
    types: dict[str, str | None] = field(default_factory=dict)

    def fresh(self, like: str, kind: str | None = None) -> Variable:
        """Return a variable that the rule has not had."""
        name = fresh_in(self.taken, like or "v")
        self.types[name] = kind
        return Variable(name)


@dataclass(slots=True)
class Scope:
    """The relations that a SELECT reads; columns not found here are those of the outer one."""

    source: Source
    names: Names
    reads: list[Read] = field(default_factory=list)
    outer: Scope | None = None
    used_outer: dict[str, Variable] = field(default_factory=dict)
    """Variables of outer scopes that were used."""
    joined: dict[str, str] = field(default_factory=dict)
    """Columns of USING and NATURAL: they stand for both, so a plain name means the first."""

    def add(self, alias: str, relation: Relation, expression: exp.Expr) -> Read:
        """Read a relation under a name."""
        for read in self.reads:
            if read.alias.lower() == alias.lower():
                place = place_of(self.source, expression)
                hint = f"name one of them with `AS`, for instance `{alias} AS {alias}2`"
                raise fault("W1506", f"`{alias}` stands for two tables", place, hint=hint)
        columns = zip(relation.columns, relation.types, strict=True)
        fresh = tuple(self.names.fresh(column.lower(), kind) for column, kind in columns)
        read = Read(alias, relation, fresh)
        self.reads.append(read)
        return read

    def all(self) -> Iterator[tuple[str, str, Variable]]:
        """Yield alias, column and variable of everything that is read here."""
        for read in self.reads:
            for column, variable in zip(read.relation.columns, read.variables, strict=True):
                yield read.alias, column, variable

    @property
    def local(self) -> frozenset[str]:
        """The variables of the relations that are read here."""
        return frozenset(variable.name for read in self.reads for variable in read.variables)

    def reading(self, variable: str) -> Read | None:
        """Return what is read here or further out with this variable."""
        scope: Scope | None = self
        while scope is not None:
            for read in scope.reads:
                if any(known.name == variable for known in read.variables):
                    return read
            scope = scope.outer
        return None

    def resolve(self, column: exp.Column) -> Variable:
        """Return the variable that a column means."""
        place = place_of(self.source, column)
        table, name = column.table, column.name
        scope: Scope | None = self
        while scope is not None:
            found = [
                variable
                for alias, known, variable in scope.all()
                if known.lower() == name.lower() and (not table or alias.lower() == table.lower())
            ]
            if len(found) > 1 and not (not table and name.lower() in scope.joined):
                hint = f"say which one, for instance `{scope.reads[0].alias}.{name}`"
                raise fault("W1507", f"`{name}` could be a column of two tables", place, hint=hint)
            if found:
                if scope is not self:
                    self.used_outer[found[0].name] = found[0]
                return found[0]
            scope = scope.outer
        if table and not any(r.alias.lower() == table.lower() for r in self._everywhere()):
            like = nearest(table, [read.alias for read in self._everywhere()])
            hint = f"did you mean `{like}`?" if like else "name it in FROM"
            raise fault("W1503", f"there is no table `{table}` here", place, hint=hint)
        known = {c.lower(): c for read in self._everywhere() for c in read.relation.columns}
        like = known.get(nearest(name.lower(), known), "")
        hint = f"did you mean `{like}`?" if like else ""
        raise fault("W1508", f"there is no column `{name}` here", place, hint=hint)

    def _everywhere(self) -> Iterator[Read]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope.reads
            scope = scope.outer
