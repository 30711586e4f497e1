"""What the tests of placing compare: a Spark plan run by hand, and plain evaluation."""

from __future__ import annotations

from typing import Any

from hypothesis import reject

from property.agreement import answers, resolved
from property.cases import Case
from property.test_engine_agrees import text
from spark_plan.simulator import simulate, simulate_local
from whence.diagnostics import UsageError
from whence.engine.spark.cut.groups import cut
from whence.engine.spark.model import Group, SparkPlan, Strategy
from whence.session import compile
from whence.syntax.printer import print_rule
from whence.syntax.souffle import parse


def cut_text(text: str, *, tasks: int = 2, **options: Any) -> SparkPlan:
    """Return the Spark plan of a program that is asked for its outputs."""
    program = parse(text)
    inputs = [d.relation for d in program.directives if d.action == "input"]
    asked = [d.relation for d in program.directives if d.action == "output"]
    compiled = compile(program, inputs=inputs)
    return cut(compiled.plan, tasks=tasks, inputs=inputs, asked=asked, **options)


def rules_of(group: Group) -> list[str]:
    """Return the rules that a task evaluates, as text."""
    return [print_rule(rule) for rule in group.program.rules]


def cut_case(case: Case, tasks: int, **options: Any) -> SparkPlan:
    """Return the Spark plan of a random program."""
    compiled = compile(case.program, keep_all=True)
    sizes = {name: len(rows) for name, rows in case.facts.items()}
    return cut(compiled.plan, tasks=tasks, sizes=sizes, inputs=list(case.facts), **options)


def cut_allowed(case: Case, tasks: int, **options: Any) -> SparkPlan:
    """Return the Spark plan; where a strategy is refused there is nothing to compare."""
    try:
        return cut_case(case, tasks, **options)
    except UsageError as error:
        if options["forced"] is not Strategy.ALONE and error.diagnostics[0].code == "W1000":
            reject()
        raise


def check_case(case: Case, tasks: int, *, local: bool = False, **options: Any) -> None:
    """Compare all relations of a random program, or those that are asked for."""
    plan = cut_allowed(case, tasks, **options)
    expected = answers(resolved(case.program), case.facts)
    if local:
        found = simulate_local(plan, case.facts, tasks)
        expected = {n: {tuple(map(text, row)) for row in rows} for n, rows in expected.items()}
    else:
        found = simulate(plan, case.facts, tasks)
    asked = options.get("asked")
    for name in expected if asked is None else asked:
        assert found.get(name, set()) == expected[name], f"{name}\n{shown(plan)}"


def shown(plan: SparkPlan) -> str:
    """Return the groups as text."""
    return "\n".join(
        f"{g.strategy}: {g.why}\n{g.program}\nreads {[c.name for c in g.reads]}, "
        f"writes {[c.name for c in g.writes]}, ships {[s.outbox for s in g.ships]}"
        for g in plan.groups
    )
