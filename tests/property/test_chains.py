"""Chains on random programs: columns that keep the best give what rounds over all instances give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import long, quick
from property.cases import Case, cases
from property.programs import Features
from property.test_engine_agrees import table, text
from whence import session
from whence.engine.annotated import evaluate_annotated
from whence.engine.naive import evaluate
from whence.plan.build import build_plan
from whence.rewrite.pipeline import run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.semiring.registry import make
from whence.syntax.nodes import Constant, Program
from whence.view.base import Update

FEATURES = Features(subsumption=False, facts=True, floats=True)
CELLS: dict[str, list[Any]] = {
    "tropical": [0.0, 0.5, 1.0, 3.0],
    "viterbi": [0.25, 0.5, 1.0],
    "fuzzy": [0.25, 0.5, 1.0],
    "lukasiewicz": [0.25, 0.5, 0.75, 1.0],
    "access": ["public", "secret", "top-secret"],
}


def cell(semiring: str, fact: object, seed: int) -> Any:
    cells = CELLS[semiring]
    return cells[sum(map(ord, repr(fact))) * (seed + 1) % len(cells)]


def annotated(case: Case, semiring: str, seed: int) -> Program:
    """Declare inputs `@prov`, but for those that the seed leaves out, and annotate their facts."""
    names = {name for i, name in enumerate(sorted(case.facts)) if (seed >> i) & 1 == 0}
    relations = tuple(
        replace(d, provenance="") if d.name in names else d for d in case.program.relations
    )
    rules = tuple(
        replace(
            rule,
            annotation=Constant(cell(semiring, str(rule.heads[0]), seed), None),
        )
        if rule.is_fact and rule.heads[0].relation in names
        else rule
        for rule in case.program.rules
    )
    return replace(case.program, relations=relations, rules=rules)


def inputs_of(case: Case, program: Program, semiring: str, seed: int) -> dict[str, Any]:
    inputs = {}
    for name, rows in case.facts.items():
        inputs[name] = table(program, name, rows)
        if program.relation(name).provenance is not None:
            cells = [cell(semiring, row, seed) for row in sorted(rows, key=repr)]
            inputs[name] = inputs[name].append_column("@prov", [cells])
    return inputs


def by_tuple(found: Any) -> dict[tuple[object, ...], object]:
    *columns, last = found.columns
    rows = zip(*(c.to_pylist() for c in columns), strict=True) if columns else [()] * len(last)
    listed = list(rows)
    assert len(set(listed)) == len(listed)
    return dict(zip(listed, last.to_pylist(), strict=True))


def check_chain(case: Case, name: str, seed: int) -> None:
    semiring = make(name)
    program = annotated(case, name, seed)
    inputs = inputs_of(case, program, name, seed)
    whole = replace(
        program,
        relations=tuple(replace(d, provenance=d.provenance or "") for d in program.relations),
    )
    shown = {d.name for d in program.relations}
    compiled = session.compile(program, keep_all=True, semiring=semiring)
    found = session.evaluate(compiled, inputs)
    carriers = compiled.shape.carriers or frozenset()
    # The definition, on the program with columns.
    rows = {}
    for relation, facts in case.facts.items():
        rows[relation] = set(facts)
        if relation in carriers:
            rows[relation] = {(*row, float(semiring.read(cell(name, row, seed)))) for row in facts}
    judged = evaluate(dict(compiled.passes)["annotate"], rows)
    for relation in shown:
        expected = {tuple(map(text, row)) for row in judged[relation]}
        inner = found.inner.table(relation)  # type: ignore[attr-defined]
        given = list(zip(*(c.to_pylist() for c in inner.columns), strict=True))
        if inner.num_columns:
            assert set(given) == expected, relation
        assert found.size(relation) == len(expected)
    # All instances of all rules, solved.
    steps = run_passes(
        resolve_types(replace(compiled.source, relations=whole.relations)),
        keep_all=True,
        derivations=True,
    )
    solved = evaluate_annotated(build_plan(steps[-1][1]), inputs, semiring)
    shape = replace(compiled.shape, program=session.compile(whole, semiring=semiring).source)
    for relation in shown:
        mine = shape.shown(relation, found.inner.table(relation))  # type: ignore[attr-defined]
        assert by_tuple(mine) == by_tuple(solved.table(relation)), relation


@quick
@given(cases(FEATURES), st.sampled_from(sorted(CELLS)), st.integers(0, 31))
def test_chains_agree_with_the_definition_and_with_solving_all_instances(
    case: Case, name: str, seed: int
) -> None:
    check_chain(case, name, seed)


@pytest.mark.slow
@long
@given(cases(FEATURES), st.sampled_from(sorted(CELLS)), st.integers(0, 31))
def test_chains_agree_on_many_programs(case: Case, name: str, seed: int) -> None:
    check_chain(case, name, seed)


def check_view(case: Case, name: str, seed: int, data: st.DataObject) -> None:
    program = annotated(case, name, seed)
    inputs = inputs_of(case, program, name, seed)
    view = session.maintain(program, inputs, semiring=name)
    for _ in range(2):
        batch = {}
        for relation, whole in list(inputs.items()):
            if not whole.num_columns:
                continue
            keep = data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)))
            went = whole.filter([not k for k in keep])
            came = whole.slice(0, 1)
            if program.relation(relation).provenance is not None and len(came):
                last = data.draw(st.sampled_from(CELLS[name]))
                came = came.set_column(whole.num_columns - 1, "@prov", [[last]])
            batch[relation] = Update(came, went)
        view.apply(batch)
        inputs = {relation: view.base(relation) for relation in inputs}
        without = replace(
            program,
            rules=tuple(
                r for r in program.rules if not (r.is_fact and r.heads[0].relation in inputs)
            ),
        )
        fresh = session.evaluate(without, inputs, semiring=name)
        for decl in program.relations:
            mine, other = view.table(decl.name), fresh.table(decl.name)
            assert set(map(str, mine.to_pylist())) == set(map(str, other.to_pylist())), decl.name


@quick
@given(cases(replace(FEATURES, facts=False)), st.sampled_from(sorted(CELLS)), st.data())
def test_views_of_chains_agree_with_evaluation(case: Case, name: str, data: st.DataObject) -> None:
    check_view(case, name, data.draw(st.integers(0, 31)), data)


@pytest.mark.slow
@long
@given(cases(replace(FEATURES, facts=False)), st.sampled_from(sorted(CELLS)), st.data())
def test_views_of_chains_agree_on_many_programs(case: Case, name: str, data: st.DataObject) -> None:
    check_view(case, name, data.draw(st.integers(0, 31)), data)
