"""Every pass keeps the answers: naive evaluation before it gives what it gives after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import (
    answers,
    derived_relation,
    goal_of,
    long,
    matching,
    quick,
    resolved,
)
from property.cases import Case, cases
from property.programs import INPUTS
from whence.rewrite.pipeline import run_passes
from whence.syntax.nodes import Directive, Pragma, Program
from whence.syntax.souffle import parse, parse_goal


def changes(program: Program, **options: object) -> Iterator[tuple[str, Program]]:
    """Yield the passes that change the program, with what they make of it."""
    before = program
    for name, after in run_passes(program, **options):
        if after != before:
            yield name, after
        before = after


def check_all_kept(case: Case) -> None:
    program = resolved(case.program)
    expected = answers(program, case.facts)
    for name, after in changes(program, keep_all=True, inputs=set(INPUTS)):
        found = answers(after, case.facts)
        for relation, rows in expected.items():
            assert found[relation] == rows, f"{name} changes {relation}:\n{after}"


def check_output_kept(case: Case, data: st.DataObject) -> None:
    program = resolved(case.program)
    output = derived_relation(data, program)
    pragmas = data.draw(st.sampled_from([(), (Pragma("magic-transform", "*"),)]))
    program = replace(program, directives=(Directive("output", output),), pragmas=pragmas)
    expected = answers(program, case.facts)[output]
    for name, after in changes(program, inputs=set(case.facts)):
        assert answers(after, case.facts)[output] == expected, f"{name} changes it:\n{after}"


def check_goal_answered(case: Case, data: st.DataObject) -> None:
    program = resolved(case.program)
    relation = derived_relation(data, program)
    rows = answers(program, case.facts)[relation]
    goal = goal_of(data, program, relation, rows)
    expected = matching(rows, goal)
    for name, after in changes(program, goal=goal, inputs=set(case.facts)):
        found = matching(answers(after, case.facts)[relation], goal)
        assert found == expected, f"{name} changes the answers of {goal}:\n{after}"


@quick
@given(cases())
def test_every_pass_keeps_all_relations(case: Case) -> None:
    check_all_kept(case)


@quick
@given(cases(), st.data())
def test_every_pass_keeps_an_output(case: Case, data: st.DataObject) -> None:
    check_output_kept(case, data)


@quick
@given(cases(), st.data())
def test_every_pass_keeps_the_answers_of_a_goal(case: Case, data: st.DataObject) -> None:
    check_goal_answered(case, data)


STEPS = [
    "e(x, y), p(y, z)",
    "p(x, y), e(y, z)",
    "e(y, x), p(y, z)",
    "p(x, y), e(z, y), !v(z)",
    "e(x, y), p(y, z), v(x)",
    "p(x, y), e(y, z), v(x)",
    "e(x, y), p(y, z), x != z",
    "p(y, z), v(x), y = (x + 1) % 4",
    "p(x, y), p(y, z)",
    "p(z, x)",
    "p(x, _), e(x, z)",
    "e(x, w), p(w, y), e(y, z)",
]


@quick
@given(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=3),
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=9),
    st.sets(st.tuples(st.integers(0, 4))),
    st.sampled_from(["p(1, x)", "p(x, 1)", "p(1, 2)", "p(2, 2)"]),
    st.booleans(),
)
def test_linear_and_other_recursions_keep_their_answers(steps, edges, nodes, goal, more) -> None:
    text = """.decl e(x: number, y: number)  .decl v(x: number)
        .decl p(x: number, y: number)  p(x, y) :- e(x, y).\n"""
    text += "p(1, 3). p(2, 0).\n" if more else ""
    program = resolved(parse(text + "\n".join(f"p(x, z) :- {step}." for step in steps)))
    facts = {"e": edges, "v": nodes}
    for name, after in changes(program, keep_all=True, inputs={"e", "v"}):
        assert answers(after, facts)["p"] == answers(program, facts)["p"], f"{name}:\n{after}"
    asked = parse_goal(goal)
    expected = matching(answers(program, facts)["p"], asked)
    for name, after in changes(program, goal=asked, inputs={"e", "v"}):
        assert matching(answers(after, facts)["p"], asked) == expected, f"{name}:\n{after}"


@pytest.mark.slow
@long
@given(cases(), st.data())
def test_every_pass_keeps_the_answers_of_many_programs(case: Case, data: st.DataObject) -> None:
    check_all_kept(case)
    check_output_kept(case, data)
    check_goal_answered(case, data)
