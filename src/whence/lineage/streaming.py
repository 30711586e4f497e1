"""The exact reducer on Structured Streaming: local reducers in tasks, the global one at the end.

A batch is a step of every partition's local reducer: a task reads its segments, takes the step
from the state before it, and writes the state after it under the batch's number. The driver
lets the batch count once all have. So a batch that runs twice, or a driver that is killed,
changes nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlparse

import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError, WhenceError
from whence.lineage.events import EDGES, as_edges
from whence.lineage.reduce.durable import Committed, Steps, Told
from whence.lineage.reduce.local_global import Settings
from whence.lineage.reduced import REDUCED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_FILES: Final = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
_PARTITION: Final = "partition-"
_REDUCER: Final = "whence_reducer"
_MESSAGE: Final = {"topic", "partition", "offset", "value"}
"""Columns of a message of Kafka."""


@dataclass(frozen=True, slots=True)
class Job:
    """What tasks are to do: where state is, and how the stream is reduced."""

    folder: str
    settings: Settings
    before: int
    step: int


def segments(
    spark: SparkSession, log: Path | str, topic: str, *, per_batch: int | None = None
) -> DataFrame:
    """Return a streaming frame of the segments of a topic, in a log that is a folder."""
    reader = spark.readStream.format("binaryFile").schema(_FILES)
    if per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", per_batch)
    pattern = Path(log).absolute() / topic / f"{_PARTITION}*" / "*.seg"
    return reader.load(str(pattern)).select("path")


def reduce_stream(
    edges: DataFrame,
    *,
    checkpoint: Path | str,
    partitions: int,
    attempts: bool = False,
    watermark: float | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Reducing:
    """Reduce a stream of edges, batch by batch, with a state that survives a killed driver.

    `edges` is a streaming frame with the columns of `EDGES`, what `segments` gives, or what
    Spark's source `kafka` gives for the topic of a log.
    `checkpoint` is a folder that driver and executors see. `partitions` is how many local
    reducers there are: for segments and messages, the partitions of their topic.
    """
    from whence.engine.spark.ship import equip

    if not edges.isStreaming:
        hint = "read them with `spark.readStream`, or by `whence.lineage.streaming.segments`"
        raise UsageError(Diagnostic("W1133", "the edges are not a stream", hint=hint))
    columns = set(edges.columns)
    if columns != {"path"} and not columns >= _MESSAGE and not columns >= set(EDGES.names):
        missing = ", ".join(f"`{name}`" for name in EDGES.names if name not in columns)
        told = f"the frame is no stream of edges: it lacks {missing}"
        raise UsageError(Diagnostic("W1134", told, hint="its columns are those of `EDGES`"))
    equip(edges.sparkSession)
    settings = Settings(attempts=attempts, watermark=watermark)
    keeper = Keeper(edges.sparkSession, Path(checkpoint).absolute(), partitions, settings)
    writer = edges.writeStream.foreachBatch(keeper)
    writer = writer.option("checkpointLocation", str(keeper.steps.path / "spark"))
    if name is not None:
        writer = writer.queryName(name)
    if trigger:
        writer = writer.trigger(**trigger)
    return Reducing(writer.start(), keeper)


class Keeper:
    """What the driver does with each batch; `foreachBatch` calls it."""

    def __init__(
        self, spark: SparkSession, folder: Path, partitions: int, settings: Settings
    ) -> None:
        self.spark, self.settings, self.partitions = spark, settings, partitions
        self.steps = Steps(folder)
        self.asked: dict[str, object] = {
            "partitions": partitions,
            "attempts": settings.attempts,
            "watermark": settings.watermark,
        }
        self.committed = self.steps.committed(self.asked)
        self.failure: WhenceError | None = None
        """The mistake that ended the query."""
        self.steps.clean(self.committed)

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Take one step, unless it counts already."""
        before = self.committed
        if batch <= before.step:
            return
        job = Job(str(self.steps.path), self.settings, before.step, batch)
        try:
            if frame.columns == ["path"]:
                told = self._segments(frame, job)
            elif _MESSAGE.issubset(frame.columns):
                told = self._messages(frame, job)
            else:
                told = self._rows(frame, job)
        except WhenceError as error:
            self.failure = error
            raise
        after = replace(
            before,
            step=batch,
            edges=before.edges + sum(one.edges for one in told),
            local_out=before.local_out + sum(one.local_out for one in told),
            late=before.late + sum(one.late for one in told),
        )
        self.steps.commit(after)
        self.committed = after

    def _segments(self, frame: DataFrame, job: Job) -> list[Told]:
        """Have one task for each partition read the segments that came."""
        paths: list[list[str]] = [[] for _ in range(self.partitions)]
        for row in frame.collect():
            path = unquote(urlparse(row.path).path)
            partition = int(Path(path).parent.name.removeprefix(_PARTITION))
            if partition >= self.partitions:
                raise _more(self.partitions, path)
            paths[partition].append(path)
        shares = [(p, sorted(of)) for p, of in enumerate(paths) if of]
        slots = self.spark.sparkContext.parallelize(shares, max(1, len(shares)))
        return _told(slots.mapPartitions(lambda share: _read_segments(job, share)).collect())

    def _messages(self, frame: DataFrame, job: Job) -> list[Told]:
        """Have messages go to the task of their partition's reducer."""
        split = frame.select(*sorted(_MESSAGE)).repartition(self.partitions, "partition")
        most = self.partitions
        made = split.mapInArrow(lambda rows: _take_messages(job, most, rows), "told BINARY")
        return _told([bytes(row.told) for row in made.collect()])

    def _rows(self, frame: DataFrame, job: Job) -> list[Told]:
        """Have rows go to the task of their execution's reducer."""
        from pyspark.sql import functions as f

        plain = frame.select(*EDGES.names)
        generated = f.col("kind") == 1
        space = f.when(generated, f.col("target_space")).otherwise(f.col("source_space"))
        number = f.when(generated, f.col("target")).otherwise(f.col("source"))
        whose = f.xxhash64(space, number, f.col("attempt"))
        reducer = f.pmod(whose, f.lit(self.partitions)).cast("int").alias(_REDUCER)
        split = plain.select("*", reducer).repartition(self.partitions, _REDUCER)
        made = split.mapInArrow(lambda rows: _take_rows(job, rows), "told BINARY")
        return _told([bytes(row.told) for row in made.collect()])


