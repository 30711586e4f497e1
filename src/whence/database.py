"""`Database`: a program and its facts; relations are derived when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whence import session
from whence.answers import match_goal
from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.engine.base import Evaluation, Limits, Observer, Stats
from whence.facts.directives import concat_facts, load_inputs
from whence.facts.records import NotARecord
from whence.facts.schema import Column, arrow_schema, columns_of, truths
from whence.facts.tables import plain_strings
from whence.functor.user import UserFunctors
from whence.syntax.nodes import Kind, Program
from whence.syntax.souffle import parse_goal
from whence.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


class Database:
    """A program and facts in memory.

    >>> db = Database()
    >>> db.load('''
    ... .decl edge(x: number, y: number)
    ... .decl path(x: number, y: number)
    ... path(x, y) :- edge(x, y).
    ... path(x, z) :- path(x, y), edge(y, z).
    ... ''')
    >>> db.insert("edge", [(1, 2), (2, 3)])
    >>> sorted(db["path"])
    [(1, 2), (1, 3), (2, 3)]
    >>> db.query("path(1, x)").rows()
    [(1, 2), (1, 3)]
    """

    def __init__(
        self,
        *,
        engine: str = "local",
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._threads = threads
        self._observer = observer
        self._program = Program()
        self._facts: dict[str, list[pa.Table]] = {}
        self._functors = UserFunctors()
        self._evaluation: Evaluation | None = None

    # ── what goes in ──

    def load(self, program: Program | str | Path, *, facts: Path | str | None = None) -> None:
        """Add a program: a `Program`, its text, or the `Path` of its file.

        With `facts`, its `.input` relations are read from that folder. When the program is
        wrong, the database stays as it was.
        """
        if isinstance(program, Path):
            added = session.read_program(program)
        elif isinstance(program, str):
            added = session.parse(program)
        elif isinstance(program, Program):
            added = program
        else:
            raise UsageError(
                Diagnostic(
                    "W0808",
                    f"a program is not loaded from {type(program).__name__}",
                    hint="give its text, the `pathlib.Path` of its file, or a `Program`",
                )
            )
        whole = _joined(self._program, added)
        session.compile(whole, keep_all=True)
        stated = replace(whole, directives=added.directives)
        inputs = load_inputs(stated, Path(facts)) if facts is not None else {}
        self._program = whole
        for name, table in inputs.items():
            self._facts.setdefault(name, []).append(table)
        self._evaluation = None

    def insert(self, relation: str, rows: object) -> None:
        """Add facts: tuples, a dict of columns, a NumPy array, or any frame that Arrow can read."""
        columns = self._columns(relation)
        table = as_table(relation, columns, rows)
        self._facts.setdefault(relation, []).append(table)
        self._evaluation = None

    def functor(self, name: str, function: Callable[..., object], *, array: bool = False) -> None:
        """Register the Python function that `@name(…)` calls; `array` when it takes arrays."""
        self._functors = self._functors.add(name, function, array=array)
        self._evaluation = None

    # ── what comes out ──

    @property
    def program(self) -> Program:
        """Everything loaded so far."""
        return self._program

    def __getitem__(self, relation: str) -> Table:
        self._columns(relation)
        evaluation = self._evaluated()
        return Table(
            relation,
            evaluation.size(relation),
            lambda: evaluation.table(relation, ordered=True),
        )

    def __contains__(self, relation: object) -> bool:
        return any(decl.name == relation for decl in self._program.relations)

    def __iter__(self) -> Iterator[str]:
        return (decl.name for decl in self._program.relations)

    def query(self, goal: str) -> Table:
        """Return the tuples that match a goal such as `path(1, x)`; derives only what it needs."""
        atom = parse_goal(goal)
        self._columns(atom.relation)
        evaluation = self._evaluation
        if evaluation is None:
            compiled = session.compile(self._program, goal=atom, inputs=self._facts)
            evaluation = self._evaluate(compiled)
        answers = match_goal(self._program, evaluation, atom)
        return Table(goal, answers.num_rows, lambda: answers)

    @property
    def stats(self) -> Stats:
        """What the last evaluation cost; there is one after this."""
        return self._evaluated().stats

    def _evaluated(self) -> Evaluation:
        if self._evaluation is None:
            compiled = session.compile(self._program, keep_all=True, inputs=self._facts)
            self._evaluation = self._evaluate(compiled)
        return self._evaluation

    def _evaluate(self, compiled: session.Compiled) -> Evaluation:
        inputs = {name: concat_facts(tables) for name, tables in self._facts.items()}
        return session.evaluate(
            compiled,
            inputs,
            engine=self._engine,
            limits=self._limits,
            threads=self._threads,
            observer=self._observer,
            functors=self._functors,
        )

    def _columns(self, relation: str) -> tuple[Column, ...]:
        if relation not in self:
            like = nearest(str(relation), self)
            raise UsageError(
                Diagnostic(
                    "W0804",
                    f"the program has no relation `{relation}`",
                    hint=f"did you mean `{like}`?" if like else "declare it with `.decl`",
                )
            )
        return columns_of(self._program, relation)


def _joined(first: Program, second: Program) -> Program:
    return replace(
        first,
        types=first.types + second.types,
        functors=first.functors + second.functors,
        relations=first.relations + second.relations,
        rules=first.rules + second.rules,
        subsumptions=first.subsumptions + second.subsumptions,
        directives=first.directives + second.directives,
        pragmas=first.pragmas + second.pragmas,
    )


def as_table(relation: str, columns: tuple[Column, ...], rows: object) -> pa.Table:
    """Return the rows as an Arrow table with the relation's schema."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    try:
        table = _arrow(relation, columns, rows)
        if not columns:
            return truths(table.num_rows)
        if table.num_columns != len(columns):
            raise _wrong(relation, f"{table.num_columns} columns given, {len(columns)} declared")
        names = [c.name for c in columns]
        if set(table.column_names) == set(names):
            table = table.select(names)
        table = table.rename_columns(names)
        if any(column.null_count for column in table.columns):
            raise _wrong(relation, "a fact has no empty values")
        table = plain_strings(table).cast(schema)
        table.validate(full=True)  # other libraries let any bytes through as strings
        _check_records(relation, table, columns)
        return table
    except (pa.ArrowException, OverflowError, UnicodeError) as e:
        raise _wrong(relation, str(e).splitlines()[0].lower()) from None


