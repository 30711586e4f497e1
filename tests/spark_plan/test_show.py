"""Spark plans as people read them, and as programs do."""

from __future__ import annotations

import json

from spark_plan.agreement import cut_text
from spark_plan.test_strategies import LEFT, SAME_GENERATION
from whence.engine.spark.cut.show import show_spark_plan, spark_plan_as_json
from whence.engine.spark.model import Strategy


def test_a_plan_says_what_is_read_derived_shipped_and_written() -> None:
    assert show_spark_plan(cut_text(SAME_GENERATION)).splitlines() == [
        "group 0: sg (gang)",
        "  why: no column is carried through the recursion of `sg`: `sg` goes to the owners of `x`",
        "  read parent@0 by `c`",
        "  read parent@all at every task",
        "  sg@out(x, y) :- parent@0(x, p), parent@all(y, p), x != y.",
        "  sg@out(x, y) :- parent@all(x, a), sg@0(a, b), parent@all(y, b).",
        "  ship sg@out to where it is wanted: by `x`",
        "  write sg@0 by `x`",
    ]


def test_programs_read_the_same_as_json() -> None:
    (group,) = json.loads(json.dumps(spark_plan_as_json(cut_text(LEFT))))
    assert group["strategy"] == "decomposed"
    assert group["reads"] == [
        {"copy": "edge@0", "relation": "edge", "at": "owner", "column": 0},
        {"copy": "edge@all", "relation": "edge", "at": "all"},
    ]
    assert group["writes"] == [{"copy": "path@0", "relation": "path", "at": "owner", "column": 0}]
    (group,) = spark_plan_as_json(cut_text(SAME_GENERATION))
    assert [ship["outbox"] for ship in group["ships"]] == ["sg@out"]  # type: ignore[attr-defined]


def test_relations_of_rounds_are_frames() -> None:
    shown = show_spark_plan(cut_text(LEFT, forced=Strategy.ROUNDS))
    assert "  read edge as a frame" in shown.splitlines()


def test_nothing_to_derive_is_no_job() -> None:
    assert show_spark_plan(cut_text(".decl a(x: number)\n.input a")) == (
        "nothing is derived: no Spark job"
    )
