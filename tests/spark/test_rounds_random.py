"""Random programs by rounds give what the embedded engine gives; what rounds refuse has a reason."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from property.best_values import best_values
from property.cases import Case, cases
from property.programs import Features
from property.test_engine_agrees import table
from whence.engine.spark.frames import as_spark
from whence.engine.spark.rounds.loop import evaluate_rounds
from whence.engine.spark.rounds.supported import why_not
from whence.session import compile, evaluate
from whence.syntax.souffle import parse

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXAMPLES = max(1, int(os.environ.get("WHENCE_EXAMPLES", "500")) // 50)
few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[*HealthCheck],
)
BEST = ".decl e(x: number, y: number) .decl v(x: number)\n"


def check_rounds(spark: Any, case: Case) -> bool:
    """Compare, and say whether rounds could run it."""
    compiled = compile(case.program, keep_all=True)
    if any(why_not(compiled.plan, stratum) for stratum in compiled.plan.strata):
        return False
    inputs = {name: table(case.program, name, rows) for name, rows in case.facts.items()}
    expected = evaluate(compiled, inputs)
    frames = {name: spark.createDataFrame(as_spark(found)) for name, found in inputs.items()}
    names = [d.name for d in case.program.relations]
    found = evaluate_rounds(spark, compiled.plan, frames, names)
    for name in names:
        wanted = {tuple(row.values()) for row in as_spark(expected.table(name)).to_pylist()}
        rows = [tuple(row) for row in found.frames[name].collect()]
        assert set(rows) == wanted, name
        assert len(rows) == len(wanted) == found.sizes[name], name
    return True


@few
@given(case=cases(Features(floats=True, unsigned=False)))
def test_random_programs_agree(spark: Any, case: Case) -> None:
    check_rounds(spark, case)


@few
@given(data=st.data())
def test_random_best_values_agree(spark: Any, data: st.DataObject) -> None:
    types, rules = data.draw(best_values("b"))
    columns = ", ".join(f"c{i}: {t}" for i, t in enumerate(types))
    program = parse(f"{BEST}.decl b({columns}) btree_delete\n{rules}")
    node = st.integers(0, 3)
    facts = {
        "e": data.draw(st.sets(st.tuples(node, node), min_size=1, max_size=8)),
        "v": data.draw(st.sets(st.tuples(node), min_size=1, max_size=4)),
    }
    assert check_rounds(spark, Case(program, facts))