def _check_records(relation: str, table: pa.Table, columns: tuple[Column, ...]) -> None:
    for index, column in enumerate(columns):
        if column.kind is Kind.RECORD:
            for text in table.column(index).unique().to_pylist():
                try:
                    column.parse(text)
                except NotARecord as fault:
                    shown = text if len(text) <= 60 else f"{text[:60]}…"
                    what = f"`{shown}` is no record of type `{column.type}`: {fault.wanted} "
                    raise _wrong(
                        relation, f"{what}expected at character {fault.offset + 1}"
                    ) from None


def _arrow(relation: str, columns: tuple[Column, ...], rows: object) -> pa.Table:
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "iloc") and hasattr(rows, "columns"):  # pandas, whose stream has the index
        if not rows.columns.is_unique:
            raise _wrong(relation, "two columns have the same name")
        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.table(rows)
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, Mapping):
        if any(not isinstance(v, Iterable) or isinstance(v, str | bytes) for v in rows.values()):
            raise _wrong(relation, "a column is a sequence of values")
        return pa.table({str(name): column for name, column in rows.items()})
    if hasattr(rows, "__array__") and not isinstance(rows, list | tuple):
        import numpy

        array = numpy.asarray(rows)
        if array.ndim != 2:
            raise _wrong(relation, f"an array of facts has 2 dimensions, not {array.ndim}")
        names = [str(i) for i in range(array.shape[1])]
        return pa.table([array[:, i] for i in range(array.shape[1])], names=names)
    return _from_tuples(relation, columns, rows)


def _from_tuples(relation: str, columns: tuple[Column, ...], rows: object) -> pa.Table:
    import pyarrow as pa

    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes):
        raise _wrong(relation, f"facts come as rows, not as {type(rows).__name__}")
    listed = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in rows]
    for row in listed:
        if len(row) != len(columns):
            raise _wrong(relation, f"{row!r} has {len(row)} values for {len(columns)} columns")
    if not columns:
        return truths(len(listed))
    values = list(zip(*listed, strict=True)) or [()] * len(columns)
    arrays = [
        [_record_text(v) for v in column] if spec.kind is Kind.RECORD else list(column)
        for column, spec in zip(values, columns, strict=True)
    ]
    for column, spec in zip(arrays, columns, strict=True):
        if spec.kind in (Kind.NUMBER, Kind.UNSIGNED):
            for v in column:
                if isinstance(v, float) and not v.is_integer():  # Arrow would cut the fraction off
                    raise _wrong(relation, f"{v!r} is no {spec.kind.value}")
    schema = arrow_schema(columns)
    return pa.table(
        [pa.array(a, type=f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema
    )


def _record_text(value: object) -> str:
    """Return a record given as a tuple, list or None in Soufflé's notation.

    >>> _record_text((1, ("a", None)))
    '[1, [a, nil]]'
    """
    parts: list[str] = []
    pending: list[object] = [value]  # a stack of our own: lists nest deeply
    while pending:
        item = pending.pop()
        if isinstance(item, _Mark):
            parts.append(item)
        elif item is None:
            parts.append("nil")
        elif isinstance(item, list | tuple):
            parts.append("[")
            pending.append(_Mark("]"))
            for place in range(len(item) - 1, -1, -1):
                pending.append(item[place])
                if place:
                    pending.append(_Mark(", "))
        else:
            parts.append(str(item))
    return "".join(parts)


class _Mark(str):
    """Punctuation, among values that may be texts themselves."""

    __slots__ = ()


def _wrong(relation: str, what: str) -> DataError:
    return DataError(Diagnostic("W0654", f"these facts for `{relation}` do not fit: {what}"))
