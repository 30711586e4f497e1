"""Spark's writer, traced: rows written are entities of the dataset at the path.

A row's number is its part file and its position there, so the files are what they would be
without tracing; or, by the option `whence.ids`, a column that holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults
from whence.lineage.capture.datasets import Mark, output_name, remove_mark, write_mark
from whence.lineage.capture.frames.reader import default_format
from whence.lineage.capture.staging import Numbers

if TYPE_CHECKING:
    from whence.lineage.capture.frames.frame import TracedFrame

_FORMATS: Final = frozenset(("csv", "json", "orc", "parquet", "text"))
IDS: Final = "whence.ids"


class TracedWriter:
    """Spark's `DataFrameWriter`, traced."""

    def __init__(self, frame: TracedFrame) -> None:
        self._frame = frame
        self._calls: list[tuple[str, tuple[Any, ...]]] = []
        self._format: str | None = None
        self._mode = "errorifexists"
        self._ids: str | None = None
        self._unplaced = ""

    def mode(self, saveMode: str | None) -> TracedWriter:
        """Spark's `mode`."""
        self._mode = (saveMode or self._mode).lower()
        return self

    def format(self, source: str) -> TracedWriter:
        """Spark's `format`."""
        self._format = source.lower()
        return self

    def option(self, key: str, value: Any) -> TracedWriter:
        """Spark's `option`; `whence.ids` names a column that is to hold row numbers."""
        if key == IDS:
            self._ids = str(value)
            return self
        if key.lower() == "maxrecordsperfile" and int(value) > 0:
            self._unplaced = "files are to hold so many rows at most"
        self._calls.append(("option", (key, value)))
        return self

    def options(self, **options: Any) -> TracedWriter:
        """Spark's `options`."""
        for key, value in options.items():
            self.option(key, value)
        return self

    def partitionBy(self, *columns: Any) -> TracedWriter:
        """Spark's `partitionBy`, with the option `whence.ids`."""
        self._unplaced = "rows are sorted into folders"
        self._calls.append(("partitionBy", columns))
        return self

    def csv(self, path: str, mode: str | None = None, **options: Any) -> None:
        """Spark's `csv`."""
        self.save(path, "csv", mode, **options)

    def json(self, path: str, mode: str | None = None, **options: Any) -> None:
        """Spark's `json`."""
        self.save(path, "json", mode, **options)

    def text(self, path: str, **options: Any) -> None:
        """Spark's `text`."""
        self.save(path, "text", **options)

    def orc(self, path: str, mode: str | None = None, **options: Any) -> None:
        """Spark's `orc`."""
        self.save(path, "orc", mode, **options)

    def parquet(self, path: str, mode: str | None = None, **options: Any) -> None:
        """Spark's `parquet`."""
        self.save(path, "parquet", mode, **options)

    def save(
        self, path: str, format: str | None = None, mode: str | None = None, **options: Any
    ) -> None:
        """Spark's `save`, to files."""
        kind = (format or self._format or default_format(self._frame._tracer.spark)).lower()
        if kind not in _FORMATS:
            raise faults.not_traced(f"write.format('{kind}')")
        self.mode(mode).options(**{k: v for k, v in options.items() if v is not None})
        self._check_places()
        frame, tracer = self._frame, self._frame._tracer
        spark, name = tracer.spark, output_name(tracer, path)
        operator = tracer.operator("write", Numbers.OWN)

        def write() -> None:
            writer = frame._sunk(operator, name, self._ids).write.mode(self._mode)
            for method, arguments in self._calls:
                writer = getattr(writer, method)(*arguments)
            if self._mode == "overwrite":
                remove_mark(spark, path)
            writer.format(kind).save(path)
            write_mark(spark, path, Mark(name, tracer.workflow, tracer.job, self._ids))

        tracer.act((*frame._operators, operator), write)

    def _check_places(self) -> None:
        if self._mode == "append":
            raise faults.not_traced("write.mode('append')", "write to another folder")
        if self._mode == "ignore":
            raise faults.not_traced("write.mode('ignore')", "look whether the folder is there")
        conf = self._frame._tracer.spark.conf.get("spark.sql.files.maxRecordsPerFile") or "0"
        if int(conf) > 0:
            self._unplaced = "`spark.sql.files.maxRecordsPerFile` is set"
        if self._unplaced and self._ids is None:
            raise faults.unplaced(self._unplaced)

    def __getattr__(self, name: str) -> Any:
        from pyspark.sql import DataFrameWriter

        if not name.startswith("_") and hasattr(DataFrameWriter, name):
            raise faults.not_traced(f"write.{name}", "write files: `.parquet(path)`")
        raise AttributeError(name)