class Reducing:
    """A streaming query that reduces; it is also asked for the reduced graph so far."""

    def __init__(self, query: StreamingQuery, keeper: Keeper) -> None:
        self.query, self.keeper = query, keeper

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Wait for the end of the query; a mistake of the user's is raised as such."""
        from pyspark.errors import StreamingQueryException

        try:
            if timeout is None:
                self.query.awaitTermination()
                return True
            return bool(self.query.awaitTermination(timeout))  # type: ignore[arg-type]
        except StreamingQueryException:
            if self.keeper.failure is not None:
                raise self.keeper.failure from None
            raise

    def stop(self) -> None:
        """End the query."""
        self.query.stop()

    def reduced(self, **settings: Any) -> pa.Table:
        """Return the reduced graph of all batches that count, as if the stream were over."""
        return reduced(self.keeper.steps.path, **settings)


def reduced(checkpoint: Path | str, **settings: Any) -> pa.Table:
    """Return the reduced graph of the stream that a checkpoint is of, in the schema `REDUCED`.

    `settings` are those of the exact mode: `inputs`, `outputs`, `memory`.
    """
    return pa.Table.from_batches(reduced_batches(checkpoint, **settings), REDUCED)


def reduced_batches(checkpoint: Path | str, **settings: Any) -> Iterator[pa.RecordBatch]:
    """Give the reduced graph of the stream that a checkpoint is of, in batches."""
    steps = Steps(checkpoint)
    committed: Committed = steps.committed({})
    partitions, attempts = committed.asked.get("partitions", 0), committed.asked.get("attempts")
    reducer = Settings(attempts=bool(attempts), **settings).exact()
    for batch in steps.state(committed, int(str(partitions))):
        reducer.add(batch)
    yield from reducer.finish()


# ── in tasks ──


def _read_segments(job: Job, shares: Iterable[tuple[int, list[str]]]) -> Iterator[bytes]:
    from whence.lineage.log.segment import read_segment
    from whence.store.files import Files

    def edges(paths: list[str]) -> Iterator[pa.RecordBatch]:
        for path in paths:
            for _, batch in read_segment(Files(), Path(path), 0):
                yield batch

    for partition, paths in shares:
        yield _stepped(job, partition, edges(paths))


def _take_rows(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the step of each reducer that rows came for; most tasks have one."""
    shares: dict[int, list[pa.RecordBatch]] = {}
    for batch in rows:
        reducers = batch.column(batch.schema.get_field_index(_REDUCER))
        for reducer in reducers.unique().to_pylist():
            mine = batch.filter(pa.compute.equal(reducers, reducer))
            shares.setdefault(reducer, []).append(as_edges(mine))
    told = [_stepped(job, reducer, batches) for reducer, batches in shares.items()]
    if told:
        yield pa.RecordBatch.from_arrays([pa.array(told, pa.binary())], ["told"])


@dataclass(frozen=True, slots=True)
class _Message:
    """A row of Spark's source `kafka`, as the log's own reader takes it."""

    row: Mapping[str, Any]

    def topic(self) -> str:
        return str(self.row["topic"])

    def partition(self) -> int:
        return int(self.row["partition"])

    def offset(self) -> int:
        return int(self.row["offset"])

    def value(self) -> bytes:
        return bytes(self.row["value"])


def _take_messages(
    job: Job, partitions: int, rows: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Take the step of each partition that messages came for."""
    from whence.lineage.log.kafka_messages import edges_in

    shares: dict[int, list[_Message]] = {}
    for batch in rows:
        for row in batch.to_pylist():  # a message is thousands of edges
            message = _Message(row)
            shares.setdefault(message.partition(), []).append(message)

    def edges(messages: list[_Message]) -> Iterator[pa.RecordBatch]:
        for message in sorted(messages, key=_Message.offset):
            if message.partition() >= partitions:
                raise _more(partitions, f"{message.topic()}[{message.partition()}]")
            yield edges_in(message)

    told = [_stepped(job, partition, edges(mine)) for partition, mine in shares.items()]
    if told:
        yield pa.RecordBatch.from_arrays([pa.array(told, pa.binary())], ["told"])


def _more(partitions: int, place: str) -> UsageError:
    told = f"the topic has more than {partitions} partitions: `{place}`"
    return UsageError(Diagnostic("W1135", told, hint="give their number"))


def _stepped(job: Job, partition: int, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Take a step; a mistake comes back as a value, for Spark would run the task again."""
    try:
        told = Steps(job.folder).take(job.step, partition, job.before, batches, job.settings)
        return pickle.dumps(told)
    except WhenceError as error:
        return pickle.dumps((type(error), error.diagnostics))


def _told(found: Iterable[bytes]) -> list[Told]:
    told = [pickle.loads(one) for one in found]
    for one in told:
        if not isinstance(one, Told):
            kind, diagnostics = one
            raise kind(*diagnostics)
    return told
