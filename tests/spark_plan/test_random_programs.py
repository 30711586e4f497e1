"""However a random program is cut, the tasks together derive what one derives alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import long, quick
from property.cases import Case, cases
from property.programs import Features
from spark_plan.agreement import check_case
from whence.engine.spark.model import Strategy

ALL = Features(floats=True, unsigned=True, nullary=True, facts=True, monotone=True)
BEST = Features(symbols=False, records=False, aggregates=False, monotone=True, facts=True)
TASKS = st.sampled_from([1, 2, 3, 5])
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "broadcast": st.sampled_from([0, 100, 1 << 26]),
        "forced": st.sampled_from([None, None, None, *Strategy]),
    }
)
few = settings(quick, max_examples=30)


@few
@given(cases(ALL), TASKS, OPTIONS)
def test_tasks_derive_what_one_derives_alone(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check_case(case, tasks, **options)


@few
@given(cases(BEST), TASKS, OPTIONS)
def test_tasks_find_the_best_values(case: Case, tasks: int, options: dict[str, Any]) -> None:
    check_case(case, tasks, **options)


@few
@given(cases(ALL), TASKS, OPTIONS)
def test_the_embedded_engine_evaluates_groups_as_they_stand(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check_case(case, tasks, local=True, **options)


@few
@given(cases(ALL), TASKS, OPTIONS, st.data())
def test_what_is_asked_for_is_derived_and_nothing_else_is_written(
    case: Case, tasks: int, options: dict[str, Any], data: st.DataObject
) -> None:
    names = sorted({head.relation for rule in case.program.rules for head in rule.heads})
    asked = data.draw(st.sets(st.sampled_from(names), min_size=1))
    check_case(case, tasks, asked=asked, **options)


@pytest.mark.slow
@long
@given(cases(ALL), TASKS, OPTIONS)
def test_tasks_derive_what_one_derives_alone_for_many_programs(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check_case(case, tasks, **options)


@pytest.mark.slow
@long
@given(cases(BEST), TASKS, OPTIONS)
def test_tasks_find_the_best_values_for_many_programs(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check_case(case, tasks, **options)


@pytest.mark.slow
@long
@given(cases(ALL), TASKS, OPTIONS)
def test_the_embedded_engine_evaluates_many_groups_as_they_stand(
    case: Case, tasks: int, options: dict[str, Any]
) -> None:
    check_case(case, tasks, local=True, **options)
