"""A case on Spark beside the embedded engine, in one run: whole jobs, outputs counted."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import BY_NAME
from benchmarks.measured import progress
from benchmarks.spark.sessions import (
    Asked,
    best_in_turns,
    embedded,
    frames,
    on_spark,
    per_task,
    program,
    size_of,
    started,
    tables,
)


def measure(name: str, given: Asked, strategy: str | None = None) -> dict[str, Any]:
    """Return the best seconds of both engines, and what the tasks did."""
    case = BY_NAME[name]
    text, facts = program(name), tables(case.facts(size_of(case, given.quick)))
    with started(given.threads) as spark:
        there = frames(spark, facts)
        progress(f"{name}, {sum(t.num_rows for t in facts.values()):,} facts")
        best, last = best_in_turns(
            {
                "embedded": lambda: embedded(text, facts, case.outputs, given.threads),
                "tasks": lambda: on_spark(
                    spark, text, there, case.outputs, frames=False, strategy=strategy
                ),
                "spark": lambda: on_spark(spark, text, there, case.outputs, strategy=strategy),
            },
            given.runs,
        )
    tuples, stats = last["spark"]
    return {
        "case": name,
        "facts": sum(t.num_rows for t in facts.values()),
        "tuples": tuples,
        "exact": tuples == last["embedded"] and (given.quick or tuples == case.tuples),
        "seconds": best,
        "strategies": [group.strategy for group in stats.groups],
        "groups": per_task(stats),
    }
