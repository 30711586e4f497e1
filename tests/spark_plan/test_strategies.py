"""Programs that people know get the strategy that one expects, and say why."""

from __future__ import annotations

from typing import Any

import pytest

from spark_plan.agreement import cut_text, rules_of
from spark_plan.simulator import simulate
from whence.diagnostics import UsageError
from whence.engine.naive import evaluate
from whence.engine.spark.cut.known import know
from whence.engine.spark.cut.together import kept_together
from whence.engine.spark.model import ALONE, EVERYWHERE, SOMEWHERE, By, SparkPlan, Strategy
from whence.plan.build import build_plan
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.souffle import parse

D, G, A, R = Strategy.DECOMPOSED, Strategy.GANG, Strategy.ALONE, Strategy.ROUNDS

EDGES = ".decl edge(x: number, y: number)\n.input edge\n"
CLOSURE = (
    EDGES
    + """
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
"""
)
LEFT = CLOSURE + "path(x, z) :- path(x, y), edge(y, z)."
RIGHT = CLOSURE + "path(x, z) :- edge(x, y), path(y, z)."
UNEVEN = CLOSURE + "path(x, z) :- path(x, y), path(y, z), !edge(y, y)."
SAME_GENERATION = """
.decl parent(c: number, p: number)
.input parent
.decl sg(x: number, y: number)
.output sg
sg(x, y) :- parent(x, p), parent(y, p), x != y.
sg(x, y) :- parent(x, a), sg(a, b), parent(y, b).
"""
CSPA = """
.decl assign(d: number, s: number)
.decl dereference(d: number, s: number)
.input assign, dereference
.decl valueFlow(x: number, y: number)
.decl valueAlias(x: number, y: number)
.decl memoryAlias(x: number, y: number)
.output valueFlow, valueAlias, memoryAlias
valueFlow(y, x) :- assign(y, x).
valueFlow(x, y) :- assign(x, z), memoryAlias(z, y).
valueFlow(x, y) :- valueFlow(x, z), valueFlow(z, y).
memoryAlias(x, w) :- dereference(y, x), valueAlias(y, z), dereference(z, w).
valueAlias(x, y) :- valueFlow(z, x), valueFlow(z, y).
valueAlias(x, y) :- valueFlow(z, x), memoryAlias(z, w), valueFlow(w, y).
valueFlow(x, x) :- assign(x, _).
valueFlow(x, x) :- assign(_, x).
memoryAlias(x, x) :- assign(_, x).
memoryAlias(x, x) :- assign(x, _).
"""
ANDERSEN = """
.decl addressOf(y: number, x: number)
.decl assign(y: number, x: number)
.decl load(y: number, x: number)
.decl store(y: number, x: number)
.input addressOf, assign, load, store
.decl pointsTo(y: number, x: number)
.output pointsTo
pointsTo(y, x) :- addressOf(y, x).
pointsTo(y, x) :- assign(y, z), pointsTo(z, x).
pointsTo(y, w) :- load(y, x), pointsTo(x, z), pointsTo(z, w).
pointsTo(z, w) :- store(y, x), pointsTo(y, z), pointsTo(x, w).
"""
WEIGHTED = ".decl edge(x: number, y: number, w: number)\n.input edge\n"
ALL_PAIRS = (
    WEIGHTED
    + """
.decl dist(x: number, y: number, d: number)
.output dist
dist(x, y, w) :- edge(x, y, w).
dist(x, y, d + w) :- dist(x, z, d), edge(z, y, w).
dist(x, y, a) <= dist(x, y, b) :- b <= a.
"""
)
ONE_SOURCE = (
    WEIGHTED
    + """
.decl dist(x: number, d: number)
.output dist
dist(0, 0).
dist(y, d + w) :- dist(x, d), edge(x, y, w).
dist(x, a) <= dist(x, b) :- b < a.
"""
)
COMPONENTS = (
    EDGES
    + """
.decl component(x: number, least: number)
.output component
component(x, x) :- edge(x, _).
component(x, x) :- edge(_, x).
component(y, c) :- component(x, c), edge(x, y).
component(y, c) :- component(x, c), edge(y, x).
component(x, a) <= component(x, b) :- b < a.
"""
)


def strategies(plan: SparkPlan) -> list[Strategy]:
    return [group.strategy for group in plan.groups]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LEFT, [D]),
        (RIGHT, [D]),
        (UNEVEN, [G]),
        (SAME_GENERATION, [G]),
        (CSPA, [G]),
        (ANDERSEN, [G]),
        (ALL_PAIRS, [D]),
        (ONE_SOURCE, [G]),
        (COMPONENTS, [G]),
    ],
)
@pytest.mark.parametrize("tasks", [2, 10])
def test_programs_that_people_know(text: str, expected: list[Strategy], tasks: int) -> None:
    assert strategies(cut_text(text, tasks=tasks)) == expected


