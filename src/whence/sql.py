"""Scripts in SQL, step by step: a query is evaluated over the facts of now.

What a step finds is a table; `delete` and `update` find the rows that go, `update` also those that
come in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from whence import session
from whence.engine.base import Limits
from whence.syntax.nodes import FunctorDecl, Program, RelationDecl
from whence.syntax.sql.script import Script, Step, translate
from whence.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.functor.user import UserFunctors

__all__ = ["Script", "Step", "answer", "run", "script", "shown", "split"]


class Changing(Protocol):
    """A transaction, as far as statements use it."""

    def insert(self, relation: str, rows: object) -> None: ...

    def delete(self, relation: str, rows: object) -> None: ...


class Changeable(Protocol):
    """A database, as far as statements use it."""

    @property
    def program(self) -> Program: ...

    def load(self, program: Program) -> None: ...

    def transaction(self) -> AbstractContextManager[Changing]: ...

    def __getitem__(self, relation: str) -> Table: ...


def run(
    database: Changeable,
    text: str,
    *,
    functors: UserFunctors | None = None,
    limits: Limits = Limits(),
    threads: int | None = None,
) -> Table | None:
    """Run the statements of a script on a database; return the answer of the last SELECT."""
    said = script(text, program=database.program)
    if said.program.relations or said.program.functors:
        database.load(said.program)

    def found(step: Step) -> pa.Table:
        facts = _rows_of(database)
        return answer(step, facts, functors=functors, limits=limits, threads=threads)

    last = None
    for step in said.steps:
        if step.action == "select":
            last = shown(step, found(step))
            continue
        with database.transaction() as change:
            apply(step, found(step), change)
    return last


def _rows_of(database: Changeable) -> Callable[[str], pa.Table]:
    return lambda name: database[name].to_arrow()


def apply(step: Step, rows: pa.Table, change: Changing) -> None:
    """Change a table as a step says, given the rows that its query found."""
    if step.action == "insert":
        change.insert(step.table, rows)
    elif step.action == "delete":
        change.delete(step.table, rows)
    else:
        old, new = split(rows)
        change.delete(step.table, old)
        change.insert(step.table, new)


def script(text: str, *, name: str = "<sql>", program: Program | None = None) -> Script:
    """Return what a script says, over the relations of a program that there is already."""
    known: Iterable[RelationDecl] = program.relations if program is not None else ()
    functors: Iterable[FunctorDecl] = program.functors if program is not None else ()
    return translate(text, name=name, known=known, functors=functors)


def answer(
    step: Step,
    facts: Callable[[str], pa.Table],
    *,
    functors: UserFunctors | None = None,
    limits: Limits = Limits(),
    threads: int | None = None,
) -> pa.Table:
    """Return what the query of a step finds; `facts` gives the rows of a relation."""
    compiled = session.compile(step.program, keep_all=True, inputs=set(step.reads))
    inputs = {name: facts(name) for name in step.reads}
    evaluation = session.evaluate(
        compiled, inputs, functors=functors, limits=limits, threads=threads
    )
    return evaluation.table(step.relation, ordered=True)


def shown(step: Step, table: pa.Table) -> Table:
    """Return the answer of a SELECT, in the order and as many rows as it asks for."""
    if step.order:
        names = table.column_names
        keys = [(names[i], "descending" if down else "ascending") for i, down in step.order]
        table = table.sort_by(keys)
    if step.limit is not None:
        table = table.slice(0, step.limit)
    table = table.rename_columns(list(step.columns))
    return Table(step.relation, table.num_rows, lambda: table)


def split(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the old rows and the new ones that an UPDATE found."""
    half = table.num_columns // 2
    names = table.column_names
    return table.select(names[:half]), table.select(names[half:]).rename_columns(names[:half])
