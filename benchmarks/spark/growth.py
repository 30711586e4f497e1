"""How the cost grows: 1, 2 and 4 partitions at three sizes, with what tasks tell each other."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.cases import BY_NAME
from benchmarks.measured import progress, tell
from benchmarks.spark.sessions import (
    Asked,
    asked,
    embedded,
    frames,
    on_spark,
    per_task,
    program,
    started,
    tables,
    timed,
)

CASES: Final = ("tc_random", "sg", "cspa")
PARTITIONS: Final = (1, 2, 4)
FORCED: Final = {"tc_random": None, "sg": "gang", "cspa": "gang"}


def measure(given: Asked) -> dict[str, Any]:
    """Return the seconds, rounds and bytes of each case, size and number of partitions.

    Four partitions need four slots at once; on fewer cores they share them.
    """
    rows = []
    with started(max(PARTITIONS)) as spark:
        for name in CASES:
            case, text = BY_NAME[name], program(name)
            for size in (case.tiny,) if given.quick else case.sizes:
                facts = tables(case.facts(size))
                there = frames(spark, facts)
                seconds, tuples = _best(
                    lambda f=facts, c=case, t=text: embedded(t, f, c.outputs, given.threads), given
                )
                row: dict[str, Any] = {
                    "case": name,
                    "size": size,
                    "facts": sum(t.num_rows for t in facts.values()),
                    "tuples": tuples,
                    "embedded": seconds,
                    "runs": {},
                    "exact": True,
                }
                for tasks in PARTITIONS:
                    seconds, (found, stats) = _best(
                        lambda there=there, c=case, t=text, n=tasks: on_spark(
                            spark, t, there, c.outputs, strategy=FORCED[c.name], tasks=n
                        ),
                        given,
                    )
                    row["exact"] &= found == tuples
                    row["runs"][str(tasks)] = {"seconds": seconds, "groups": per_task(stats)}
                    progress(f"  {name} {size:,}, {tasks} partitions: {seconds:.2f} s")
                rows.append(row)
                for frame in there.values():
                    frame.unpersist()
    return {"rows": rows}


def _best(do: Any, given: Asked) -> tuple[float, Any]:
    """Return the better of two runs; the first may have to warm up."""
    runs = [timed(do) for _ in range(1 if given.quick else 2)]
    return min(runs, key=lambda run: run[0])


if __name__ == "__main__":
    tell(measure(asked()))
