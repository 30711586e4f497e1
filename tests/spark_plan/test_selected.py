"""Recursions that end only because they follow what is best still do when they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import quick
from property.test_aggregate_selection import CHEAPEST, QUERY, STEPS, Link, expected, links
from spark_plan.agreement import cut_text
from spark_plan.simulator import simulate_local
from whence.engine.spark.cut.groups import cut
from whence.engine.spark.model import Strategy
from whence.session import compile
from whence.syntax.souffle import parse

few = settings(quick, max_examples=20)


@few
@given(
    links(),
    st.sampled_from(STEPS),
    st.sampled_from(CHEAPEST),
    st.sampled_from(["minCost", "cheapest", "fewest", "both"]),
    st.sampled_from([2, 3]),
)
def test_tasks_find_the_best_paths_of_a_cyclic_graph(
    graph: list[Link], step: str, cheapest: str, name: str, tasks: int
) -> None:
    text = QUERY.format(step=step, cheapest=cheapest, output=f".input link\n.output {name}")
    plan = cut_text(text, tasks=tasks)
    assert [group.strategy for group in plan.groups] == [Strategy.DECOMPOSED]
    found = simulate_local(plan, {"link": set(graph)}, tasks)
    assert found[name] == expected(graph)[name]


@few
@given(links(), st.sampled_from(CHEAPEST), st.sampled_from([1, 2, 3]))
def test_tasks_find_them_when_anything_may_be_asked_for(
    graph: list[Link], cheapest: str, tasks: int
) -> None:
    program = parse(QUERY.format(step=STEPS[0], cheapest=cheapest, output=""))
    compiled = compile(program, keep_all=True)
    plan = cut(compiled.plan, tasks=tasks, inputs=["link"])
    found = simulate_local(plan, {"link": set(graph)}, tasks)
    assert {name: found[name] for name in expected(graph)} == expected(graph)


@pytest.mark.parametrize("size", [None, 10**9])
def test_a_selection_that_tasks_would_lose_keeps_its_strata_together(size: int | None) -> None:
    text = """
        .decl link(x: number, y: number, c: number)
        .input link
        .decl path(x: number, y: number, c: number)
        .decl least(y: number, c: number)
        .output least
        path(x, y, c) :- link(x, y, c).
        path(x, z, c + d) :- path(x, y, c), link(y, z, d).
        least(y, m) :- path(_, y, _), m = min c : { path(_, y, c) }.
    """
    (group,) = cut_text(text, sizes={} if size is None else {"link": size}).groups
    assert group.strategy is Strategy.ALONE
    assert "may grow for ever" in group.why
    graph = {(1, 2, 3), (2, 1, 1), (2, 3, 1), (4, 3, 9)}
    found = simulate_local(cut_text(text), {"link": graph}, 2)
    assert found["least"] == {(1, 1), (2, 3), (3, 1)}
