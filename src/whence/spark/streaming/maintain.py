"""`maintain`: a streaming query that keeps the views of a program current."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlparse

from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.engine.spark.gang.job import gang_tasks
from whence.engine.spark.ship import equip
from whence.functor.user import UserFunctors
from whence.rewrite.read_in import AnySemiring
from whence.rewrite.stated import Default
from whence.spark.streaming.incoming import OnBadRow
from whence.spark.streaming.kafka import kafka_sink
from whence.spark.streaming.keeper import Keeper, Options
from whence.spark.streaming.program import Streamed, streamed
from whence.spark.streaming.state import Folder
from whence.spark.streaming.updates import updates_from
from whence.syntax.nodes import Program
from whence.view.base import STRATEGIES
from whence.view.windows import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def maintain(
    program: Program | str | Path,
    updates: DataFrame,
    *,
    checkpoint: Path | str,
    tasks: int | None = None,
    outputs: Collection[str] | None = None,
    into: Mapping[str, str] | None = None,
    windows: Mapping[str, Window] | None = None,
    ttl: Mapping[str, float] | None = None,
    watermark: float = 0.0,
    on_bad_row: OnBadRow = "stop",
    semiring: str | AnySemiring | None = None,
    annotations: Mapping[str, Default] | None = None,
    functors: UserFunctors | None = None,
    strategy: str = STRATEGIES[0],
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    compact_every: int = 100,
) -> StreamingQuery:
    """Keep the views of a program current while updates of its base facts stream in.

    `updates` is a streaming frame with `op`, `relation`, `values` and perhaps `time`, or what
    `updates` and `updates_from` make. `checkpoint` is a folder that driver and executors see; a
    query that starts with it again goes on where the last one ended. `tasks` processes share the
    views: by default, as many as run at once. `outputs` are the relations whose changes are told:
    by default those with `.output`, else all derived ones. `into` are options of Kafka for them.

    `ttl` are seconds, and `windows` other ways, for which facts of a relation stay, by event time;
    an update older than the latest by more than `watermark` seconds is counted and not applied.
    `on_bad_row` is "stop", or "aside" to keep bad updates in a folder and go on. `trigger` is what
    Spark's `trigger` takes.
    """
    from whence.spark.streaming.query import Live

    spark = updates.sparkSession
    if not updates.isStreaming:
        raise UsageError(
            Diagnostic(
                "W1042",
                "the updates are not a stream",
                hint="read them with `spark.readStream`, or by `whence.spark.updates`",
            )
        )
    frame = updates_from(updates)
    folder = Folder(_local(checkpoint))
    known = _known(folder)
    compiled = streamed(
        program,
        tasks=_tasks(spark, tasks, known),
        outputs=outputs,
        semiring=semiring,
        annotations=annotations,
    )
    held = _windows(compiled, windows, ttl)
    _agree(folder, known, compiled, held, watermark)
    equip(spark)
    options = Options(
        windows=held,
        watermark=watermark,
        on_bad_row=on_bad_row,
        strategy=strategy,
        functors=functors,
        sink=None if into is None else kafka_sink(into, compiled),
        compact_every=compact_every,
    )
    keeper = Keeper(spark, compiled, folder, options)
    writer = frame.writeStream.foreachBatch(keeper)
    writer = writer.option("checkpointLocation", str(folder.path / "spark"))
    if name is not None:
        writer = writer.queryName(name)
    if trigger:
        writer = writer.trigger(**trigger)
    return Live(writer.start(), keeper)


def _tasks(spark: SparkSession, asked: int | None, known: Mapping[str, Any] | None) -> int:
    """Return how many tasks keep the views: all have to run at once."""
    wanted = asked
    if wanted is None:
        wanted = int(known["tasks"]) if known else spark.sparkContext.defaultParallelism
    slots = gang_tasks(spark, max(1, wanted))
    if not 1 <= wanted <= slots and (asked is not None or known):
        raise UsageError(
            Diagnostic(
                "W1043",
                f"views cannot be kept by {wanted} tasks where {slots} run at once",
                hint="give fewer `tasks`, or Spark more cores",
            )
        )
    return min(wanted, slots)


def _local(checkpoint: Path | str) -> Path:
    """Return the folder of a checkpoint, which has to be one of the file system."""
    text = str(checkpoint)
    found = urlparse(text)
    if found.scheme == "file" and found.netloc in ("", "localhost"):
        return Path(unquote(found.path)).resolve()
    if "://" in text:
        raise UsageError(
            Diagnostic(
                "W1044",
                f"a checkpoint is a folder that all machines see, not `{text}`",
                hint="give a path, on a shared file system if Spark runs on several machines",
            )
        )
    return Path(checkpoint).resolve()


def _windows(
    compiled: Streamed, windows: Mapping[str, Window] | None, ttl: Mapping[str, float] | None
) -> dict[str, Window]:
    found = dict(windows or {}) | {n: Window(width=float(s)) for n, s in (ttl or {}).items()}
    for relation, window in found.items():
        if relation not in compiled.inputs:
            like = nearest(relation, compiled.inputs)
            raise UsageError(
                Diagnostic(
                    "W1041",
                    f"`{relation}` is given no facts, so it can have no window",
                    hint=f"did you mean `{like}`?" if like else "",
                )
            )
        if window.time == "clock":
            raise UsageError(
                Diagnostic(
                    "W1048",
                    f"the window of `{relation}` goes by the clock",
                    hint="windows of streams go by the times of updates, so that they are the "
                    "same whenever a batch is applied",
                )
            )
    return found


def _known(folder: Folder) -> dict[str, Any] | None:
    path = folder.path / "query"
    return cast("dict[str, Any]", json.loads(folder.get(path, 0))) if path.exists() else None


def _agree(
    folder: Folder,
    known: Mapping[str, Any] | None,
    compiled: Streamed,
    windows: Mapping[str, Window],
    watermark: float,
) -> None:
    """Write down what the query is; or see that it is the one that the folder is of."""
    semiring = None if compiled.shape is None else compiled.shape.semiring.name
    asked: dict[str, Any] = {
        "format": 1,
        "program": str(compiled.source),
        "facts": {name: table.to_pylist() for name, table in compiled.facts.items()},
        "tasks": compiled.tasks,
        "outputs": {
            name: [[c.name, c.kind.value] for c in compiled.shown_columns(name)]
            for name in compiled.outputs
        },
        "semiring": semiring,
        "windows": {name: window.as_json() for name, window in windows.items()},
        "watermark": watermark,
    }
    if known is not None:
        for part, value in json.loads(json.dumps(asked)).items():
            if known.get(part) != value:
                raise UsageError(
                    Diagnostic(
                        "W1049",
                        f"the checkpoint `{folder.path}` is of another query: its {part} differs",
                        hint="start again with what it was made for, or with another folder",
                    )
                )
        return
    for part in ("", "deltas", "snapshots", "changes", "staging"):
        (folder.path / part).mkdir(parents=True, exist_ok=True)
    folder.put(folder.path / "query", 0, json.dumps(asked).encode())
