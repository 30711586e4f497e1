"""What is selected from a recursion, or why nothing is; and what grows without a bound."""

from __future__ import annotations

import pytest

from whence import session
from whence.plan.nodes import Plan, Selection
from whence.syntax.nodes import Kind
from whence.syntax.souffle import parse, parse_goal

HEAD = """
.type V = [n: number, rest: V]
.decl link(x: number, y: number, c: {kind})
.input link
.decl up(x: number)
.input up
.decl path(x: number, y: number, p: V, c: {kind}, l: number)
path(x, y, [x, nil], c, 1) :- link(x, y, c).
"""
STEP = "path(x, y, [x, p], c + d, l + 1) :- link(x, z, d), path(z, y, p, c, l).\n"
BEST = """
.decl best(x: number, y: number, c: {kind})
best(x, y, c) :- path(x, y, _, _, _), c = min k : {{ path(x, y, _, k, _) }}.
"""
CHEAPEST = """
.decl cheapest(x: number, y: number, p: V)
cheapest(x, y, p) :- path(x, y, p, c, _), best(x, y, c).
.output cheapest
"""
VALUE_ONLY = ".output best\n"


def plan(*parts: str, kind: str = "number", goal: str | None = None) -> Plan:
    text = "".join(
        part.replace("{kind}", kind).replace("{{", "{").replace("}}", "}") for part in parts
    )
    return session.compile(parse(text), goal=None if goal is None else parse_goal(goal)).plan


def selected(found: Plan, relation: str = "path") -> set[Selection]:
    return {
        s for stratum in found.strata for n, ss in stratum.selections if n == relation for s in ss
    }


def least(*key: int, value: int = 3, ties: bool = True, kind: Kind = Kind.NUMBER) -> Selection:
    return Selection(key, value, kind, greatest=False, ties=ties)


def test_the_best_rows_of_a_group_are_selected_with_their_ties() -> None:
    assert selected(plan(HEAD, STEP, BEST, CHEAPEST)) == {least(0, 1)}


def test_without_their_other_columns_any_best_row_will_do() -> None:
    assert selected(plan(HEAD, STEP, BEST, VALUE_ONLY)) == {least(0, 1, ties=False)}


def test_two_aggregates_are_two_selections() -> None:
    hops = """
    .decl hops(x: number, l: number)
    hops(x, l) :- path(x, _, _, _, _), l = max k : { path(x, _, _, _, k) }.
    .output hops
    """
    assert selected(plan(HEAD, STEP, BEST, CHEAPEST, hops)) == {
        least(0, 1),
        Selection((0,), 4, Kind.NUMBER, greatest=True, ties=False),
    }


def test_the_group_of_a_premise_has_what_the_rule_joins_on() -> None:
    step = "path(x, y, [y, p], c + d, l + 1) :- path(x, z, p, c, l), link(z, y, d).\n"
    overall = """
    .decl overall(x: number, c: number)
    overall(x, c) :- up(x), c = min k : { path(x, _, _, k, _) }.
    .output overall
    """
    assert selected(plan(HEAD, step, overall)) == {least(0, 1, ties=False)}


def test_recursion_on_itself_and_in_turn_is_selected_from() -> None:
    twice = "path(x, y, [z, p], c + d, l + m) :- path(x, z, p, c, l), path(z, y, _, d, m).\n"
    assert selected(plan(HEAD, twice, BEST, CHEAPEST)) == {least(0, 1)}
    turn = """
    .decl hop(x: number, y: number, p: V, c: number, l: number)
    hop(x, y, [x, p], c + d, l) :- link(x, z, d), path(z, y, p, c, l).
    path(x, y, p, c, l + 1) :- hop(x, y, p, c, l).
    """
    found = plan(HEAD, turn, BEST, CHEAPEST)
    assert selected(found) == selected(found, "hop") == {least(0, 1)}


def test_a_test_that_better_values_pass_is_no_hindrance() -> None:
    step = "path(x, y, [x, p], e, l + 1) :- link(x, z, d), path(z, y, p, c, l), e = c + d, e < 9.\n"
    assert selected(plan(HEAD, step, BEST, CHEAPEST)) == {least(0, 1)}