def test_one_task_by_itself_runs_the_program_as_it_is() -> None:
    (group,) = cut_text(UNEVEN, tasks=1).groups
    assert (group.strategy, group.why) == (A, "there is only one task")
    assert rules_of(cut_text(LEFT, tasks=1).groups[0]) == [
        "path(x, y) :- edge(x, y).",
        "path(x, z) :- path(x, y), edge(y, z).",
    ]


def test_a_closure_falls_apart_by_the_column_that_it_carries() -> None:
    (group,) = cut_text(LEFT).groups
    assert rules_of(group) == [
        "path@0(x, y) :- edge@0(x, y).",
        "path@0(x, z) :- path@0(x, y), edge@all(y, z).",
    ]
    assert group.why == (
        "the recursion carries `x` of `path` along unchanged; `edge` goes to every task"
    )
    (group,) = cut_text(RIGHT).groups
    assert [copy.placement for copy in group.writes] == [By(1)]


def test_a_closure_of_edges_that_are_too_many_for_every_task_is_shipped() -> None:
    (group,) = cut_text(LEFT, sizes={"edge": 10**8}).groups
    assert group.strategy is G
    assert rules_of(group) == [
        "path@out(x, y) :- edge@1(x, y).",
        "path@out(x, z) :- path@1(x, y), edge@0(y, z).",
        "path@1(x0, x1) :- path@out(x0, x1).",
    ]
    assert group.why == (
        "`edge` would have to be at every task, and is too much for that: "
        "`path` goes to the owners of `y`"
    )


def test_mutual_recursion_may_carry_a_value_in_different_columns() -> None:
    text = (
        EDGES
        + """
        .decl p(x: number, y: number)
        .decl q(y: number, x: number)
        .output p, q
        p(x, y) :- edge(x, y).
        q(y, x) :- p(x, y), edge(y, _).
        p(x, z) :- q(y, x), edge(y, z).
    """
    )
    (group,) = cut_text(text).groups
    assert {c.relation: c.placement for c in group.writes} == {"p": By(0), "q": By(1)}


def test_no_relation_is_everywhere_where_many_tasks_would_have_it() -> None:
    for text in (CSPA, ANDERSEN, SAME_GENERATION):
        (group,) = cut_text(text, tasks=10).groups
        places = [c.placement for s in group.ships for c in (s.home, *s.copies)]
        assert EVERYWHERE not in places


def test_a_join_of_large_relations_has_two_steps() -> None:
    (group,) = cut_text(SAME_GENERATION, sizes={"parent": 10**8}).groups
    assert "@join0@out(x, b) :- parent@1(x, a), sg@0(a, b)." in rules_of(group)
    assert EVERYWHERE not in [copy.placement for copy in group.reads]


def test_what_follows_a_recursion_joins_its_group_where_it_finds_its_tuples() -> None:
    text = (
        CLOSURE.replace(".output path", "")
        + """
        path(x, z) :- path(x, y), edge(y, z).
        .decl node(x: number)
        .decl apart(x: number, y: number)
        .decl many(x: number, n: number)
        .decl reached(y: number)
        .output apart, many, reached
        node(x) :- edge(x, _).
        node(x) :- edge(_, x).
        apart(x, y) :- node(x), node(y), !path(x, y).
        many(x, n) :- node(x), n = count : { path(x, _) }.
        reached(y) :- path(_, y).
    """
    )
    (group,) = cut_text(text).groups
    assert group.strategy is D
    assert "apart@0(x, y) :- node@0(x), node@all(y), !path@0(x, y)." in rules_of(group)
    assert {c.relation: c.placement for c in group.writes} == {
        "apart": By(0),
        "many": By(0),
        "reached": SOMEWHERE,
    }


def test_a_count_of_everything_is_made_by_one_task_after_the_others() -> None:
    text = (
        LEFT
        + """
        .decl many(n: number)
        .output many
        many(n) :- n = count : { path(_, _) }.
    """
    )
    first, second = cut_text(text).groups
    assert (first.strategy, second.strategy) == (D, A)
    assert [(c.relation, c.placement) for c in second.reads] == [("path", ALONE), ("@one", ALONE)]


def test_a_gang_takes_in_what_is_not_recursive_around_it() -> None:
    text = (
        EDGES
        + """
        .decl step(x: number, y: number)
        .decl path(x: number, y: number)
        .decl loop(x: number)
        .output loop
        step(x, z) :- edge(x, y), edge(y, z).
        path(x, y) :- step(x, y).
        path(x, z) :- path(x, y), path(y, z), !edge(y, x).
        loop(x) :- path(x, x).
    """
    )
    (group,) = cut_text(text).groups
    assert group.strategy is G
    assert [copy.relation for copy in group.writes] == ["loop"]


def test_facts_in_the_text_are_given_like_inputs() -> None:
    plan = cut_text(ONE_SOURCE)
    assert [str(fact.relation) for fact in plan.facts] == ["dist"]
    (group,) = plan.groups
    assert "dist@given@0" in [copy.name for copy in group.reads]
    assert all(rule.body for rule in group.program.rules)


