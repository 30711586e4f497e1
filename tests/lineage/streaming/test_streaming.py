"""The reducer on Structured Streaming gives the reduced graph that the embedded one gives."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lineage.reduce.streams import timed
from lineage.reduce.test_exact import layered
from whence.diagnostics import UsageError
from whence.lineage.events import batch_of, edges_of
from whence.lineage.jsonl import write_lines
from whence.lineage.log import Topic, open_log
from whence.lineage.log.segment import to_bytes
from whence.lineage.partitioning import split
from whence.lineage.reduce import reduce
from whence.lineage.reduced import pairs_of
from whence.lineage.streaming import reduce_stream, reduced, segments

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NOW = {"availableNow": True}


def write_log(folder: Path, batch: Any, parts: int, partitions: int = 2) -> None:
    """Write a stream to a log, in so many parts."""
    log = open_log(folder, sync=False)
    log.create(Topic("job", partitions, attempts=True))
    size = -(-batch.num_rows // parts)
    for begin in range(0, batch.num_rows, size):
        for partition, part in split(batch.slice(begin, size), "random", partitions):
            log.append("job", partition, part)


def in_order(batch: Any) -> Any:
    """The stream as a pipeline would tell it: executions one after the other, then their ends."""

    def activity(edge: Any) -> tuple[Any, bool]:
        return edge.target if edge.kind == 1 else edge.source, edge.kind == 4

    return batch_of(timed(sorted(edges_of(batch), key=activity)))


@pytest.mark.parametrize("watermark", [None, 0.0])
def test_segments_are_reduced_as_they_come(
    spark: Any, tmp_path: Path, watermark: float | None
) -> None:
    batch, _ = layered(5, 3, 60)
    batch = batch if watermark is None else in_order(batch)
    expected = pairs_of(reduce([batch], attempts=True).table)
    asked = {"partitions": 2, "attempts": True, "watermark": watermark, "trigger": NOW}
    for half in (batch.slice(0, 500), batch.slice(500)):
        write_log(tmp_path / "log", half, 3)
        stream = segments(spark, tmp_path / "log", "job", per_batch=3)
        query = reduce_stream(stream, checkpoint=tmp_path / "state", **asked)
        assert query.awaitTermination(300)
    assert pairs_of(query.reduced()) == expected
    assert pairs_of(reduced(tmp_path / "state", memory=1000)) == expected
    counted = query.keeper.committed
    assert counted.edges == sum(kind != 4 for kind in batch.column(0).to_pylist())
    if watermark is not None:
        assert counted.local_out < counted.edges


def test_rows_of_any_stream_are_reduced(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    batch, _ = layered(6, 3, 40)
    (tmp_path / "edges").mkdir()
    plain = pa.Table.from_batches([batch])
    for name in ("source_space", "target_space"):
        place = plain.schema.get_field_index(name)
        plain = plain.set_column(place, name, plain[name].cast(pa.string()))
    plain = plain.set_column(0, "kind", plain["kind"].cast(pa.int16()))
    for number in range(3):
        pq.write_table(
            plain.slice(number * 200, 200 if number < 2 else None),
            tmp_path / "edges" / f"{number}.parquet",
        )
    schema = spark.read.parquet(str(tmp_path / "edges")).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(tmp_path / "edges"))
    query = reduce_stream(stream, checkpoint=tmp_path / "state", partitions=2, trigger=NOW)
    assert query.awaitTermination(300)
    assert pairs_of(query.reduced()) == pairs_of(reduce([batch]).table)


def test_messages_of_kafka_are_reduced(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    batch, _ = layered(8, 3, 40)
    (tmp_path / "messages").mkdir()
    for number, begin in enumerate(range(0, batch.num_rows, 100)):
        parts = dict(split(batch.slice(begin, 100), "random", 2))
        lines = io.BytesIO()
        write_lines([parts[1]], lines)  # what others write
        table = pa.table(
            {
                "topic": ["job", "job"],
                "partition": pa.array([0, 1], pa.int32()),
                "offset": [number, number],
                "value": pa.array([to_bytes(parts[0]).to_pybytes(), lines.getvalue()], pa.binary()),
            }
        )
        pq.write_table(table, tmp_path / "messages" / f"{number}.parquet")
    schema = spark.read.parquet(str(tmp_path / "messages")).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 5)
    stream = reader.parquet(str(tmp_path / "messages"))
    query = reduce_stream(stream, checkpoint=tmp_path / "state", partitions=2, trigger=NOW)
    assert query.awaitTermination(300)
    assert pairs_of(query.reduced()) == pairs_of(reduce([batch]).table)


def test_mistakes_are_told_without_a_trace(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="W1133"):
        reduce_stream(spark.range(3), checkpoint=tmp_path / "a", partitions=1)
    rates = spark.readStream.format("rate").load()
    with pytest.raises(UsageError, match=r"W1134.*lacks `kind`"):
        reduce_stream(rates, checkpoint=tmp_path / "b", partitions=1)
    write_log(tmp_path / "log", layered(1, 1, 40)[0], 1, partitions=2)
    stream = segments(spark, tmp_path / "log", "job")
    query = reduce_stream(stream, checkpoint=tmp_path / "c", partitions=1, trigger=NOW)
    with pytest.raises(UsageError, match="W1135"):
        query.awaitTermination(300)
