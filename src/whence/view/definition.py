"""What a view means: evaluate from nothing after each batch, and compare. Slow, and the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from whence.engine.base import Engine, Evaluation, Limits
from whence.plan.nodes import Plan
from whence.syntax.nodes import Aggregate, Constraint, Counter, Rule, UserCall, walk
from whence.view.base import Batch, Change, Changes, Work

Row = tuple[object, ...]
Evaluate = Callable[[Mapping[str, pa.Table]], Evaluation]


class DefinedView:
    """Base facts as sets of tuples; every relation is evaluated again after each batch."""

    def __init__(
        self,
        stated: Mapping[str, pa.Table],
        inputs: Mapping[str, pa.Table],
        evaluate: Evaluate,
    ) -> None:
        self._schemas = {name: table.schema for name, table in stated.items()}
        self._evaluate = evaluate
        self._base = {name: dict.fromkeys(_rows(table)) for name, table in stated.items()}
        self.work = Work()
        for name, table in inputs.items():
            self._base[name].update(dict.fromkeys(_rows(table)))
        self._current = self._evaluate(self._tables())

    def apply(self, batch: Batch) -> Changes:
        """Apply the batch to the sets, evaluate, and compare every relation."""
        before = {name: dict(facts) for name, facts in self._base.items()}
        for name, update in batch.items():
            facts = self._base[name]
            for row in _rows(update.deleted):
                facts.pop(row, None)
            facts.update(dict.fromkeys(_rows(update.inserted)))
        old = self._current
        try:
            self._current = self._evaluate(self._tables())
        except BaseException:
            self._base = before
            raise
        found = {}
        for name, schema in self._schemas.items():
            if name in self.selected:
                continue
            was = dict.fromkeys(_rows(old.table(name)))
            now = dict.fromkeys(_rows(self._current.table(name)))
            came = [row for row in now if row not in was]
            went = [row for row in was if row not in now]
            if came or went:
                found[name] = _change(name, schema, came, went)
        return Changes(found)

    def _tables(self) -> dict[str, pa.Table]:
        return {name: self.base(name) for name in self._schemas}

    @property
    def selected(self) -> frozenset[str]:
        """The relations that may lack rows that are not best."""
        return self._current.selected

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self._current.size(relation)

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples."""
        return self._current.table(relation, ordered=ordered)

    def base(self, relation: str) -> pa.Table:
        """Return the base facts."""
        return _table(self._schemas[relation], list(self._base[relation]))

    def matching(self, relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
        """Return the base facts whose columns have the values of some row of `keys`."""
        wanted = set(_rows(keys))
        rows = [r for r in self._base[relation] if tuple(r[c] for c in columns) in wanted]
        return _table(self._schemas[relation], rows)


def define(
    plan: Plan,
    inputs: Mapping[str, pa.Table],
    engine: Engine,
    limits: Limits = Limits(),
    threads: int | None = None,
) -> DefinedView:
    """Return the view of a plan; facts in the program's text are base facts to begin with."""
    stated, derived = [], []
    for stratum in plan.strata:
        facts = tuple(rule for rule in stratum.rules if _is_fact(rule))
        rules = tuple(rule for rule in stratum.rules if not _is_fact(rule))
        stated.append(replace(stratum, rules=facts, subsumptions=()))
        derived.append(replace(stratum, facts=(), rules=rules))
    given = engine.evaluate(replace(plan, strata=tuple(stated)), {})
    whole = replace(plan, strata=tuple(derived))
    names = [decl.name for decl in plan.program.relations]
    return DefinedView(
        {name: given.table(name) for name in names},
        inputs,
        lambda now: engine.evaluate(whole, now, limits=limits, threads=threads),
    )


def _is_fact(rule: Rule) -> bool:
    """Whether the rule is a fact whose records were taken apart, into equations."""
    return all(
        isinstance(literal, Constraint)
        and literal.op == "="
        and not any(isinstance(node, Aggregate | UserCall | Counter) for node in walk(literal))
        for literal in rule.body
    )


def _change(name: str, schema: pa.Schema, came: list[Row], went: list[Row]) -> Change:
    return Change(
        name, len(came), len(went), lambda: _table(schema, came), lambda: _table(schema, went)
    )


def _rows(table: pa.Table | None) -> list[Row]:
    if table is None:
        return []
    if table.num_columns == 0:
        return [()] * min(table.num_rows, 1)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _table(schema: pa.Schema, rows: list[Row]) -> pa.Table:
    if len(schema) == 0:
        return pa.table({"": pa.nulls(len(rows))}).select([])
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table(
        [pa.array(list(c), type=f.type) for c, f in zip(columns, schema, strict=True)],
        schema=schema,
    )
