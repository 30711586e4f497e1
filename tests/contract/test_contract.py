"""One contract for both engines: every case gives the same, whoever evaluates it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from contract.both import agree, assert_same, outcome, rows
from contract.cases import CASES, Case
from contract.gaps import GAPS
from property.agreement import answers, resolved
from property.test_engine_agrees import text
from whence.compiled import Compiled
from whence.engine.annotated import evaluate_annotated
from whence.engine.local.engine import LocalEngine
from whence.engine.spark.engine import SparkEngine
from whence.engine.spark.model import Strategy
from whence.facts.schema import arrow_type, columns_of
from whence.functor.user import UserFunctors
from whence.session import compile, parse


def param(case: Case, way: str) -> Any:
    reason = GAPS.get((case.name, way))
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(case, id=case.name, marks=marks)


def cases(way: str, *, judged: bool = False) -> Any:
    chosen = [c for c in CASES if not judged or (c.judged and c.code is None)]
    return pytest.mark.parametrize("case", [param(case, way) for case in chosen])


@cache
def compiled(name: str) -> Compiled:
    case = next(c for c in CASES if c.name == name)
    return compile(
        parse(case.text), keep_all=True, inputs=tuple(case.facts), semiring=case.semiring
    )


def inputs(case: Case) -> dict[str, pa.Table]:
    """Return the facts as tables that engines take."""
    found = {}
    made = compiled(case.name)
    for name, facts in case.facts.items():
        columns = columns_of(made.source, name)
        width = len(facts[0]) if facts else len(columns)
        arrays = [
            pa.array([row[i] for row in facts], arrow_type(column.kind))
            for i, column in enumerate(columns[:width])
        ]
        table = pa.table(arrays, names=[column.name for column in columns[:width]])
        found[name] = made.taken(name, table)
    return found


def functors(case: Case) -> UserFunctors:
    registry = UserFunctors()
    for name, function in case.functors.items():
        registry = registry.add(name, function)
    return registry


def is_chain(case: Case) -> bool:
    semiring = compiled(case.name).semiring
    return semiring is None or semiring.chain is not None


def local(case: Case) -> Any:
    """What the embedded engine gives, or the error it ends with."""
    made = compiled(case.name)
    if is_chain(case):
        engine = LocalEngine(functors=functors(case))
        return outcome(lambda: engine.evaluate(made.plan, inputs(case)))
    return outcome(
        lambda: evaluate_annotated(made.plan, inputs(case), made.semiring, functors=functors(case))
    )


@cases("local", judged=True)
def test_the_embedded_engine_gives_what_the_definition_gives(case: Case) -> None:
    made = compiled(case.name)
    expected = answers(resolved(made.source), {n: set(f) for n, f in _values(case).items()})
    found = local(case)
    kept = {d.name for d in made.source.relations if "inline" not in d.qualifiers}
    for name in expected.keys() & kept:
        shown = sorted({repr(tuple(map(text, row))) for row in expected[name]})  # one NaN
        assert rows(found.table(name)) == shown, name
        assert found.size(name) == len(shown), name


def _values(case: Case) -> dict[str, list[tuple[Any, ...]]]:
    """Return the facts with records as the definition has them."""
    made = compiled(case.name)
    found = {}
    for name, facts in case.facts.items():
        types = [a.type for a in made.source.relation(name).attributes]
        found[name] = [
            tuple(
                _record(v) if isinstance(v, str) and t not in ("symbol",) else _float(v)
                for v, t in zip(row, types, strict=True)
            )
            for row in facts
        ]
    return found


def _float(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value


def _record(written: str) -> Any:
    return eval(written.replace("nil", "None").replace("[", "(").replace("]", ",)"))


@pytest.mark.spark
@cases("spark")
def test_spark_gives_what_the_embedded_engine_gives(case: Case, spark: Any) -> None:
    expected, made = local(case), compiled(case.name)
    assert isinstance(expected, tuple) == (case.code is not None)
    if case.code is not None:
        assert expected[1] == (case.code,)
    if is_chain(case):
        agree(spark, made.plan, inputs(case), expected, functors=functors(case))
        return
    assert made.semiring is not None
    found = outcome(
        lambda: SparkEngine(spark).evaluate_annotated(
            made.plan, inputs(case), made.semiring, name=made.semiring_name
        )
    )
    if isinstance(expected, tuple) or isinstance(found, tuple):
        assert found == expected
        return
    with found:
        assert_same(expected, found, list(found.results))


def forced(strategy: str) -> Any:
    return pytest.mark.parametrize(
        "case", [param(c, strategy) for c in CASES if c.semiring is None or _chained(c)]
    )


def _chained(case: Case) -> bool:
    return case.name.startswith(("best_ways_in_", "annotations_"))


@pytest.mark.spark
@pytest.mark.slow
@forced("gang")
def test_gangs_give_what_the_embedded_engine_gives(case: Case, spark: Any) -> None:
    plan, expected = compiled(case.name).plan, local(case)
    agree(
        spark,
        plan,
        inputs(case),
        expected,
        functors=functors(case),
        strategy=Strategy.GANG,
    )


@pytest.mark.spark
@pytest.mark.slow
@forced("rounds")
def test_rounds_give_what_the_embedded_engine_gives(case: Case, spark: Any) -> None:
    plan, expected = compiled(case.name).plan, local(case)
    agree(
        spark,
        plan,
        inputs(case),
        expected,
        functors=functors(case),
        strategy=Strategy.ROUNDS,
    )


def test_gaps_name_cases_and_ways_that_there_are() -> None:
    names = {case.name for case in CASES}
    assert len(names) == len(CASES)
    assert {name for name, _ in GAPS} <= names
    assert {way for _, way in GAPS} <= {"local", "spark", "gang", "rounds"}
