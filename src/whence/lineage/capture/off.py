"""A session that is not traced: everything is Spark's own, so it costs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession


class Untraced:
    """A Spark session with the few names that a tracer has besides."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.topic = None
        self.log = None

    def frame(self, frame: DataFrame, name: str, *, key: str | None = None) -> DataFrame:
        """Return the frame."""
        return frame

    def textFile(self, path: str, *arguments: Any, **options: Any) -> RDD[str]:
        """Return the lines of text files."""
        return self.spark.sparkContext.textFile(path, *arguments, **options)

    def parallelize(
        self, values: Iterable[Any], numSlices: int | None = None, *, name: str | None = None
    ) -> RDD[Any]:
        """Return values of the driver as an RDD."""
        return self.spark.sparkContext.parallelize(values, numSlices)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spark, name)
