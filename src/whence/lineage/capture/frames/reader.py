"""Spark's reader, traced: rows of what it reads are numbered as they come out of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults
from whence.lineage.capture.datasets import input_name, read_mark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.lineage.capture.frames.frame import TracedFrame
    from whence.lineage.capture.tracer import Tracer

_FORMATS: Final = frozenset(("csv", "json", "orc", "parquet", "text"))


def default_format(spark: SparkSession) -> str:
    """Return the format that Spark takes where none is named."""
    return str(spark.conf.get("spark.sql.sources.default") or "parquet")


class TracedReader:
    """Spark's `DataFrameReader`, traced."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._reader = tracer.spark.read
        self._format: str | None = None

    def format(self, source: str) -> TracedReader:
        """Spark's `format`."""
        self._format = source
        return self

    def schema(self, schema: Any) -> TracedReader:
        """Spark's `schema`."""
        self._reader = self._reader.schema(schema)
        return self

    def option(self, key: str, value: Any) -> TracedReader:
        """Spark's `option`."""
        self._reader = self._reader.option(key, value)
        return self

    def options(self, **options: Any) -> TracedReader:
        """Spark's `options`."""
        self._reader = self._reader.options(**options)
        return self

    def csv(self, path: Any, *arguments: Any, **options: Any) -> TracedFrame:
        """Spark's `csv`."""
        return self._read("csv", path, self._reader.csv(path, *arguments, **options))

    def json(self, path: Any, *arguments: Any, **options: Any) -> TracedFrame:
        """Spark's `json`."""
        return self._read("json", path, self._reader.json(path, *arguments, **options))

    def text(self, paths: Any, *arguments: Any, **options: Any) -> TracedFrame:
        """Spark's `text`."""
        return self._read("text", paths, self._reader.text(paths, *arguments, **options))

    def orc(self, path: Any, *arguments: Any, **options: Any) -> TracedFrame:
        """Spark's `orc`."""
        return self._read("orc", path, self._reader.orc(path, *arguments, **options))

    def parquet(self, *paths: str, **options: Any) -> TracedFrame:
        """Spark's `parquet`."""
        return self._read("parquet", list(paths), self._reader.parquet(*paths, **options))

    def load(self, path: Any = None, format: str | None = None, **options: Any) -> TracedFrame:
        """Spark's `load`, of files."""
        kind = (format or self._format or default_format(self._tracer.spark)).lower()
        if kind not in _FORMATS or path is None:
            hint = "name what Spark reads: `tracer.frame(spark.read…, 'name', key='id')`"
            raise faults.not_traced(f"read.format('{kind}')", hint)
        return self._read(kind, path, self._reader.format(kind).load(path, **options))

    def table(self, name: str) -> TracedFrame:
        """Spark's `table`."""
        return self._tracer.frame(self._reader.table(name), self._tracer.names.get(name, name))

    def __getattr__(self, name: str) -> Any:
        from pyspark.sql import DataFrameReader

        if not name.startswith("_") and hasattr(DataFrameReader, name):
            hint = "name what Spark reads: `tracer.frame(spark.read…, 'name', key='id')`"
            raise faults.not_traced(f"read.{name}", hint)
        raise AttributeError(name)

    def _read(self, kind: str, path: Any, frame: DataFrame) -> TracedFrame:
        from whence.lineage.capture.frames.sources import from_files

        paths = [path] if isinstance(path, str) else list(map(str, path))
        mark = read_mark(self._tracer.spark, paths[0]) if len(paths) == 1 else None
        name = input_name(self._tracer, paths, mark)
        return from_files(self._tracer, frame, name, kind, mark)
