"""The embedded engine gives what the definition gives."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from hypothesis import given, settings
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
from property.programs import Features
from whence.engine.base import Evaluation
from whence.session import compile, evaluate
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse

ALL = Features(floats=True)
TYPES = {"number": pa.int64(), "float": pa.float64(), "symbol": pa.string(), "Pair": pa.string()}


def text(value: object) -> object:
    """Return a value as tables show it: records are written out."""
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{', '.join(str(text(item)) for item in value)}]"
        case _:
            return value


def table(program: Program, name: str, rows: set[tuple[object, ...]]) -> pa.Table:
    attributes = program.relation(name).attributes
    ordered = sorted(rows, key=repr)
    return pa.table(
        {
            a.name: pa.array([text(row[i]) for row in ordered], TYPES[a.type])
            for i, a in enumerate(attributes)
        }
    )


def check_engine(case: Case) -> None:
    program = case.program
    expected = answers(resolved(program), case.facts)
    inputs = {name: table(program, name, rows) for name, rows in case.facts.items()}
    evaluation = evaluate(compile(program, keep_all=True), inputs)
    for name, rows in expected.items():
        assert rows_of(evaluation, name) == {tuple(map(text, row)) for row in rows}, name


@quick
@given(cases(ALL))
def test_the_embedded_engine_agrees_with_the_definition(case: Case) -> None:
    check_engine(case)


def rows_of(evaluation: Evaluation, name: str) -> set[tuple[object, ...]]:
    return set(zip(*evaluation.table(name).to_pydict().values(), strict=True))


def check_goal(case: Case, data: st.DataObject) -> None:
    program = case.program
    relation = derived_relation(data, program)
    rows = answers(resolved(program), case.facts)[relation]
    goal = goal_of(data, program, relation, rows)
    inputs = {name: table(program, name, rows) for name, rows in case.facts.items()}
    compiled = compile(program, goal=goal, inputs=inputs)
    found = matching(rows_of(evaluate(compiled, inputs), relation), goal)
    assert found == {tuple(map(text, row)) for row in matching(rows, goal)}


@quick
@given(cases(ALL), st.data())
def test_the_embedded_engine_answers_goals(case: Case, data: st.DataObject) -> None:
    check_goal(case, data)


@pytest.mark.slow
@settings(long, max_examples=int(os.environ.get("WHENCE_EXAMPLES", "120")))
@given(cases(ALL), st.data())
def test_the_embedded_engine_answers_many_goals(case: Case, data: st.DataObject) -> None:
    check_goal(case, data)


@pytest.mark.slow
@long
@given(cases(ALL))
def test_the_embedded_engine_agrees_with_the_definition_on_many_programs(case: Case) -> None:
    check_engine(case)


COSTS = """
.decl e(x: number, y: number, c: number, d: number)
.decl s(x: number)
.decl near(x: number, c: number) btree_delete
near(x, 0) :- s(x).
near(y, c + w) :- near(x, c), e(x, y, w, _).
near(x, c) <= near(x, b) :- b < c.
.decl good(x: number, c: number, d: number) btree_delete
good(x, 0, 0) :- s(x).
good(y, c + v, d + w) :- good(x, c, d), e(x, y, v, w).
good(x, a, b) <= good(x, c, d) :- c <= a, d <= b.
.decl wide(x: number, y: number, c: number) btree_delete
wide(x, y, c) :- e(x, y, c, _).
wide(x, z, min(c, d)) :- wide(x, y, c), wide(y, z, d).
wide(x, y, c) <= wide(x, y, d) :- c < d.
"""
NODE = st.integers(0, 4)


@quick
@given(st.sets(st.tuples(NODE, NODE, NODE, NODE), max_size=8), st.sets(st.tuples(NODE)))
def test_recursion_through_subsumption_agrees_with_the_definition(edges, starts) -> None:
    check_engine(Case(parse(COSTS), {"e": edges, "s": starts}))
