"""A driver on a small cluster: traced jobs of which an executor is killed, or a task is slow.

Run with a folder, a master, settings in JSON and the kind of disturbance: prints what rows came
from, with and without it, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from lineage.capture.captured import edges, inputs_of
from lineage.capture.test_mishaps import repeated
from spark.cluster.killing import attempts, killing, pass_gate
from whence.engine.spark.session import session
from whence.lineage.capture.tracer import Tracer, trace

ROWS, GROUPS, SLOW = 400, 5, 1
WAYS = {"whole": 1.0, "sampled": 0.1}


def as_it_is(values: pd.Series) -> pd.Series:
    return values


def at_gate(folder: Path) -> Callable[[pd.Series], pd.Series]:
    """Return a function whose task of one partition waits to be killed with its executor."""
    gate = str(folder)

    def wait(values: pd.Series) -> pd.Series:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == SLOW:
            pass_gate(gate)
        return values

    return wait


def at_leisure(folder: Path) -> Callable[[pd.Series], pd.Series]:
    """Return a function whose task of one partition is slow until it was begun again, in a race."""
    again = folder / "again"

    def wait(values: pd.Series) -> pd.Series:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == SLOW:
            if task.attemptNumber() > 0:
                again.touch()
            end = time.monotonic() + 300
            while not again.exists() and time.monotonic() < end:
                time.sleep(0.05)
        return values

    return wait


def counted(tracer: Tracer, stage: str, waiting: Any) -> list[Any]:
    """Count rows of groups; the function waits below or above the shuffle."""
    from pyspark.sql import functions as F
    from pyspark.sql.functions import pandas_udf

    wait = pandas_udf(waiting, "long")
    rows = tracer.frame(tracer.spark.range(ROWS, numPartitions=4), "in", key="id")
    given = wait("id") if stage == "map" else F.col("id")
    groups = rows.select((given % GROUPS).alias("k")).groupBy("k").count()
    return groups.select(wait("k") if stage == "reduce" else "k", "count").collect()


def told(tracer: Tracer, rows: list[Any]) -> dict[str, Any]:
    """Return what each group came from, and what was told more than once."""
    found = edges(tracer)
    reached = inputs_of(found, {"in"})
    names = sorted(name for name in reached if name[0].endswith("/row"))
    assert len(names) == len(rows)
    of_row = {
        row[0]: [row[1], sorted(number for _, number in reached[name])]
        for row, name in zip(rows, names, strict=True)
    }
    return {"rows": of_row, "repeated": len(repeated(found)), "edges": len(found)}


def main(folder: Path, master: str, conf: dict[str, str], kind: str) -> None:
    spark = session(master, **conf)
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000000")
    found: dict[str, Any] = {}
    for stage in ("map", "reduce"):
        for way, share in WAYS.items():
            name = f"{kind}-{stage}-{way}"
            gate = folder / name
            gate.mkdir()

            def run(job: str, waiting: Any, share: float = share, stage: str = stage) -> Any:
                made = trace(spark, workflow="w", job=job, log=folder / "log", sample=share)
                assert isinstance(made, Tracer)
                return told(made, counted(made, stage, waiting))

            calm = run(f"{name}-calm", as_it_is)
            killed = kind == "killed"
            waiting = at_gate(gate) if killed else at_leisure(gate)
            with killing(spark, gate) if killed else nullcontext() as kill:
                found[f"{stage} {way}"] = {"calm": calm, "disturbed": run(name, waiting)}
            if kill is not None:
                seen = attempts(spark, kill.stages)
                again = not kill.fault and any(a > 0 or f > 0 for a, f in seen.values())
            else:
                again = (gate / "again").exists()
            found[f"{stage} {way}"]["again"] = again
    share = f"shiftrightunsigned(xxhash64(id), 33) < {int(WAYS['sampled'] * 2**31)}"
    found["sample"] = [row[0] for row in spark.range(ROWS).filter(share).collect()]
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
