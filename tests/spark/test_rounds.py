"""Rounds over frames give what the embedded engine gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from whence.diagnostics import DataError, LimitError
from whence.engine.base import Limits, Round
from whence.engine.spark.frames import as_spark
from whence.engine.spark.rounds.loop import Options, Rounded, evaluate_rounds
from whence.engine.spark.rounds.supported import why_not
from whence.functor.user import UserFunctors
from whence.session import compile, evaluate
from whence.syntax.souffle import parse

pytestmark = pytest.mark.spark

Tables = dict[str, pa.Table]


def rounded(
    spark: Any, text: str, inputs: Tables, options: Options | None = None, **how: Any
) -> tuple[Rounded, Any]:
    """Return the relations by rounds, and the embedded evaluation."""
    compiled = compile(parse(text), keep_all=True, inputs=inputs, **how)
    functors = options.functors if options else None
    expected = evaluate(compiled, inputs, functors=functors)
    frames = {name: spark.createDataFrame(as_spark(table)) for name, table in inputs.items()}
    names = [d.name for d in compiled.plan.program.relations]
    for stratum in compiled.plan.strata:
        assert why_not(compiled.plan, stratum) is None
    return evaluate_rounds(spark, compiled.plan, frames, names, options), expected


def agree(spark: Any, text: str, inputs: Tables, options: Options | None = None) -> Rounded:
    found, expected = rounded(spark, text, inputs, options)
    for name, frame in found.frames.items():
        if name.startswith("@"):
            continue
        rows = [tuple(map(repr, row)) for row in frame.collect()]
        table = as_spark(expected.table(name))
        wanted = {tuple(map(repr, row.values())) for row in table.to_pylist()}
        assert set(rows) == wanted, name
        assert len(rows) == found.sizes[name] == len(wanted), name
    return found


def pairs(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]})


RING = pairs(*((i, (i + 1) % 9) for i in range(9)), (3, 11), (11, 12))

CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def test_closure_takes_as_many_rounds_as_its_longest_way(spark: Any) -> None:
    found = agree(spark, CLOSURE, {"edge": RING})
    assert found.sizes["path"] == 9 * 11 + 1
    assert found.rounds["path"] == 11
