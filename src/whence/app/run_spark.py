"""A whole run on Spark: what is wrong is told first, then a session starts and does the work."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.app.run import write_stats
from whence.engine.spark.interrupt import Interrupt
from whence.engine.spark.jobs import ending_together
from whence.facts.directives import load_inputs, write_outputs
from whence.spark.inputs import Loaded, SparkInput, inputs_of_spark, load
from whence.spark.outputs import SparkOutputs, outputs_of_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from whence.diagnostics import Diagnostic
    from whence.engine.base import Evaluation, Limits, Observer, Stats
    from whence.facts.schema import OnBadRow
    from whence.session import Compiled
    from whence.spark.batch import Relations

log = logging.getLogger("whence.run")

Warn = Callable[["Diagnostic"], None]
Sessions = Callable[[], contextlib.AbstractContextManager["SparkSession"]]


def run_on_spark(
    compiled: Compiled,
    *,
    facts: str,
    out: str | None,
    sessions: Sessions,
    interrupt: Interrupt,
    strategy: str | None = None,
    tasks: int | None = None,
    limits: Limits,
    on_bad_row: OnBadRow = "stop",
    stats_file: Path | None = None,
    observer: Observer | None = None,
    follow: Callable[[SparkSession], None] | None = None,
    warn: Warn | None = None,
) -> Stats:
    """Evaluate a program on Spark and write its outputs; no `out` sends them to stdout.

    Small files are read here, before a session is asked for. `follow` is told the session. What is
    noted in `interrupt` ends the run, until everything is written and only has to appear.
    """
    from whence.spark.batch import evaluate

    started = time.perf_counter()
    sources = inputs_of_spark(compiled.reading, facts, warn=warn)
    targets = [] if out is None else outputs_of_spark(compiled.source, out, warn=warn)
    tables = load_inputs(
        compiled.reading,
        Path(facts),
        on_bad_row=on_bad_row,
        warn=warn,
        elsewhere=[source.directive for source in sources],
    )
    interrupt.check()
    with contextlib.ExitStack() as stack:
        spark = stack.enter_context(sessions())
        stack.enter_context(ending_together(spark, interrupt=interrupt))
        if follow is not None:
            follow(spark)
        inputs = stack.enter_context(_inputs(spark, sources, tables, on_bad_row, warn))
        loaded = time.perf_counter()
        found = stack.enter_context(
            evaluate(
                spark,
                compiled,
                inputs,
                strategy=strategy,
                tasks=tasks,
                limits=limits,
                observer=observer,
            )
        )
        evaluated = time.perf_counter()
        outputs = stack.enter_context(SparkOutputs(spark))
        for target in targets:
            outputs.write(target, found[target.directive.relation])
        written: list[Any] = write_outputs(
            compiled.source,
            _tables(found),
            Path(out or ""),
            stdout=sys.stdout.buffer,
            everything_to_stdout=out is None,
            warn=warn,
            elsewhere=[target.directive for target in targets],
            ready=interrupt.settle,
        )
        written += outputs.publish()
        stats = found.stats
    for path in written:
        log.info("wrote %s", path)
    stats.load_seconds += loaded - started
    stats.write_seconds += time.perf_counter() - evaluated
    if stats_file is not None:
        write_stats(stats, stats_file)
    return stats


def _tables(found: Relations) -> Evaluation:
    """Return the relations as tables at the driver, as people see them."""
    if found.compiled.semiring is None:
        return found.evaluation
    from whence.view.annotated import ShownEvaluation

    return ShownEvaluation(found.evaluation, found.compiled.shape)


@contextlib.contextmanager
def _inputs(
    spark: SparkSession,
    sources: list[SparkInput],
    tables: Mapping[str, pa.Table],
    on_bad_row: OnBadRow,
    warn: Warn | None,
) -> Iterator[dict[str, Any]]:
    """Give the facts of each relation: a table, or a frame where any of them are Spark's."""
    from whence.engine.spark.frames import as_spark

    found: dict[str, Any] = dict(tables)
    kept: list[Loaded] = []
    try:
        for source in sources:
            name = source.directive.relation
            loaded = load(spark, source, on_bad_row=on_bad_row, warn=warn)
            kept.append(loaded)
            frame: DataFrame = loaded.frame
            before = found.get(name)
            if before is not None:
                if name in tables and before is tables[name]:
                    before = spark.createDataFrame(as_spark(before))
                frame = before.unionAll(frame)
            found[name] = frame
        yield found
    finally:
        for loaded in kept:
            if loaded.kept is not None:
                with contextlib.suppress(Exception):  # a session that was stopped
                    loaded.kept.unpersist()
