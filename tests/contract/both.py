"""Every evaluation of the embedded engine, done on Spark as well and compared.

A module of tests that imports `both_engines` runs as it stands; whatever it evaluates, Spark must
give the same relations, or refuse with the same diagnostic.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

import whence.engine.annotated
from contract.gaps import NOT_REPEATED
from whence.diagnostics import WhenceError
from whence.engine.base import Evaluation
from whence.engine.local.engine import LocalEngine
from whence.engine.spark.engine import SparkEngine
from whence.engine.spark.model import Strategy

_SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps how often a test is tried."""

AT_MOST = int(os.environ.get("WHENCE_SPARK_EXAMPLES", "12"))
"""Evaluations of one test that Spark repeats: a random test has hundreds, and a job takes a while."""


def outcome(evaluate: Callable[[], Evaluation]) -> Evaluation | tuple[str, tuple[str, ...]]:
    """Return what an evaluation gives: relations, or the kind of error with its codes."""
    try:
        return evaluate()
    except WhenceError as error:
        if error.diagnostics[0].code == "W1025":  # a failure of Spark's is nobody's answer
            raise
        return type(error).__name__, tuple(found.code for found in error.diagnostics)


def rows(table: pa.Table) -> list[str]:
    """Return the rows of a table in a form in which any two can be compared, NaN too."""
    if not table.num_columns:
        return ["()"] * table.num_rows
    columns = [column.to_pylist() for column in table.columns]
    return sorted(map(repr, zip(*columns, strict=True)))


def assert_same(expected: Evaluation, found: Evaluation, names: list[str]) -> None:
    """Compare relations, but for those of which either engine may leave rows out."""
    for name in names:
        if name in expected.selected | found.selected:
            continue
        assert found.size(name) == expected.size(name), name
        one, other = expected.table(name), found.table(name)
        assert other.schema.types == one.schema.types, name
        assert other.column_names == one.column_names, name
        if one.num_rows > 20_000:
            keys = [(column, "ascending") for column in one.column_names]
            assert one.sort_by(keys).combine_chunks() == other.sort_by(keys).combine_chunks(), name
        else:
            assert rows(other) == rows(one), name


def agree(
    spark: Any,
    plan: Any,
    inputs: Mapping[str, pa.Table],
    expected: Evaluation | tuple[str, tuple[str, ...]],
    *,
    functors: Any = None,
    limits: Any = None,
    strategy: Strategy | None = None,
    tasks: int | None = None,
) -> None:
    """Evaluate a plan on Spark, and compare with what the embedded engine gave."""
    options = {} if limits is None else {"limits": limits}
    engine = SparkEngine(spark, functors=functors, strategy=strategy, tasks=tasks)
    found = outcome(lambda: engine.evaluate(plan, inputs, **options))
    if isinstance(expected, tuple) or isinstance(found, tuple):
        assert found == expected, (found, expected)
        return
    with found:  # type: ignore[attr-defined]
        names = [d.name for d in plan.program.relations if not d.name.startswith("@")]
        assert_same(expected, found, names)


@pytest.fixture(autouse=True, scope="module")
def both_engines(spark: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Let Spark repeat what the embedded engine evaluates in the tests of this module."""
    patch = pytest.MonkeyPatch()
    for test in vars(request.module).values():
        tried = getattr(test, _SETTINGS, None)
        if isinstance(tried, settings) and tried.max_examples > AT_MOST:
            patch.setattr(test, _SETTINGS, settings(tried, max_examples=AT_MOST))
    local, annotated = LocalEngine.evaluate, whence.engine.annotated.evaluate_annotated

    def evaluate(self: LocalEngine, plan: Any, inputs: Any, **options: Any) -> Any:
        expected = outcome(lambda: local(self, plan, inputs, **options))
        if counting.next():
            limits = options.get("limits")
            agree(spark, plan, inputs, expected, functors=self._functors, limits=limits)
        return local(self, plan, inputs, **options) if isinstance(expected, tuple) else expected

    def evaluate_annotated(plan: Any, inputs: Any, semiring: Any, **options: Any) -> Any:
        expected = outcome(lambda: annotated(plan, inputs, semiring, **options))
        if counting.next():
            own = type(semiring).__module__.startswith("whence.")
            functors = options.pop("functors", None)
            engine = SparkEngine(spark, functors=functors)
            found = outcome(
                lambda: engine.evaluate_annotated(
                    plan, inputs, semiring, name=semiring.name if own else None, **options
                )
            )
            if isinstance(expected, tuple) or isinstance(found, tuple):
                assert found == expected
            else:
                with found:  # type: ignore[attr-defined]
                    assert_same(expected, found, list(found.results))  # type: ignore[attr-defined]
            options["functors"] = functors
        if isinstance(expected, tuple):
            return annotated(plan, inputs, semiring, **options)
        return expected

    patch.setattr(LocalEngine, "evaluate", evaluate)
    for module in list(sys.modules.values()):  # tests have it by name
        if getattr(module, "evaluate_annotated", None) is annotated:
            patch.setattr(module, "evaluate_annotated", evaluate_annotated)
    yield
    patch.undo()


class Counting:
    """Counts the evaluations of the test that is running."""

    def __init__(self) -> None:
        self.test, self.count = "", 0

    def next(self) -> bool:
        """Say whether Spark is to repeat the next one."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
        if test.split("::")[-1].split("[")[0] in NOT_REPEATED:
            return False
        self.count = self.count + 1 if test == self.test else 1
        self.test = test
        return self.count <= AT_MOST


counting = Counting()
