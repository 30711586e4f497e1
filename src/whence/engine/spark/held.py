"""Blobs that Spark keeps: as they are, and computed again should an executor take them with it.

A frame that is persisted is cut into columns and compressed, which for a few large blobs takes
longer than what computed them. So their rows are kept, in a frame of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Held:
    """A frame of blobs, computed at most once while its rows are kept."""

    frame: DataFrame
    rows: Any
    """Spark's own dataset of the rows."""

    def unpersist(self) -> None:
        """Keep the rows no longer."""
        self.rows.unpersist(False)


def hold(spark: SparkSession, blobs: DataFrame) -> Held:
    """Return a frame of the same blobs that are computed once, when they are first needed."""
    from pyspark import StorageLevel
    from pyspark.sql.classic.dataframe import DataFrame as Frame

    context: Any = spark.sparkContext
    session: Any = spark
    level = context._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK_DESER)
    frame: Any = blobs
    rows = frame._jdf.javaRDD().persist(level)
    found = Frame(session._jsparkSession.createDataFrame(rows, frame._jdf.schema()), session)
    return Held(found, rows)