def test_a_test_on_another_number_makes_it_part_of_the_group() -> None:
    step = STEP.replace(".\n", ", l < 9.\n")
    assert selected(plan(HEAD, step, BEST, CHEAPEST)) == {least(0, 1, 4)}


def test_an_aggregate_of_some_groups_selects_there() -> None:
    to = """
    .decl to(x: number, p: V)
    to(x, p) :- path(x, 7, p, c, _), c = min k : { path(x, 7, _, k, _) }.
    .output to
    """
    assert selected(plan(HEAD, STEP, to)) == {least(0, 1)}


def test_a_goal_selects_as_an_output_does() -> None:
    assert selected(plan(HEAD, STEP, BEST, CHEAPEST, goal="cheapest(1, x, p)")) == {least(0, 1)}


@pytest.mark.parametrize("value", ["c", "d + c", "c - d", "c * 3", "(c + d) * 2 - 1"])
def test_values_that_follow_strictly_are_selected_with_vectors(value: str) -> None:
    step = STEP.replace("c + d", value)
    assert selected(plan(HEAD, step, BEST, CHEAPEST)) == {least(0, 1)}


@pytest.mark.parametrize("value", ["min(c, d)", "max(d, c, 3)"])
def test_values_that_only_follow_are_selected_without_vectors(value: str) -> None:
    step = STEP.replace("c + d", value)
    assert selected(plan(HEAD, step, BEST, VALUE_ONLY)) == {least(0, 1, ties=False)}
    found = plan(HEAD, step, BEST, CHEAPEST)
    assert not found.selected
    assert dict(found.refusals)["path"].code == "W0513"


def test_a_factor_from_the_data_is_assumed_to_be_above_zero() -> None:
    step = STEP.replace("c + d", "c * d")
    found = plan(HEAD, step, BEST, CHEAPEST, kind="float")
    assert selected(found) == {least(0, 1, kind=Kind.FLOAT)}
    (assumed,) = [a for stratum in found.strata for a in stratum.assumes]
    assert (assumed.relation, assumed.column) == ("link", 2)


OUTPUT = ".output path\n"
COUNT = """
.decl n(k: number)
n(k) :- k = count : { path(_, _, _, _, _) }.
.output n
"""
BEYOND = """
.decl costs(c: number)
costs(c) :- path(_, _, _, c, _).
.output costs
"""


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ((STEP, BEST, CHEAPEST, OUTPUT), "W0510"),
        ((STEP, BEST, CHEAPEST, ".printsize path\n"), "W0510"),
        ((STEP, BEST, CHEAPEST, COUNT), "W0511"),
        ((STEP, BEST, CHEAPEST, BEYOND), "W0511"),
        ((STEP.replace("c + d", "d - c"), BEST, CHEAPEST), "W0512"),
        ((STEP.replace("c + d", "c * (d + 1)"), BEST, CHEAPEST), "W0512"),
        ((STEP.replace("c + d", "c + c"), BEST, CHEAPEST), "W0512"),
        ((STEP.replace(".\n", ", c != 4.\n"), BEST, CHEAPEST), "W0513"),
        ((STEP.replace(".\n", ", c > 4.\n"), BEST, CHEAPEST), "W0513"),
        ((STEP.replace(".\n", ", p != [3, nil].\n"), BEST, CHEAPEST), "W0513"),
        ((STEP, BEST, CHEAPEST, ".limitsize path(n=10)\n"), "W0514"),
        ((STEP, BEST, CHEAPEST, "path(a, b, p, c, l) <= path(a, b, q, d, m) :- d < c.\n"), "W0514"),
    ],
)
def test_where_other_rows_matter_nothing_is_selected(parts: tuple[str, ...], code: str) -> None:
    found = plan(HEAD, *parts)
    assert not found.selected
    assert dict(found.refusals)["path"].code == code


def test_what_is_computed_together_with_a_subsumption_is_not_selected_from() -> None:
    turn = """
    .decl hop(x: number, y: number, p: V, c: number, l: number)
    hop(x, y, [x, p], c + d, l) :- link(x, z, d), path(z, y, p, c, l).
    path(x, y, p, c, l + 1) :- hop(x, y, p, c, l).
    hop(a, b, p, c, l) <= hop(a, b, q, d, m) :- d < c.
    """
    assert not plan(HEAD, turn, BEST, CHEAPEST).selected


