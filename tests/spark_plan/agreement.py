"""What the tests of placing compare: a Spark plan run by hand, and plain evaluation."""

from __future__ import annotations

from typing import Any

from property.agreement import answers, resolved
from property.cases import Case
from spark_plan.simulator import simulate
from whence.engine.spark.groups import cut
from whence.engine.spark.model import SparkPlan
from whence.session import compile


def cut_case(case: Case, tasks: int, **options: Any) -> SparkPlan:
    """Return the Spark plan of a random program."""
    compiled = compile(case.program, keep_all=True)
    return cut(compiled.plan, tasks=tasks, inputs=list(case.facts), **options)


def check_case(case: Case, tasks: int, **options: Any) -> SparkPlan:
    """Compare all relations of a random program."""
    expected = answers(resolved(case.program), case.facts)
    plan = cut_case(case, tasks, **options)
    found = simulate(plan, case.facts, tasks)
    for name, rows in expected.items():
        assert found.get(name, set()) == rows, f"{name}\n{shown(plan)}"
    return plan


def shown(plan: SparkPlan) -> str:
    """Return the groups as text."""
    return "\n".join(
        f"{g.strategy}: {g.why}\n{g.program}\nreads {[c.name for c in g.reads]}, "
        f"writes {[c.name for c in g.writes]}, ships {[s.outbox for s in g.ships]}"
        for g in plan.groups
    )
