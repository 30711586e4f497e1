"""What every section needs: a warm session, facts as tables and frames, whole jobs timed."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.cases import BY_NAME, Case
from benchmarks.inputs import Facts
from benchmarks.measured import progress
from whence import session as whence
from whence.compiled import Compiled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUNS: Final = 5
"""Runs of each turn after one that warms everything up; the best one counts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a section."""

    threads: int
    quick: bool
    jars: str = ""

    @property
    def runs(self) -> int:
        return 1 if self.quick else RUNS


def asked() -> Asked:
    """Return the options that this process was started with."""
    given = json.loads(sys.argv[1])
    return Asked(given["threads"], given["quick"], given.get("jars", ""))


@contextmanager
def started(cores: int, **conf: str) -> Iterator[SparkSession]:
    """Start a session of some cores on this machine."""
    from whence.engine.spark.session import session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(f"local[{cores}]", **{"spark.driver.memory": "4g", **conf})
    try:
        yield spark
    finally:
        spark.stop()


def table(rows: Sequence[Sequence[int]]) -> pa.Table:
    """Return facts as a table of numbers."""
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    return pa.table({f"c{i}": columns[:, i] for i in range(columns.shape[1])})


def tables(facts: Facts) -> dict[str, pa.Table]:
    """Return all facts of a case as tables."""
    return {name: table(rows) for name, rows in facts.items()}


def frames(spark: SparkSession, facts: Mapping[str, pa.Table]) -> dict[str, DataFrame]:
    """Return facts as frames that Spark has in memory."""
    found = {}
    for name, rows in facts.items():
        frame = spark.createDataFrame(rows).persist()
        frame.count()
        found[name] = frame
    return found


def compiled(text: str) -> Compiled:
    """Return a program of which any relation may be asked for."""
    return whence.compile(whence.parse(text), keep_all=True)


def program(name: str) -> str:
    """Return the program of a case."""
    return BY_NAME[name].path.read_text(encoding="utf-8")


def size_of(case: Case, quick: bool) -> int:
    """Return the size that a case is measured at."""
    return case.tiny if quick else case.full


def embedded(text: str, facts: Mapping[str, pa.Table], outputs: Sequence[str], threads: int) -> int:
    """Evaluate in this process; return how many tuples the outputs have."""
    found = whence.evaluate(whence.parse(text), facts, threads=threads)
    return sum(found.size(name) for name in outputs)


def on_spark(
    spark: SparkSession,
    text: str,
    facts: Mapping[str, DataFrame],
    outputs: Sequence[str],
    *,
    frames: bool = True,
    **how: Any,
) -> tuple[int, Any]:
    """Evaluate on Spark; return how many tuples the outputs have, and the stats.

    Spark counts the rows of the output's `frames`, or tells what its tasks have counted.
    """
    from whence.spark import evaluate

    with evaluate(spark, text, facts, **how) as found:
        counted = ((found[n].count() if frames else found.size(n)) for n in outputs)
        return sum(counted), found.stats


def timed(do: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that something takes, and what it gives."""
    gc.collect()
    begun = time.perf_counter()
    found = do()
    return time.perf_counter() - begun, found


def best_in_turns(
    turns: Mapping[str, Callable[[], Any]], runs: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Do each of these once to warm up, then in turns; return the best seconds and last results."""
    best: dict[str, float] = {}
    last: dict[str, Any] = {}
    for run in range(runs + 1):
        for name, do in turns.items():
            seconds, last[name] = timed(do)
            if run:
                best[name] = min(best.get(name, seconds), seconds)
            progress(f"  {name}: {seconds:.2f} s{'' if run else ' (warming up)'}")
    return best, last


def per_task(stats: Any) -> list[dict[str, Any]]:
    """Return what each task of each group did."""
    return [
        {
            "group": group.number,
            "strategy": group.strategy,
            "rounds": group.rounds,
            "seconds": [round(task.seconds, 4) for task in group.tasks],
            "tuples": [task.tuples for task in group.tasks],
            "sent_rows": group.sent_rows,
            "sent_bytes": group.sent_bytes,
            "shuffled_bytes": group.shuffled_bytes,
            "broadcast_bytes": group.broadcast_bytes,
        }
        for group in stats.groups
    ]
