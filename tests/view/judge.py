"""The judge of views: every strategy beside the definition, after every batch.

A failure says in which relation, and how to see it again: a script that replays the program and
its batches (run it with `PYTHONPATH=tests`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pprint import pformat

import pyarrow as pa

from property.agreement import resolved
from view.knobs import Settings, turned
from view.reduce import Facts, Failure, Row, Step, reduce
from whence.engine import naive
from whence.engine.local.engine import LocalEngine
from whence.facts.schema import arrow_schema, columns_of, truths
from whence.session import compile, maintain, parse
from whence.syntax.nodes import Kind, Program
from whence.view.base import STRATEGIES, Batch, Changes, Update, View
from whence.view.definition import define

Rows = set[Row]
FEW = 120
"""Tuples up to which the definition is itself compared with the naive evaluator."""


def text(value: object) -> object:
    """Return a value as tables show it: records are written out."""
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{', '.join(str(text(item)) for item in value)}]"
        case _:
            return value


def shown(rows: Iterable[Row]) -> Rows:
    """Return rows as tables show them."""
    return {tuple(map(text, row)) for row in rows}


def table_of(program: Program, relation: str, rows: Iterable[Row]) -> pa.Table:
    """Return rows as a table, duplicates and all."""
    given = list(rows)
    columns = columns_of(program, relation)
    if not columns:
        return truths(len(given))
    schema = arrow_schema(columns)
    values: list[Sequence[object]] = list(zip(*given, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array([text(v) for v in items] if column.kind is Kind.RECORD else items, field.type)
        for items, column, field in zip(values, columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def rows_of(table: pa.Table) -> list[Row]:
    """Return the rows of a table."""
    if table.num_columns == 0:
        return [()] * table.num_rows
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def batch_of(program: Program, step: Step) -> Batch:
    """Return a batch of tables."""

    def table(relation: str, rows: Sequence[Row] | None) -> pa.Table | None:
        return None if rows is None else table_of(program, relation, rows)

    return {
        name: Update(inserted=table(name, comes), deleted=table(name, goes))
        for name, (comes, goes) in step.items()
    }


class Judge:
    """Views of one program under the same batches, one by each strategy, and what they must be."""

    def __init__(
        self,
        program: Program,
        facts: Facts,
        strategies: Sequence[str] = STRATEGIES,
        knobs: Settings | None = None,
    ) -> None:
        """`knobs` are those that the caller has turned."""
        self.program = program
        self.knobs = knobs or {}
        self.names = [decl.name for decl in program.relations]
        self.facts = {name: sorted(set(rows), key=repr) for name, rows in facts.items()}
        self.steps: list[Step] = []
        stated = replace(program, rules=tuple(r for r in program.rules if not r.body))
        self._rules = resolved(replace(program, rules=tuple(r for r in program.rules if r.body)))
        said = naive.evaluate(resolved(replace(stated, subsumptions=())), {})
        self.base = {name: said[name] | set(self.facts.get(name, ())) for name in self.names}
        """The base facts, as Python values."""
        compiled = compile(program, keep_all=True)
        inputs = {name: table_of(program, name, rows) for name, rows in self.facts.items()}
        self._definition = define(compiled.plan, inputs, LocalEngine())
        self._check_definition()
        self._told: list[tuple[str, Changes, dict[str, tuple[Rows, Rows]]]] = []
        self.views: dict[str, View] = {}
        for strategy in strategies:
            with Reproducible(self, strategy):
                self.views[strategy] = maintain(compiled, inputs, strategy=strategy)
                self._check_state(strategy)

    def apply(self, step: Step) -> dict[str, tuple[Rows, Rows]]:
        """Apply a batch to all views, judge each, and return what it changed."""
        self.steps.append(step)
        for name, (comes, goes) in step.items():
            self.base[name] = (self.base[name] - set(goes or ())) | set(comes or ())
        batch = batch_of(self.program, step)
        old = {name: set(rows_of(self._definition.table(name))) for name in self.names}
        self._definition.apply(batch)
        self._check_definition()
        new = {name: self.rows(name) for name in self.names}
        net = {n: (new[n] - old[n], old[n] - new[n]) for n in self.names if new[n] != old[n]}
        for strategy, view in self.views.items():
            with Reproducible(self, strategy):
                changes = view.apply(batch)
                self._check_state(strategy)
                self._check_changes(changes, net)
                self._told.append((strategy, changes, net))
        return net

    def check_again(self) -> None:
        """Read every change once more: what a batch did is not undone by those after it."""
        for strategy, changes, net in self._told:
            with Reproducible(self, strategy):
                self._check_changes(changes, net)

    def rows(self, relation: str) -> Rows:
        """Return what a relation must hold."""
        return set(rows_of(self._definition.table(relation)))

    def _check_definition(self) -> None:
        """The definition evaluates with the engine; the naive evaluator has no part in that."""
        if sum(self._definition.size(name) for name in self.names) > FEW:
            return
        with Reproducible(self, None):
            for name, rows in naive.evaluate(self._rules, self.base).items():
                assert self.rows(name) == shown(rows), f"the definition is wrong on `{name}`"

    def _check_state(self, strategy: str) -> None:
        view = self.views[strategy]
        for name in self.names:
            found, needed = rows_of(view.table(name)), self.rows(name)
            what = f"{strategy}: `{name}`"
            wrong = f"{what} has too many {set(found) - needed}, too few {needed - set(found)}"
            assert set(found) == needed, wrong
            assert len(found) == len(needed), f"{what} has a tuple twice: {sorted(found)}"
            assert view.size(name) == len(needed), f"{what} has the wrong size"
            if all(c.kind is not Kind.RECORD for c in columns_of(self.program, name)):
                # Records are in the order in which they were first seen.
                ordered = self._definition.table(name, ordered=True)
                assert view.table(name, ordered=True).equals(ordered), f"{what} is not in order"
            base = rows_of(view.base(name))
            assert len(base) == len(set(base)), f"{what} has a base fact twice"
            assert set(base) == shown(self.base[name]), f"{what} has other base facts: {base}"
            self._check_matching(view, name, base)

    def _check_matching(self, view: View, name: str, base: Sequence[Row]) -> None:
        """Ask for the base facts that agree in the last column with the first few, and one more."""
        if base and base[0]:
            last = len(base[0]) - 1
            table = view.base(name)
            keys = table.select([last]).slice(0, 2)
            wanted = {row[last] for row in rows_of(table)[:2]}
            found = rows_of(view.matching(name, (last,), keys))
            assert sorted(found, key=repr) == sorted(
                (row for row in base if row[last] in wanted), key=repr
            ), f"`{name}`: these base facts match {wanted}: {found}"

    def _check_changes(self, changes: Changes, net: Mapping[str, tuple[Rows, Rows]]) -> None:
        """What is said to come was not there and is now; what is said to go was, and is not."""
        assert set(changes) & set(self.names) == set(net), f"{changes} for {net}"
        for name, (comes, goes) in net.items():
            change = changes[name]
            for kind, table, count, needed in (
                ("gained", change.inserted, change.insertions, comes),
                ("lost", change.deleted, change.deletions, goes),
            ):
                rows = rows_of(table)
                assert set(rows) == needed, f"`{name}` {kind} {needed}, and {set(rows)} is told"
                assert len(rows) == len(needed) == count, f"`{name}` {kind} a tuple twice"


class Reproducible:
    """Adds to any error the script that shows it, as short as it can be made in a few seconds."""

    explaining = True

    def __init__(self, judge: Judge, strategy: str | None) -> None:
        self.judge = judge
        self.strategies = () if strategy is None else (strategy,)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and Reproducible.explaining:
            judge = self.judge
            Reproducible.explaining = False
            try:
                reduced = reduce(
                    Failure(judge.program, judge.facts, judge.steps), self._fails(error)
                )
            finally:
                Reproducible.explaining = True
            error.add_note(script(reduced, self.strategies, judge.knobs))

    def _fails(self, error: Exception) -> Callable[[Failure], bool]:
        """Whether a smaller failure is of the same sort."""

        def fails(smaller: Failure) -> bool:
            try:
                play(smaller, self.strategies, self.judge.knobs)
            except Exception as found:
                of_definition = [str(e).startswith("the definition") for e in (found, error)]
                return type(found) is type(error) and len(set(of_definition)) == 1
            return False

        return fails


def script(failure: Failure, strategies: Sequence[str], knobs: Settings) -> str:
    """Return a script that plays the batches again; the last one fails."""
    steps = [dict(step) for step in failure.steps]
    return "\n".join(
        [
            "from view.judge import replay",
            "",
            f'PROGRAM = r"""\n{str(failure.program).strip()}\n"""',
            f"FACTS = {pformat({n: rows for n, rows in failure.facts.items() if rows})}",
            f"BATCHES = {pformat(steps)}",
            f"replay(PROGRAM, FACTS, BATCHES, {tuple(strategies)!r}, {dict(knobs)!r})",
        ]
    )


def replay(
    program: str,
    facts: Facts,
    steps: Sequence[Step],
    strategies: Sequence[str] = STRATEGIES,
    knobs: Settings | None = None,
) -> Judge:
    """Play batches through the judge."""
    return play(Failure(parse(program), facts, steps), strategies, knobs or {})


def play(failure: Failure, strategies: Sequence[str], knobs: Settings) -> Judge:
    """Play a failure again."""
    with turned(knobs):
        judge = Judge(failure.program, failure.facts, strategies, knobs)
        for step in failure.steps:
            judge.apply(step)
        judge.check_again()
        return judge
