"""Changes out to Kafka: one record for each, whose key is the same whenever it is written again.

A batch is written to Kafka before it counts, from files that no longer change. If the driver ends
in between, it is written again: readers drop a record whose key they have seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, UsageError
from whence.spark.streaming.changed import op_column
from whence.spark.streaming.keeper import Sink
from whence.spark.streaming.program import Streamed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def kafka_sink(options: Mapping[str, str], streamed: Streamed) -> Sink:
    """Return what writes the changes of a batch to the topic that the options name."""
    if "topic" not in options or "kafka.bootstrap.servers" not in options:
        raise UsageError(
            Diagnostic(
                "W1051",
                "changes go to a topic of a broker",
                hint='into={"kafka.bootstrap.servers": "host:9092", "topic": "changes"}',
            )
        )

    def write(spark: SparkSession, _: Path, batch: int, changed: Mapping[str, Path]) -> None:
        from pyspark.sql import functions as F

        for relation, folder in sorted(changed.items()):
            names = [c.name for c in streamed.shown_columns(relation)]
            op = op_column(names)
            frame = spark.read.parquet(str(folder))
            row = F.struct(*(F.col(f"`{name}`") for name in names)) if names else F.array()
            key = F.concat_ws(
                ":",
                F.lit(str(batch)),
                F.lit(relation),
                F.col("_metadata.file_name"),
                F.col("_metadata.row_index").cast("string"),
            )
            value = F.to_json(
                F.struct(
                    F.col(op).alias("op"),
                    F.lit(relation).alias("relation"),
                    row.alias("row"),
                    F.lit(batch).alias("batch"),
                )
            )
            records = frame.select(key.alias("key"), value.alias("value"))
            records.write.format("kafka").options(**options).save()

    return write
