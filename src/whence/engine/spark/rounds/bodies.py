"""Rule plans over frames: each step of a body is a join, a filter or a projection of bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, assert_never

from whence.engine.local.rules import reads
from whence.engine.spark.rounds import embedded, folds
from whence.engine.spark.rounds.cells import UNIT, Cell, literal, names_of, zero
from whence.engine.spark.rounds.terms import Bound, Terms
from whence.plan.nodes import (
    Bind,
    Exists,
    Fold,
    Gather,
    Key,
    Probe,
    RulePlan,
    Scan,
    Step,
    Takes,
    Test,
    Unpack,
    Version,
)
from whence.syntax.nodes import Constant, Kind, Term, Variable, variables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Read: TypeAlias = Callable[[str, Version, Sequence[int] | None], "DataFrame"]
"""The rows of a relation, with columns to join on best laid out for that; it may carry a hint."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """Rows of variables: a frame, and which column holds which variable."""

    frame: DataFrame
    bound: dict[str, Bound]

    @property
    def columns(self) -> list[str]:
        return [b.column for b in self.bound.values()] or [UNIT]


class Bodies:
    """Runs rule plans; `read` gives the relations as they are."""

    def __init__(self, spark: SparkSession, terms: Terms, read: Read) -> None:
        self._spark = spark
        self._terms = terms
        self._read = read
        self._fresh = 0

    def heads(self, plan: RulePlan) -> DataFrame:
        """Return what the rule derives, perhaps more than once."""
        from pyspark.sql import functions as F

        found = self._run(plan.steps, None, set(variables(*plan.head.args)))
        names = names_of(len(plan.head.args))
        if not plan.head.args:
            return found.frame.select(F.lit(0).alias(UNIT))
        return found.frame.select(
            *(
                self._terms.value(term, found.bound).alias(name)
                for term, name in zip(plan.head.args, names, strict=True)
            )
        )

    def _run(self, steps: Sequence[Step], start: Bindings | None, wanted: set[str]) -> Bindings:
        """Return the bindings after the steps, with the variables that are wanted."""
        needed = [wanted]
        for step in reversed(steps):
            needed.append(needed[-1] | reads(step))
        needed.reverse()
        current = start
        for i, step in enumerate(steps):
            current = self._step(step, current, needed[i + 1])
        return self._unit() if current is None else current

    def _unit(self) -> Bindings:
        from pyspark.sql import functions as F

        return Bindings(self._spark.range(1, numPartitions=1).select(F.lit(0).alias(UNIT)), {})

    def _step(self, step: Step, before: Bindings | None, needed: set[str]) -> Bindings:
        match step:
            case Scan(relation=relation, version=version, key=key, takes=takes):
                return self._scan(relation, version, key, takes, needed)
            case Probe(relation=relation, version=version, key=key, takes=takes):
                if before is None:
                    return self._scan(relation, version, key, takes, needed)
                return self._probe(step, before, needed)
            case Exists():
                return self._exists(step, before or self._unit(), needed)
            case Test(constraint=constraint):
                before = before or self._unit()
                kept = before.frame.filter(self._terms.holds(constraint, before.bound))
                return _narrowed(replace(before, frame=kept), needed)
            case Bind(variable=variable, term=term):
                return self._bind(variable, term, before or self._unit(), needed)
            case Unpack():
                return self._unpack(step, before or self._unit(), needed)
            case Fold():
                return self._fold(step, before or self._unit(), needed)
            case Gather():
                return self._gather(step, before or self._unit(), needed)
        assert_never(step)

    # ── relations ──

    def _scan(
        self, relation: str, version: Version, key: Key, takes: Takes, needed: set[str]
    ) -> Bindings:
        from pyspark.sql import functions as F

        frame = _with_constants(self._read(relation, version, None), key)
        if not takes:
            return Bindings(frame.limit(1).select(F.lit(0).alias(UNIT)), {})
        bound, taken = self._taken(relation, takes, needed)
        return Bindings(frame.select(*taken or [F.lit(0).alias(UNIT)]), bound)

    def _taken(
        self, relation: str, takes: Takes, needed: set[str]
    ) -> tuple[dict[str, Bound], list[Column]]:
        """Return the variables that a row gives, and the columns of those."""
        from pyspark.sql import functions as F

        cells = self._terms.types.columns[relation]
        bound = {name: self._new(cells[at]) for at, name in takes if name in needed}
        return bound, [
            F.col(f"c{at}").alias(bound[name].column) for at, name in takes if name in bound
        ]

    def _matched(
        self, step: Probe | Exists, more: Sequence[Column]
    ) -> tuple[DataFrame, list[tuple[str, str]]]:
        """Return the rows to join with, and pairs of a variable and the column it must equal."""
        from pyspark.sql import functions as F

        at = [(column, o.name) for column, o in step.key if isinstance(o, Variable)]
        frame = self._read(step.relation, step.version, [column for column, _ in at])
        frame = _with_constants(frame, step.key)
        self._fresh += 1
        pairs = [(name, f"k{self._fresh}_{column}") for column, name in at]
        keys = [F.col(f"c{column}").alias(f"k{self._fresh}_{column}") for column, _ in at]
        return frame.select(*keys, *more or [F.lit(0).alias(f"k{self._fresh}")]), pairs

    def _probe(self, step: Probe, before: Bindings, needed: set[str]) -> Bindings:
        from pyspark.sql import functions as F

        bound, taken = self._taken(step.relation, step.takes, needed)
        right, pairs = self._matched(step, taken)
        if pairs:
            joined = before.frame.join(right, _equal(before, pairs), "inner")
        else:
            joined = before.frame.crossJoin(right)
        after = {n: b for n, b in before.bound.items() if n in needed} | bound
        columns = [F.col(b.column) for b in after.values()]
        return Bindings(joined.select(*columns or [F.lit(0).alias(UNIT)]), after)

    def _exists(self, step: Exists, before: Bindings, needed: set[str]) -> Bindings:
        from pyspark.sql import functions as F

        right, pairs = self._matched(step, ())
        how = "left_anti" if step.negated else "left_semi"
        if pairs:
            kept = before.frame.join(right, _equal(before, pairs), how)
        else:
            kept = before.frame.join(F.broadcast(right.limit(1)), F.lit(True), how)
        return _narrowed(replace(before, frame=kept), needed)

    # ── values ──

    def _bind(self, variable: str, term: Term, before: Bindings, needed: set[str]) -> Bindings:
        if variable not in needed:
            return _narrowed(before, needed)
        new = self._new(self._terms.cell(term, before.bound))
        frame = before.frame.withColumn(new.column, self._terms.value(term, before.bound))
        return _narrowed(Bindings(frame, before.bound | {variable: new}), needed)

    def _unpack(self, step: Unpack, before: Bindings, needed: set[str]) -> Bindings:
        from pyspark.sql import functions as F

        record = before.bound[step.record]
        frame = before.frame.filter(F.col(record.column) != "nil")
        takes = [(at, name) for at, name in step.takes if name in needed]
        if not takes or not record.cell.type:
            cells = [Cell(Kind.RECORD, "")] * len(takes)
            bound = {name: self._new(cell) for (_, name), cell in zip(takes, cells, strict=True)}
            for one in bound.values():  # there is no row
                frame = frame.withColumn(one.column, F.lit("nil"))
            return _narrowed(Bindings(frame, before.bound | bound), needed)
        work = embedded.unpacking(
            record.cell, [at for at, _ in takes], step.arity, self._terms.types
        )
        bound = {name: self._new(c) for (_, name), c in zip(takes, work.results, strict=True)}
        parts = f"r{self._fresh}"
        frame = frame.withColumn(
            parts, embedded.column_function(work)(F.col(record.column))
        ).select(
            "*",
            *(
                F.coalesce(F.col(f"{parts}.f{i}"), zero(one.cell.kind)).alias(one.column)
                for i, one in enumerate(bound.values())
            ),
        )
        return _narrowed(Bindings(frame, before.bound | bound), needed)

    # ── aggregates ──

    def _fold(self, step: Fold, before: Bindings, needed: set[str]) -> Bindings:
        """Join with the aggregate of each group; no group is no value, or that of nothing."""
        from pyspark.sql import functions as F

        function = folds.aggregate(step.function, step.kind)
        at = [(column, o.name) for column, o in step.key if isinstance(o, Variable)]
        rows = _with_constants(self._read(step.relation, Version.ALL, None), step.key)
        new = self._new(folds.result_cell(function))
        target = None if step.target is None else F.col(f"c{step.target}")
        self._fresh += 1
        pairs = [(name, f"k{self._fresh}_{column}") for column, name in at]
        keys = [F.col(f"c{column}").alias(f"k{self._fresh}_{column}") for column, _ in at]
        grouped = rows.groupBy(*keys).agg(folds.over(function, target).alias(new.column))
        if not keys and not function.total:
            grouped = grouped.filter(F.col(new.column).isNotNull())
        if not pairs:
            joined = before.frame.crossJoin(F.broadcast(grouped))
        else:
            how = "left" if function.total else "inner"
            joined = before.frame.join(grouped, _equal(before, pairs), how)
        valued = folds.of_nothing(function, F.col(new.column))
        frame = joined.withColumn(new.column, valued)
        return _narrowed(Bindings(frame, before.bound | {step.variable: new}), needed)

    def _gather(self, step: Gather, before: Bindings, needed: set[str]) -> Bindings:
        """Aggregate what the inner steps make of each binding; each binding counts once."""
        from pyspark.sql import functions as F

        function = folds.aggregate(step.function, step.kind)
        outer = before.columns
        each = replace(before, frame=before.frame.select(*outer).distinct())
        wanted = set(before.bound) | ({step.target} if step.target is not None else set())
        inner = self._run(step.steps, each, wanted)
        new = self._new(folds.result_cell(function))
        target = None if step.target is None else F.col(inner.bound[step.target].column)
        kept = inner.frame if before.bound else inner.frame.withColumn(UNIT, F.lit(0))
        grouped = kept.groupBy(*outer).agg(folds.over(function, target).alias(new.column))
        if function.total:
            renamed = grouped.toDF(*(f"{c}_" for c in outer), new.column)
            same = _all(F.col(c) == F.col(f"{c}_") for c in outer)
            grouped = each.frame.join(renamed, same, "left").select(*outer, new.column)
        frame = grouped.withColumn(new.column, folds.of_nothing(function, F.col(new.column)))
        return _narrowed(Bindings(frame, before.bound | {step.variable: new}), needed)

    def _new(self, cell: Cell) -> Bound:
        self._fresh += 1
        return Bound(f"v{self._fresh}", cell)


def _narrowed(found: Bindings, needed: set[str]) -> Bindings:
    """Leave out the columns that nobody reads any more."""
    from pyspark.sql import functions as F

    bound = {name: b for name, b in found.bound.items() if name in needed}
    if bound:
        return Bindings(found.frame.select(*(b.column for b in bound.values())), bound)
    return Bindings(found.frame.select(F.lit(0).alias(UNIT)), bound)


def _with_constants(frame: DataFrame, key: Key) -> DataFrame:
    """Return the rows whose columns equal the constants of a key."""
    from pyspark.sql import functions as F

    tests = [F.col(f"c{column}") == literal(o) for column, o in key if isinstance(o, Constant)]
    return frame.filter(_all(tests)) if tests else frame


def _equal(before: Bindings, pairs: Iterable[tuple[str, str]]) -> Column:
    from pyspark.sql import functions as F

    return _all(F.col(before.bound[name].column) == F.col(column) for name, column in pairs)


def _all(tests: Iterable[Column]) -> Column:
    found, *others = tests
    for other in others:
        found = found & other
    return found
