"""Random programs, cut for gangs and run by tasks that exchange tuples over Arrow Flight."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import answers, long, quick, resolved
from property.cases import Case, cases
from property.programs import Features
from spark.gang.threads import located, rows_of, run_gang
from spark_plan.agreement import cut_allowed, shown
from whence.analysis.kinds import relation_kinds
from whence.engine.local.engine import LocalEngine
from whence.engine.local.records import ExactRecordText
from whence.engine.spark.cut.groups import task_plan
from whence.engine.spark.model import EVERYWHERE, Group, Strategy
from whence.engine.spark.shuffle import empty_table, joined
from whence.engine.spark.stated import stated_tables
from whence.syntax.nodes import Kind

ALL = Features(floats=True, unsigned=True, nullary=True, facts=True, monotone=True)
BEST = Features(symbols=False, records=False, aggregates=False, monotone=True, facts=True)
TASKS = st.sampled_from([1, 2, 3])
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "broadcast": st.sampled_from([0, 1 << 26]),
        "forced": st.sampled_from([None, Strategy.GANG]),
    }
)
few = settings(quick, max_examples=20)


def exact(value: object, *, inside: bool = False) -> object:
    """Return a value as tables between processes have it."""
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{', '.join(str(exact(item, inside=True)) for item in value)}]"
        case str() if inside:
            return json.dumps(value)
        case _:
            return value


def table_of(rows: set[tuple[object, ...]], types: pa.Table) -> pa.Table:
    if not types.num_columns:
        return pa.table({"": pa.nulls(len(rows))}).select([])
    columns = zip(*[[exact(v) for v in row] for row in rows], strict=True)
    if not rows:
        return types
    return pa.Table.from_arrays(
        [pa.array(list(c), f.type) for c, f in zip(columns, types.schema, strict=True)],
        types.column_names,
    )


def run(group: Group, tables: dict[str, pa.Table], tasks: int) -> dict[str, pa.Table]:
    """Return what a group writes: a gang by tasks together, others by each task for itself."""
    kinds = relation_kinds(group.program)
    if group.strategy is Strategy.GANG:
        found = run_gang(group, tables, tasks).evaluations
    else:
        tasks = tasks if group.strategy is Strategy.DECOMPOSED else 1
        engine, plan = LocalEngine(records=ExactRecordText), task_plan(group)
        found = [
            engine.evaluate(plan, located(group, tables, i, tasks), threads=1) for i in range(tasks)
        ]
    written = {}
    for copy in group.writes:
        shown_by = found[:1] if copy.placement is EVERYWHERE else found
        written[copy.relation] = joined([e.table(copy.name) for e in shown_by], kinds[copy.name])
    return written


def check(case: Case, tasks: int, **options: Any) -> None:
    plan = cut_allowed(case, tasks, **options)
    kinds = relation_kinds(resolved(case.program))
    tables = {n: table_of(rows, empty_table(kinds[n])) for n, rows in case.facts.items()}
    for name, stated in stated_tables(resolved(case.program), plan).items():
        given_ = [tables[name]] if name in tables else []
        columns = [Kind.NUMBER] * stated.num_columns  # of which only the number counts
        tables[name] = joined([*given_, stated], columns)
    for group in plan.groups:
        tables.update(run(group, tables, tasks))
    for name, expected in answers(resolved(case.program), case.facts).items():
        rows = {tuple(map(exact, row)) for row in expected}
        found = set(rows_of(tables[name])) if name in tables else set()
        assert found == rows, f"{name}\n{shown(plan)}"


@few
@given(cases(ALL), TASKS, OPTIONS)
def test_gangs_derive_what_the_definition_says(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check(case, tasks, **options)


@few
@given(cases(BEST), TASKS, OPTIONS)
def test_gangs_find_the_best_values(case: Case, tasks: int, options: dict[str, Any]) -> None:
    check(case, tasks, **options)


@pytest.mark.slow
@long
@given(cases(ALL), TASKS, OPTIONS)
def test_gangs_derive_what_the_definition_says_for_many_programs(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check(case, tasks, **options)


@pytest.mark.slow
@long
@given(cases(BEST), TASKS, OPTIONS)
def test_gangs_find_the_best_values_of_many_programs(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check(case, tasks, **options)