def test_facts_that_may_be_given_to_it_make_a_relation_no_witness_of_best_values() -> None:
    text = "".join((HEAD, STEP, BEST, CHEAPEST)).replace("{kind}", "number")
    program = parse(text.replace("{{", "{").replace("}}", "}"))
    assert session.compile(program, inputs={"link"}).plan.selected
    assert not session.compile(program, inputs={"link", "best"}).plan.selected


def test_where_any_relation_may_be_read_only_what_may_not_end_is_selected_from() -> None:
    reach = """
    .decl e(x: number, y: number)
    .decl reach(x: number, y: number)
    reach(x, y) :- e(x, y).
    reach(x, y) :- e(x, z), reach(z, y).
    .decl first(x: number, y: number)
    first(x, y) :- e(x, _), y = min k : { reach(x, k) }.
    """
    program = parse(reach)
    assert not session.compile(program, keep_all=True).plan.selected
    text = "".join((HEAD, STEP, BEST)).replace("{kind}", "number")
    growing = parse(text.replace("{{", "{").replace("}}", "}"))
    assert session.compile(growing, keep_all=True).plan.selected == {"path"}


# ── warnings ──


def warned(*parts: str) -> list[str]:
    text = "".join(
        p.replace("{kind}", "number").replace("{{", "{").replace("}}", "}") for p in parts
    )
    found = session.compile(parse(text)).warnings
    return [d.label for d in found if d.code == "W0910"]


def test_growth_that_nothing_bounds_is_warned_of() -> None:
    assert warned(HEAD, STEP, OUTPUT) == ["nothing bounds `p`, `c`, `l`"]


@pytest.mark.parametrize(
    "parts",
    [
        (HEAD, STEP, BEST, CHEAPEST),
        (HEAD, STEP.replace("[x, p], c + d, l + 1", "p, max(c, d), l"), OUTPUT),
        (HEAD, STEP.replace("[x, p], c + d, l + 1", "p, c, (l + 1) % 7"), OUTPUT),
        (".decl n(x: number)\nn(1). n(x + 1) :- n(x), x < 9.\n.output n\n",),
        (
            ".decl n(x: number)\nn(1). n(x) :- n(y), x = y + 1, up(x).\n.decl up(x: number)\n.output n\n",
        ),
        (".decl n(x: number)\nn(1). n(x + 1) :- n(x).\nn(x) <= n(y) :- y < x.\n.output n\n",),
    ],
)
def test_growth_that_something_may_bound_is_not_warned_of(parts: tuple[str, ...]) -> None:
    assert warned(*parts) == []


def test_growth_in_turn_is_warned_of_where_it_happens() -> None:
    text = """
    .decl a(x: number, n: number)
    .decl b(x: number, n: number)
    a(1, 1).
    a(x, n) :- b(x, n).
    b(x, n + 1) :- a(x, n).
    .output a
    """
    assert warned(text) == ["nothing bounds `n`"]


def test_the_plan_shows_what_is_selected_and_why_nothing_is() -> None:
    text = "".join((HEAD, STEP.replace("c + d", "c * d"), BEST, CHEAPEST)).replace(
        "{kind}", "float"
    )
    program = parse(text.replace("{{", "{").replace("}}", "}"))
    shown = session.explain_plan(session.compile(program))
    assert "selection: path follows the least c for each (x, y), with all ties" in shown
    assert "selection: only if all c of link are above zero" in shown
    asked = session.compile(parse(str(program) + "\n.output path"))
    assert "no selection: `path` itself is asked for" in session.explain_plan(asked)
    strata = session.compile(program).as_json()["strata"]
    assert isinstance(strata, list)
    (found,) = [s for s in strata if s["selections"]]
    assert found["selections"] == [
        {"relation": "path", "key": ["x", "y"], "value": "c", "best": "least", "ties": True}
    ]
    assert found["assumes"] == [{"relation": "link", "column": "c"}]
    (refused,) = [r for s in asked.as_json()["strata"] for r in s["refused"]]  # type: ignore[attr-defined]
    assert refused["code"] == "W0510"
