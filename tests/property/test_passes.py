"""Every pass keeps the answers: naive evaluation before it gives what it gives after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import answers, long, quick, resolved
from property.programs import INPUTS, facts, programs
from whence.rewrite.pipeline import run_passes
from whence.syntax.nodes import Atom, Constant, Directive, Pragma, Program, Wildcard


def changes(program: Program, **options: object) -> Iterator[tuple[str, Program]]:
    """Yield the passes that change the program, with what they make of it."""
    before = program
    for name, after in run_passes(program, **options):
        if after != before:
            yield name, after
        before = after


def derived_relation(data: st.DataObject, program: Program) -> str:
    names = {head.relation for rule in program.rules for head in rule.heads}
    return data.draw(st.sampled_from(sorted(names)))


def check_all_kept(data: st.DataObject) -> None:
    program = resolved(data.draw(programs()))
    given = data.draw(facts(program))
    expected = answers(program, given)
    for name, after in changes(program, keep_all=True, inputs=set(INPUTS)):
        found = answers(after, given)
        for relation, rows in expected.items():
            assert found[relation] == rows, f"{name} changes {relation}\n{program}\n{after}"


def check_output_kept(data: st.DataObject) -> None:
    program = resolved(data.draw(programs()))
    given = data.draw(facts(program))
    output = derived_relation(data, program)
    pragmas = data.draw(st.sampled_from([(), (Pragma("magic-transform", "*"),)]))
    program = replace(program, directives=(Directive("output", output),), pragmas=pragmas)
    expected = answers(program, given)[output]
    inputs = {name for name, rows in given.items() if rows}
    for name, after in changes(program, inputs=inputs):
        assert answers(after, given)[output] == expected, f"{name}\n{program}\n{after}"


def matching(rows: set[tuple[object, ...]], goal: Atom) -> set[tuple[object, ...]]:
    return {
        row
        for row in rows
        if all(
            not isinstance(arg, Constant) or arg.value == value
            for arg, value in zip(goal.args, row, strict=True)
        )
    }


def check_goal_answered(data: st.DataObject) -> None:
    program = resolved(data.draw(programs()))
    given = data.draw(facts(program))
    relation = derived_relation(data, program)
    rows = answers(program, given)[relation]
    # Mostly a goal that has answers.
    likely = sorted(rows, key=repr)[: data.draw(st.integers(0, 1))]
    values = (
        likely[0]
        if likely
        else [data.draw(st.integers(0, 3))] * len(program.relation(relation).attributes)
    )
    args = tuple(
        Constant(value, None)
        if a.type == "number" and isinstance(value, int) and data.draw(st.booleans())
        else Wildcard()
        for a, value in zip(program.relation(relation).attributes, values, strict=True)
    )
    goal = Atom(relation, args)
    expected = matching(rows, goal)
    inputs = {name for name, rows in given.items() if rows}
    for name, after in changes(program, goal=goal, inputs=inputs):
        found = matching(answers(after, given)[relation], goal)
        assert found == expected, f"{name} changes the answers of {goal}\n{program}\n{after}"


@quick
@given(st.data())
def test_every_pass_keeps_all_relations(data: st.DataObject) -> None:
    check_all_kept(data)


@quick
@given(st.data())
def test_every_pass_keeps_an_output(data: st.DataObject) -> None:
    check_output_kept(data)


@quick
@given(st.data())
def test_every_pass_keeps_the_answers_of_a_goal(data: st.DataObject) -> None:
    check_goal_answered(data)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_all_kept, check_output_kept, check_goal_answered])
def test_every_pass_keeps_the_answers_of_many_programs(check) -> None:
    long(given(st.data())(check))()
