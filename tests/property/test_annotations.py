"""Annotated evaluation gives the sum over all derivation trees, in every semiring."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import long, quick, resolved
from property.cases import Case, cases
from property.programs import Features
from property.test_engine_agrees import table, text
from whence.diagnostics import LimitError, ProgramError, WhenceError
from whence.engine.annotated import AnnotatedEvaluation, evaluate_annotated
from whence.engine.derivations import (
    Derivations,
    Fact,
    Infinite,
    TooManyTrees,
    annotate,
    derivations,
)
from whence.plan.build import build_plan
from whence.rewrite.pipeline import run_passes
from whence.semiring.absorption import Absorption
from whence.semiring.base import Semiring
from whence.semiring.boolean import Boolean
from whence.semiring.counting import Counting, CountingInf
from whence.semiring.how import How
from whence.semiring.lukasiewicz import Lukasiewicz
from whence.semiring.product import Product
from whence.semiring.topk import TopK, TopKDistinct
from whence.semiring.tropical import Tropical
from whence.semiring.visits import Visits
from whence.semiring.which import Which
from whence.semiring.why import MinWhy, Why
from whence.syntax.nodes import Program

FEATURES = Features(subsumption=False, facts=True, floats=True)
EVERY: tuple[Callable[[], Semiring[Any]], ...] = (
    partial(How, 500),
    partial(Why, 500),
    partial(MinWhy, 500),
    Which,
    Absorption,
    Counting,
    CountingInf,
    Boolean,
    Tropical,
    partial(TopK, 2),
    partial(TopKDistinct, 2),
    Visits,
    lambda: Product(Tropical(), Visits()),
    Lukasiewicz,
)
Annotated = dict[tuple[object, ...], Any]


class Judge:
    """A case with numbers to annotate its base facts with; its derivations by the definition."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case = case
        self.seed = seed
        self.program = resolved(case.program)
        self._known: dict[object, Derivations] = {}

    def derive(self, program: Program, given: Any, *, without: frozenset[Fact]) -> Derivations:
        """Remember derivations: they are what takes most time, and seldom differ."""
        key = (frozenset((n, r) for n, rows in given.items() for r in rows), without)
        if key not in self._known:
            self._known[key] = derivations(program, given, without=without)
        return self._known[key]

    def cell(self, fact: Fact, semiring: Semiring[Any]) -> Any:
        if type(semiring).variable is not Semiring.variable:
            return None
        number = sum(map(ord, repr(fact))) * self.seed % 4 if self.seed else 1
        if semiring.name == "lukasiewicz":
            return (3 + number % 2) / 4 if number else 0.25
        number = min(number, 1) if semiring.name == "boolean" else number
        return f"{number} {3 - number}" if isinstance(semiring, Product) else number

    def expected(self, semiring: Semiring[Any], most: int = 5000) -> dict[str, Annotated]:
        given = [
            ((name, row), self.cell((name, row), semiring))
            for name, rows in self.case.facts.items()
            for row in rows
        ]
        values = annotate(self.program, given, semiring, derive=self.derive, most=most)
        found: dict[str, Annotated] = {d.name: {} for d in self.program.relations}
        for (name, row), value in values.items():
            found[name][tuple(map(text, row))] = value
        return found

    def evaluated(self, semiring: Semiring[Any]) -> dict[str, Annotated]:
        program = self.case.program
        inputs = {}
        for name, rows in self.case.facts.items():
            cells = [self.cell((name, row), semiring) for row in sorted(rows, key=repr)]
            inputs[name] = table(program, name, rows)
            if any(cell is not None for cell in cells):
                inputs[name] = inputs[name].append_column("@prov", [cells])
        rewritten = run_passes(self.program, keep_all=True, derivations=True)[-1][1]
        evaluation = evaluate_annotated(build_plan(rewritten), inputs, semiring)
        return {decl.name: annotations(evaluation, decl.name) for decl in program.relations}


def annotations(evaluation: AnnotatedEvaluation[Any], name: str) -> Annotated:
    found = evaluation.table(name)
    columns = found.select(range(found.num_columns - 1)).to_pydict().values()
    values = evaluation.annotations(name)
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(values)
    assert len(set(rows)) == len(rows) == len(values) == evaluation.size(name)
    return dict(zip(rows, values, strict=True))


def check_sums(case: Case, seed: int, made: Iterable[Callable[[], Semiring[Any]]]) -> None:
    judge = Judge(case, seed)
    for semiring in (make() for make in made):
        try:
            expected = judge.expected(semiring)
        except (TooManyTrees, LimitError):
            continue
        except Infinite:
            with pytest.raises(WhenceError, match=r"W093[01]"):
                judge.evaluated(semiring)
            continue
        try:
            found = judge.evaluated(semiring)
        except LimitError:  # the order of sums decides when there are too many terms
            continue
        except ProgramError as error:  # refused before it is known whether there is any fact
            if {d.code for d in error.diagnostics} == {"W0930"}:
                continue
            raise
        for name, values in expected.items():
            assert found[name] == values, (semiring.name, name)


@quick
@given(cases(FEATURES), st.integers(0, 5), st.lists(st.sampled_from(EVERY), min_size=1, max_size=3))
def test_annotations_are_sums_over_derivation_trees(case: Case, seed: int, made: Any) -> None:
    check_sums(case, seed, made)


@pytest.mark.slow
@long
@given(cases(FEATURES), st.integers(0, 5))
def test_annotations_are_sums_over_derivation_trees_of_many_programs(case: Case, seed: int) -> None:
    check_sums(case, seed, EVERY)
