"""Annotated programs are cut like any others: chains are columns, of which the best are kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import long, quick
from property.cases import Case, cases
from property.test_chains import CELLS, FEATURES, annotated, cell
from spark_plan.agreement import shown
from spark_plan.simulator import simulate
from whence import session
from whence.engine.naive import evaluate
from whence.engine.spark.cut.groups import cut
from whence.semiring.registry import make


def check_chain(case: Case, name: str, seed: int, tasks: int, broadcast: int) -> None:
    semiring = make(name)
    program = annotated(case, name, seed)
    compiled = session.compile(program, keep_all=True, semiring=semiring)
    carriers = compiled.shape.carriers or frozenset()
    rows = {}
    for relation, facts in case.facts.items():
        rows[relation] = set(facts)
        if relation in carriers:
            rows[relation] = {(*row, float(semiring.read(cell(name, row, seed)))) for row in facts}
    judged = evaluate(dict(compiled.passes)["annotate"], rows)
    sizes = {relation: len(found) for relation, found in rows.items()}
    plan = cut(compiled.plan, tasks=tasks, sizes=sizes, inputs=list(rows), broadcast=broadcast)
    found = simulate(plan, rows, tasks)
    for decl in program.relations:
        expected = judged[decl.name]
        assert found.get(decl.name, set()) == expected, f"{decl.name}\n{shown(plan)}"


CASES = (
    cases(FEATURES),
    st.sampled_from(sorted(CELLS)),
    st.integers(0, 31),
    st.sampled_from([1, 2, 3, 5]),
    st.sampled_from([0, 1 << 26]),
)


@settings(quick, max_examples=25)
@given(*CASES)
def test_tasks_keep_the_best_annotations(
    case: Case, name: str, seed: int, tasks: int, broadcast: int
) -> None:
    check_chain(case, name, seed, tasks, broadcast)


@pytest.mark.slow
@long
@given(*CASES)
def test_tasks_keep_the_best_annotations_of_many_programs(
    case: Case, name: str, seed: int, tasks: int, broadcast: int
) -> None:
    check_chain(case, name, seed, tasks, broadcast)
