"""However a random program is cut, the tasks together derive what one derives alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import long, quick
from property.cases import Case, cases
from property.programs import Features
from spark_plan.agreement import check_case

ALL = Features(floats=True, unsigned=True, nullary=True, facts=True, monotone=True)
TASKS = st.sampled_from([1, 2, 3, 5])
LIMITS = st.sampled_from([0, 100, 1 << 26])


@quick
@given(cases(ALL), TASKS, LIMITS)
def test_tasks_derive_what_one_derives_alone(case: Case, tasks: int, broadcast: int) -> None:
    sizes = {name: len(rows) for name, rows in case.facts.items()}
    check_case(case, tasks, sizes=sizes, broadcast=broadcast)


@pytest.mark.slow
@long
@given(cases(ALL), TASKS, LIMITS)
def test_tasks_derive_what_one_derives_alone_for_many_programs(
    case: Case, tasks: int, broadcast: int
) -> None:
    sizes = {name: len(rows) for name, rows in case.facts.items()}
    check_case(case, tasks, sizes=sizes, broadcast=broadcast)
