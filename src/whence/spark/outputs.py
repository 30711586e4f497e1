"""Outputs that Spark writes: folders at places with a scheme, and tables of its catalogue.

Every folder is written beside its target under another name; `publish` puts all of them in their
places once everything is there. Text has the form that it has everywhere, in one file a partition.
"""

from __future__ import annotations

import contextlib
import functools
import io
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from whence.diagnostics import DataError, Diagnostic
from whence.facts.directives import directives
from whence.facts.formats import FORMATS
from whence.facts.places import TABLE, Warn, has_scheme, location, output_place
from whence.facts.schema import Column, Layout, arrow_schema, shown_columns
from whence.spark.faults import told
from whence.syntax.nodes import Directive, Program

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SparkOutput:
    """What one `.output` writes through Spark."""

    directive: Directive
    form: str
    where: str
    columns: tuple[Column, ...]
    layout: Layout


def outputs_of_spark(
    program: Program, folder: str, *, warn: Warn | None = None
) -> list[SparkOutput]:
    """Return the outputs of a program that Spark is to write."""
    found = []
    for directive in directives(program, "output"):
        place = output_place(program, directive, Path(), warn=warn)
        where = location(directive, folder, place.path.name)
        if place.form == TABLE or (has_scheme(where) and place.form in FORMATS):
            if place.form == "arrow":
                message = f"Spark writes no Arrow files, so not `{where}`"
                hint = '`IO="parquet"` is there, and read by the same libraries'
                raise DataError(Diagnostic("W1068", message, directive.span, hint=hint))
            columns = shown_columns(program, directive.relation)
            found.append(SparkOutput(directive, place.form, where, columns, place.layout))
    return found


@dataclass(slots=True)
class SparkOutputs:
    """The outputs of one run that Spark writes, on their way."""

    spark: SparkSession
    _staged: dict[str, str] = field(default_factory=dict)
    _tables: dict[str, DataFrame] = field(default_factory=dict)

    def __enter__(self) -> SparkOutputs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for staged in self._staged.values():
            system, path = self._place(staged)
            system.delete(path, True)
        self._staged.clear()

    def write(self, output: SparkOutput, frame: DataFrame) -> None:
        """Write a relation under another name; a table waits until all others are written."""
        from whence.engine.spark.jobs import described

        if output.where in self._staged or output.where in self._tables:
            raise _unwritable(output, "two outputs have this name")
        if output.form == TABLE:
            self._tables[output.where] = frame
            return
        head, _, name = output.where.rstrip("/").rpartition("/")
        staged = f"{head}/.{name}.{uuid.uuid4().hex}"
        self._staged[output.where] = staged
        text = f"{output.directive.relation}: writing {output.where}"
        with described(self.spark, text), _faults(output):
            if output.form == "parquet":
                frame.write.parquet(staged)
            else:
                written = functools.partial(_printed, output.form, output.columns, output.layout)
                packing = "gzip" if output.layout.compress else "none"
                lines = frame.mapInArrow(written, "value string")
                lines.write.option("compression", packing).text(staged)

    def publish(self) -> list[str]:
        """Put everything in its place, and return the places."""
        for name, frame in self._tables.items():
            frame.write.mode("overwrite").saveAsTable(name)
        done = list(self._tables)
        for where, staged in list(self._staged.items()):
            system, source = self._place(staged)
            _, target = self._place(where)
            if system.exists(target):
                system.delete(target, True)
            if not system.rename(source, target):
                raise DataError(Diagnostic("W1068", f"cannot write `{where}`: it is not renamed"))
            del self._staged[where]
            done.append(where)
        return done

    def _place(self, where: str) -> tuple[Any, Any]:
        """Return the file system of a place and the place, as the JVM knows them."""
        context: Any = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(where)
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path


def _unwritable(output: SparkOutput, reason: str) -> DataError:
    message = f"cannot write `{output.where}`: {reason}"
    return DataError(Diagnostic("W1068", message, output.directive.span))


@contextlib.contextmanager
def _faults(output: SparkOutput) -> Iterator[None]:
    """Turn what Spark says about an output into a diagnostic."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _unwritable(output, told(error)) from None


Write = Callable[["pa.Table", Any, Sequence[Column], Layout], None]


def _printed(
    form: str, columns: Sequence[Column], layout: Layout, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Return rows as text, in a task: many lines to a value, the last without its line break."""
    import pyarrow as pa

    write: Write = FORMATS[form].write
    schema = arrow_schema(columns)
    first = layout.headers
    for batch in batches:
        table = pa.Table.from_batches([batch])
        table = table.cast(schema) if columns else table.select([])
        if not table.num_rows and not first:
            continue
        out = io.BytesIO()
        write(table, out, columns, layout)
        data = out.getvalue()
        if layout.headers and not first:
            data = data.partition(b"\n")[2]
        first = False
        yield pa.record_batch({"value": [data.removesuffix(b"\n").decode("utf-8", "replace")]})
