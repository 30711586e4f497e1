"""A script in SQL, run from a file: on the embedded engine as a live database, or on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whence import session, sql
from whence.database import Database
from whence.diagnostics import Diagnostic, UsageError
from whence.engine.base import Limits, Observer
from whence.loading import joined
from whence.syntax.nodes import Directive, Program
from whence.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

Answer = tuple[sql.Step, Table]


def as_rules(script: sql.Script) -> str:
    """Return a script as a program in rules; each SELECT is an output."""
    program = script.program
    for step in script.steps:
        made = {decl.name for decl in program.relations}
        new = tuple(decl for decl in step.program.relations if decl.name not in made)
        shows = (Directive("output", step.relation),) if step.action == "select" else ()
        part = replace(step.program, functors=(), relations=new, directives=shows)
        program = joined(program, part)
    return str(program)


def with_facts(script: sql.Script, folder: Path | None) -> Program:
    """Return the program with inputs for those tables that the folder has a file for."""
    program = script.program
    if folder is None:
        return replace(program, directives=())
    there = tuple(d for d in program.directives if (folder / f"{d.relation}.facts").is_file())
    if not there and script.tables:
        names = ", ".join(f"{table}.facts" for table in script.tables)
        message = f"`{folder}` has no facts for the tables of the script"
        raise UsageError(Diagnostic("W1520", message, hint=f"a file for each: {names}"))
    return replace(program, directives=there)


def run_script(
    script: sql.Script,
    *,
    facts: Path | None,
    engine: str = "local",
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
) -> Iterator[Answer]:
    """Run the steps in order, and yield the answer of each SELECT."""
    program = with_facts(script, facts)
    run = _run_live if engine == "local" else _run_anew
    yield from run(script, program, facts, engine, limits, threads, observer)


def _run_live(
    script: sql.Script,
    program: Program,
    facts: Path | None,
    engine: str,
    limits: Limits,
    threads: int | None,
    observer: Observer | None,
) -> Iterator[Answer]:
    """Keep the views current while steps change the tables."""
    database = Database(limits=limits, threads=threads, observer=observer)
    if program.relations:
        database.load(program, facts=facts)

    def rows(name: str) -> pa.Table:
        return database[name].to_arrow()

    for step in script.steps:
        found = sql.answer(step, rows, limits=limits, threads=threads)
        if step.action == "select":
            yield step, sql.shown(step, found)
            continue
        with database.transaction() as change:
            sql.apply(step, found, change)


def _run_anew(
    script: sql.Script,
    program: Program,
    facts: Path | None,
    engine: str,
    limits: Limits,
    threads: int | None,
    observer: Observer | None,
) -> Iterator[Answer]:
    """Evaluate the views for each step, on an engine that keeps none."""
    tables = _Tables(script, program, facts)
    for step in script.steps:
        whole = replace(program, directives=())
        made = {decl.name for decl in whole.relations}
        new = tuple(decl for decl in step.program.relations if decl.name not in made)
        whole = joined(whole, replace(step.program, functors=(), relations=new))
        whole = replace(whole, directives=(Directive("output", step.relation),))
        compiled = session.compile(whole, inputs=set(script.tables))
        evaluation = session.evaluate(
            compiled,
            tables.given(compiled.plan.program),
            engine=engine,
            limits=limits,
            threads=threads,
            observer=observer,
        )
        found = evaluation.table(step.relation, ordered=True)
        if step.action == "select":
            yield step, sql.shown(step, found)
        else:
            sql.apply(step, found, tables)


class _Tables:
    """The rows of tables, as sets that statements change."""

    def __init__(self, script: sql.Script, program: Program, facts: Path | None) -> None:
        from whence.facts.directives import load_inputs

        self._program = program
        self._rows: dict[str, pa.Table] = {}
        if facts is not None:
            self._rows.update(load_inputs(program, facts))

    def given(self, program: Program) -> dict[str, pa.Table]:
        """Return the rows of the tables that a program reads."""
        names = {decl.name for decl in program.relations}
        return {name: table for name, table in self._rows.items() if name in names}

    def insert(self, relation: str, rows: pa.Table) -> None:
        """Add rows."""
        import pyarrow as pa

        have = self._rows.get(relation)
        self._rows[relation] = rows if have is None else pa.concat_tables([have, _as(rows, have)])

    def delete(self, relation: str, rows: pa.Table) -> None:
        """Take rows out."""
        have = self._rows.get(relation)
        if have is None or not rows.num_rows:
            return
        keys = have.column_names
        self._rows[relation] = have.join(_as(rows, have), keys=keys, join_type="left anti")


def _as(rows: pa.Table, like: pa.Table) -> pa.Table:
    return rows.rename_columns(like.column_names).cast(like.schema)
