"""Updates as a streaming frame: of files in a folder, of Kafka, or of any frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, UsageError
from whence.spark.streaming.incoming import FIELDS, MOMENT, PLACE, TEXT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def updates(
    spark: SparkSession,
    path: Path | str,
    *,
    files_per_batch: int | None = None,
    pattern: str | None = None,
) -> DataFrame:
    """Return the updates in the files of a folder, present and future.

    A file has lines such as `+link(1, 2).` or JSON, as `whence watch` reads them. It has to appear
    whole: write it elsewhere and move it there. A batch has whole files, in the order of their
    times and then of their names; `files_per_batch` says how many at most.
    """
    reader = spark.readStream
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    if pattern is not None:
        reader = reader.option("pathGlobFilter", pattern)
    frame = reader.text(str(path), wholetext=True)
    return frame.selectExpr(
        f"value AS {TEXT}",
        "_metadata.file_path AS source",
        "CAST(1 AS BIGINT) AS position",
        f"_metadata.file_modification_time AS {MOMENT}",
    )


def updates_from(frame: DataFrame) -> DataFrame:
    """Return the updates of a frame in the form that `maintain` reads.

    It has columns `op`, `relation`, `values` (an array of texts, or a row as JSON) and perhaps
    `time` (seconds, text or a timestamp); or `value`, as Kafka's have, with an update as text.
    Columns `source` and `position`, or `topic`, `partition` and `offset`, say where each is from.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StringType, TimestampType

    names = frame.columns
    place = [F.col(name) for name in PLACE if name in names]
    if not place and {"topic", "partition", "offset"} <= {*names}:
        source = F.concat_ws("-", F.col("topic"), F.col("partition").cast("string"))
        place = [source.alias("source"), F.col("offset").alias("position")]
    place += [F.lit(None).cast("string").alias("source")] if len(place) < 1 else []
    place += [F.lit(None).cast("bigint").alias("position")] if len(place) < 2 else []
    place += [F.col(MOMENT)] if MOMENT in names else []
    if TEXT in names:
        return frame.select(F.col(TEXT).cast("string").alias(TEXT), *place)
    if {"op", "relation", "values"} <= {*names}:
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        values = F.col("values")
        if isinstance(kinds["values"], ArrayType):
            values = values.cast(ArrayType(StringType()))
        time = F.lit(None).cast("double")
        if "time" in names:
            time = F.col("time")
            if isinstance(kinds["time"], TimestampType):
                time = F.unix_micros(time) / F.lit(1e6)
        chosen = [F.col("op"), F.col("relation"), values.alias("values"), time.alias("time")]
        return frame.select(*chosen, *place)
    if "value" in names:
        return frame.select(F.col("value").cast("string").alias(TEXT), *place)
    raise UsageError(
        Diagnostic(
            "W1050",
            f"these are no updates: the frame has {', '.join(f'`{n}`' for n in names)}",
            hint=f"it needs {', '.join(f'`{n}`' for n in FIELDS[:3])}, or `value` with lines",
        )
    )
