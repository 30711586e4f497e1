"""Traced RDDs of inputs: lines of files, values of the driver, rows of traced frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.lineage.capture.datasets import input_name, read_mark
from whence.lineage.capture.rdds.cell import Chain
from whence.lineage.capture.rdds.rdd import TracedRDD
from whence.lineage.capture.tracer import HIDDEN

if TYPE_CHECKING:
    from pyspark import RDD

    from whence.lineage.capture.frames.frame import TracedFrame
    from whence.lineage.capture.tracer import Tracer


def from_rdd(tracer: Tracer, rdd: RDD[Any], name: str) -> TracedRDD:
    """Return an RDD whose elements always come in the same order as an input."""
    return TracedRDD(tracer, rdd, Chain((name,), paired=False, sample=tracer.sample))


def text_file(tracer: Tracer, path: str, *arguments: Any, **options: Any) -> TracedRDD:
    """Return lines of text; those that a traced job wrote are known as it numbered them."""
    mark = read_mark(tracer.spark, path)
    if mark is None:
        lines = tracer.spark.sparkContext.textFile(path, *arguments, **options)
        return from_rdd(tracer, lines, input_name(tracer, [path], None))
    return tracer.read.text(path).rdd.map(lambda row: row[0])


def from_traced_frame(frame: TracedFrame) -> TracedRDD:
    """Return the rows of a traced frame."""
    columns = frame._frame.columns
    hidden = [columns.index(reference.column) for reference in frame._references]
    shown = [i for i, name in enumerate(columns) if not name.startswith(HIDDEN)]
    names = [columns[i] for i in shown]
    spaces = tuple(reference.space for reference in frame._references)

    def split(row: Any) -> Any:
        from pyspark.sql import Row

        reference = tuple(row[i] for i in hidden)
        made = Row(*names)(*(row[i] for i in shown))
        return (reference[0] if len(hidden) == 1 else reference), made

    pairs = frame._frame.rdd.map(split)
    return TracedRDD(frame._tracer, pairs, Chain(spaces, paired=True), frame._operators)
