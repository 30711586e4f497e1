"""Grounding and the passes before it keep every derivation, and support is the plain evaluation."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from property.agreement import answers, long, quick, resolved
from property.cases import Case, cases
from property.programs import Features
from property.test_annotations import FEATURES, Judge
from property.test_engine_agrees import table, text
from whence.engine.base import Limits
from whence.engine.derivations import Derivations, derivations
from whence.engine.local.engine import LocalEngine
from whence.engine.local.ground import ground
from whence.engine.local.guard import Guard
from whence.plan.build import build_plan
from whence.rewrite.pipeline import run_passes
from whence.semiring.which import Which
from whence.syntax.tuples import tuple_text


def described(found: Derivations) -> Counter[tuple[str, ...]]:
    """The instances between relations of the program, whatever their rules are numbered."""
    return Counter(
        (tuple_text(*i.head), *sorted(tuple_text(*p) for p in i.premises))
        for i in found.instances
        if not i.head[0].startswith("@")
    )


@quick
@given(cases(Features(facts=True, floats=True)))
def test_grounding_finds_the_instances_of_the_definition(case: Case) -> None:
    program = run_passes(resolved(case.program), keep_all=True, derivations=True)[-1][1]
    inputs = {name: table(case.program, name, rows) for name, rows in case.facts.items()}
    plan = build_plan(program)
    evaluation = LocalEngine().evaluate(plan, inputs)
    found = ground(evaluation, plan, Guard(Limits()))

    def fact(node: int) -> str:
        name, row = found.fact(node)
        codes = evaluation.relations[name].rows[row].tolist()
        return tuple_text(name, evaluation.codec.row(name, codes))

    graph = found.graph
    shown = Counter(
        (
            fact(graph.heads[i]),
            *sorted(map(fact, graph.premises[graph.start[i] : graph.start[i + 1]])),
        )
        for i in range(graph.instances)
    )
    assert shown == described(derivations(program, case.facts))


def check_passes(case: Case, *, every: bool) -> None:
    program = resolved(case.program)
    expected = derivations(program, case.facts)
    steps = run_passes(program, keep_all=True, inputs=set(case.facts), derivations=True)
    for name, after in steps if every else steps[-1:]:
        found = derivations(after, case.facts)
        assert described(found) == described(expected), name
        stated = Counter(fact for fact, _ in found.stated)
        assert stated == Counter(fact for fact, _ in expected.stated), name


@quick
@given(cases(Features(subsumption=False, facts=True)))
def test_passes_that_keep_derivations_keep_every_instance(case: Case) -> None:
    check_passes(case, every=False)


@pytest.mark.slow
@long
@given(cases(Features(subsumption=False, facts=True)))
def test_every_pass_that_keeps_derivations_keeps_every_instance(case: Case) -> None:
    check_passes(case, every=True)


@quick
@given(cases(FEATURES))
def test_support_is_the_plain_evaluation(case: Case) -> None:
    found = Judge(case, 0).evaluated(Which())
    for name, rows in answers(resolved(case.program), case.facts).items():
        assert found[name].keys() == {tuple(map(text, row)) for row in rows}
