"""The relations that a script knows: tables, views and those that stand for parts of views.

Names are found whatever their case, and shown as they were first written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from whence.diagnostics import Span, nearest
from whence.syntax.sql.faults import fault, unsupported

if TYPE_CHECKING:
    from sqlglot import exp

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_TYPES: Final = {
    "number": ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "INT128", "INT256", "SERIAL"),
    "unsigned": ("UTINYINT", "USMALLINT", "UMEDIUMINT", "UINT", "UBIGINT"),
    "float": ("FLOAT", "DOUBLE", "DECIMAL", "BIGDECIMAL", "REAL", "UDECIMAL", "UDOUBLE"),
    "symbol": ("CHAR", "NCHAR", "VARCHAR", "NVARCHAR", "TEXT", "NAME", "UUID", "INET", "ENUM"),
}
TYPES: Final = {name: ours for ours, theirs in _TYPES.items() for name in theirs}


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view: its columns, and their types as far as they are known."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str | None, ...]
    place: Span = field(default=Span(), compare=False)


@dataclass(slots=True)
class Catalog:
    """Names in a scope; views of a `WITH` are in a scope of their own."""

    outer: Catalog | None = None
    known: dict[str, Relation] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    """Every name given to a relation of the program, in whatever scope."""

    def inner(self) -> Catalog:
        """Return a scope within this one."""
        return Catalog(self, {}, self.taken)

    def find(self, name: str) -> Relation | None:
        """Return what a name stands for."""
        scope: Catalog | None = self
        while scope is not None:
            if name.lower() in scope.known:
                return scope.known[name.lower()]
            scope = scope.outer
        return None

    def get(self, name: str, place: Span) -> Relation:
        """Return what a name stands for, or say what it could have been."""
        found = self.find(name)
        if found is None:
            like = nearest(name.lower(), self.names())
            hint = f"did you mean `{like}`?" if like else "create it with `CREATE TABLE`"
            raise fault("W1503", f"there is no table or view `{name}`", place, hint=hint)
        return found

    def names(self) -> list[str]:
        """Return all names that can be used here."""
        names = [relation.name for relation in self.known.values()]
        return names + (self.outer.names() if self.outer is not None else [])

    def add(self, name: str, relation: Relation) -> None:
        """Let a name stand for a relation in this scope."""
        self.known[name.lower()] = relation

    def fresh(self, like: str) -> str:
        """Return a name that no relation has yet."""
        name, number = like, 1
        while name.lower() in self.taken:
            number += 1
            name = f"{like}{number}"
        self.taken.add(name.lower())
        return name


def check_name(name: str, place: Span) -> str:
    """Return a name that rules can have too."""
    if not _NAME.match(name):
        hint = "use letters, digits and `_`, and no digit first"
        raise fault(
            "W1504", f"`{name}` cannot be the name of a relation or column", place, hint=hint
        )
    return name


def check_columns(columns: Iterable[str], place: Span) -> tuple[str, ...]:
    """Return names of columns, each once."""
    seen: dict[str, str] = {}
    for column in columns:
        check_name(column, place)
        if column.lower() in seen:
            raise fault("W1505", f"two columns are called `{column}`", place, hint="rename one")
        seen[column.lower()] = column
    return tuple(seen.values())


def type_of(kind: exp.DataType, place: Span) -> str:
    """Return our name for a type of SQL."""
    name = kind.this.name if hasattr(kind.this, "name") else str(kind.this)
    found = TYPES.get(name)
    if found is None:
        hint = "use BIGINT, DOUBLE PRECISION or TEXT"
        raise unsupported(f"the type {kind.sql().upper()}", place, hint)
    return found
