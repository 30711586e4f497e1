"""The embedded engine gives what the definition gives."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from property.agreement import answers, long, quick, resolved
from property.programs import Case, Features, cases
from whence.session import compile, evaluate
from whence.syntax.nodes import Program

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
        columns = evaluation.table(name).to_pydict().values()
        found = set(zip(*columns, strict=True))
        assert found == {tuple(map(text, row)) for row in rows}, name


@quick
@given(cases(ALL))
def test_the_embedded_engine_agrees_with_the_definition(case: Case) -> None:
    check_engine(case)


@pytest.mark.slow
@long
@given(cases(ALL))
def test_the_embedded_engine_agrees_with_the_definition_on_many_programs(case: Case) -> None:
    check_engine(case)
