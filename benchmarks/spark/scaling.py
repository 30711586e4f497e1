"""A recursion with exchange on one partition and on two, at a size that takes some seconds."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.cases import BY_NAME
from benchmarks.measured import progress, tell
from benchmarks.spark.sessions import (
    Asked,
    asked,
    frames,
    on_spark,
    per_task,
    program,
    started,
    tables,
    timed,
)

SIZES: Final = (60_000, 100_000, 150_000)
"""Variables of the pointer analysis; the first size whose fixpoint is long enough counts."""
LONG: Final = 5.0


def fixpoint_seconds(stats: Any) -> float:
    """Return how long the slowest task of the longest group worked."""
    return max(max((t.seconds for t in g.tasks), default=0.0) for g in stats.groups)


def measure(given: Asked) -> dict[str, Any]:
    """Return the seconds of whole jobs and of fixpoints on one and on two partitions."""
    case = BY_NAME["cspa"]
    text = program("cspa")
    rows: list[dict[str, Any]] = []
    with started(2) as spark:
        for size in (case.tiny,) if given.quick else SIZES:
            there = frames(spark, tables(case.facts(size)))
            row: dict[str, Any] = {"size": size, "runs": {}}
            for tasks in (1, 2):
                best: dict[str, Any] | None = None
                for _ in range(1 if given.quick else 2):
                    seconds, (tuples, stats) = timed(
                        lambda there=there, tasks=tasks: on_spark(
                            spark, text, there, case.outputs, strategy="gang", tasks=tasks
                        )
                    )
                    fixpoint = fixpoint_seconds(stats)
                    progress(f"  {size:,}, {tasks} partitions: {seconds:.2f} s, {fixpoint:.2f} s")
                    if best is None or seconds < best["seconds"]:
                        best = {
                            "seconds": seconds,
                            "fixpoint": fixpoint,
                            "tuples": tuples,
                            "groups": per_task(stats),
                        }
                row["runs"][str(tasks)] = best
            rows.append(row)
            for frame in there.values():
                frame.unpersist()
            if row["runs"]["1"]["fixpoint"] >= LONG:
                break
    return {"long": LONG, "rows": rows}


if __name__ == "__main__":
    tell(measure(asked()))