def test_a_constant_in_a_head_is_derived_where_it_is_owned() -> None:
    text = LEFT + "path(7, y) :- edge(y, y)."
    plan = cut_text(text)
    (group,) = plan.groups
    assert group.strategy is D
    assert "path@0(7, y) :- @at_number@0(7), edge@all(y, y)." in rules_of(group)
    assert [fact.relation for fact in plan.facts] == ["@at_number"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (".limitsize path(n=10)", "`.limitsize` counts all tuples of `path`"),
        (
            ".decl name(s: symbol)\n.input name\npath(as(s, number), 1) :- name(s).",
            "`as` reads the number that one evaluation gave a value",
        ),
        (
            ".decl name(s: symbol)\n.input name\npath(ord(s), 1) :- name(s).",
            "`ord` numbers values in the order in which one evaluation meets them",
        ),
    ],
)
def test_what_depends_on_one_evaluation_stays_together(more: str, why: str) -> None:
    (group,) = cut_text(f"{LEFT}\n{more}").groups
    assert (group.strategy, group.why) == (A, why)
    with pytest.raises(UsageError) as error:
        cut_text(f"{LEFT}\n{more}", forced=G)
    assert [d.code for d in error.value.diagnostics] == ["W1000"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("path(x, $) :- edge(x, x).", "`$` counts through the whole evaluation"),
        (
            ".functor next(x: number): number stateful\npath(x, @next(x)) :- edge(x, x).",
            "the functor `@next` has a state",
        ),
    ],
)
def test_what_counts_will_stay_together_when_engines_know_it(more: str, why: str) -> None:
    plan = build_plan(parse(f"{LEFT}\n{more}"))  # checks would refuse it as not supported yet
    found = kept_together(know(plan, inputs=["edge"], sizes=None, tasks=2))
    assert set(found.values()) == {why}


GROWING = (
    WEIGHTED
    + """
    .decl path(x: number, y: number, c: number)
    .decl best(x: number, y: number, c: number)
    .output best
    path(x, y, w) :- edge(x, y, w).
    {step}
    best(x, y, m) :- path(x, y, _), m = min c : {{ path(x, y, c) }}.
"""
)


def test_a_recursion_that_follows_what_is_best_keeps_its_aggregate() -> None:
    text = GROWING.format(step="path(x, z, c + w) :- path(x, y, c), edge(y, z, w).")
    (group,) = cut_text(text).groups
    assert group.strategy is D
    text = GROWING.format(step="path(x, z, c + d) :- path(x, y, c), path(y, z, d).")
    (group,) = cut_text(text).groups
    assert group.strategy is A
    assert "may grow for ever" in group.why


def test_subsumption_that_is_no_order_of_values_is_not_shipped() -> None:
    text = COMPONENTS.replace("b < a.", "b < a, !edge(a, b).")
    (group,) = cut_text(text).groups
    assert group.strategy is A
    text = COMPONENTS.replace("component(y, c) :-", "component(y, 9 - c) :-")
    (group,) = cut_text(text).groups
    assert (group.strategy, group.why) == (
        A,
        "a better `least` of `component` need not give a better tuple",
    )


@pytest.mark.parametrize("forced", list(Strategy))
def test_a_strategy_that_is_asked_for_is_used_or_refused(forced: Strategy) -> None:
    assert strategies(cut_text(LEFT, forced=forced)) == [forced]
    if forced is D:
        with pytest.raises(UsageError, match="no column is carried through") as error:
            cut_text(UNEVEN, forced=forced)
        assert [d.code for d in error.value.diagnostics] == ["W1000"]
    else:
        assert strategies(cut_text(UNEVEN, forced=forced)) == [forced]


def test_rounds_are_for_what_does_not_fit_into_the_tasks() -> None:
    options: dict[str, Any] = {"sizes": {"edge": 10**6}, "memory": 10**6}
    assert strategies(cut_text(LEFT, **options)) == [R]
    assert strategies(cut_text(LEFT, sizes={"edge": 10**6}, memory=10**9)) == [D]


def test_a_program_without_rules_has_no_groups() -> None:
    assert cut_text(EDGES + ".output edge").groups == ()


def test_tuples_that_may_dominate_each_other_are_never_parted() -> None:
    text = (
        COMPONENTS
        + """
        .decl near(x: number, y: number)
        .decl path(x: number, y: number)
        .output path
        near(x, y) :- component(x, c), edge(c, y).
        path(x, y) :- near(x, y).
        path(x, z) :- path(x, y), path(y, z), !edge(z, x).
        """
    )
    edges = {(i, (i * 7 + 3) % 12) for i in range(12)} | {(i, (i * 5) % 12) for i in range(9)}
    (group,) = cut_text(text, tasks=3, sizes={"edge": 10**8}).groups
    (ship,) = [ship for ship in group.ships if ship.relation == "component"]
    assert {copy.placement for copy in (ship.home, *ship.copies)} == {By(0), EVERYWHERE}
    plan = cut_text(text, tasks=3, sizes={"edge": 10**8})
    program = resolve_types(parse(text))
    assert simulate(plan, {"edge": edges}, 3)["path"] == evaluate(program, {"edge": edges})["path"]
