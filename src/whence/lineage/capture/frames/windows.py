"""Window functions over traced rows: each row comes from all rows of its window partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whence.lineage.capture.frames.columns import windows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from whence.lineage.capture.frames.frame import TracedFrame
    from whence.lineage.capture.tracer import Reference, Tracer


def over_windows(over: TracedFrame, columns: Sequence[Any]) -> TracedFrame:
    """Return the frame whose rows come from the partitions of the windows in expressions."""
    found = windows(columns)
    if not found:
        return over
    frame, references, operators = over._frame, [], []
    for keys in found:
        operator = over._tracer.operator("window")
        reference = over._tracer.reference(operator.inner)
        frame = over._tapped(frame, operator, keys, reference.column)
        references.append(reference)
        operators.append(operator)
    if over._tracer.sample < 1:
        # The row itself may be in the sample, and its column of the partition not the first.
        frame, references = _shared(frame, found, references, over._tracer)
    return over._with(frame.drop(*over._hidden()), references, operators)


def _shared(
    frame: DataFrame,
    windows: Sequence[Sequence[Column]],
    references: Sequence[Reference],
    tracer: Tracer,
) -> tuple[DataFrame, list[Reference]]:
    """Give all rows of a partition the reference that only its sampled rows have."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    out = []
    for keys, reference in zip(windows, references, strict=True):
        shared = tracer.reference(reference.space)
        whole = Window.partitionBy(*keys)
        frame = frame.withColumn(shared.column, F.max(reference.column).over(whole))
        frame = frame.drop(reference.column)
        out.append(shared)
    return frame, out
