"""Numbers for the rows of inputs, which must be the same whenever a partition is computed.

Rows that a traced job wrote are known by part file and position, or by a column. Other files are
numbered by Spark's partitions of them, which depend on the files and on the number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults
from whence.lineage.capture.executions import SHIFT
from whence.lineage.capture.frames.frame import TracedFrame
from whence.lineage.capture.tracer import HIDDEN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from whence.lineage.capture.datasets import Mark
    from whence.lineage.capture.tracer import Tracer

_PART_AND_ROW: Final = (
    "shiftleft(cast(regexp_extract(_metadata.file_name, '^part-([0-9]+)', 1) as long), "
    f"{SHIFT}) + _metadata.row_index"
)
# Nodes of plans that give their rows in the same order each time.
_STEADY: Final = frozenset(
    (
        *("LocalRelation", "Range", "LogicalRelation", "LogicalRDD", "OneRowRelation"),
        *("Project", "Filter", "SubqueryAlias", "View", "Generate"),
    )
)


def from_frame(tracer: Tracer, frame: Any, name: str, key: str | None) -> TracedFrame:
    """Return a frame of Spark's as an input."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    if not isinstance(frame, DataFrame):
        raise faults.mixed("`frame`")
    if key is not None:
        if key not in frame.columns:
            raise faults.bad_key(key, "there is none of that name")
        kind = frame.schema[key].dataType.typeName()
        if kind not in ("byte", "short", "integer", "long"):
            raise faults.bad_key(key, f"it holds values of type {kind}")
        return _numbered(tracer, frame, name, F.col(key).cast("long"))
    if not _is_steady(frame):
        frame = frame.persist()
    return _numbered(tracer, frame, name)


def from_files(
    tracer: Tracer, frame: DataFrame, name: str, kind: str, mark: Mark | None
) -> TracedFrame:
    """Return what Spark reads from files as an input."""
    from pyspark.sql import functions as F

    if mark is None:
        return _numbered(tracer, frame, name)
    if mark.column is not None:
        return _numbered(tracer, frame, name, F.col(mark.column).cast("long"))
    if kind == "parquet":
        return _numbered(tracer, frame, name, F.expr(_PART_AND_ROW))
    return _numbered(tracer, frame, name, _by_position(frame, F.col("_metadata.file_name")))


def _numbered(
    tracer: Tracer, frame: DataFrame, name: str, number: Column | None = None
) -> TracedFrame:
    """Return the frame with a hidden column of numbers: the given ones, or positions."""
    from pyspark.sql import functions as F

    mine = [column for column in frame.columns if column.startswith(HIDDEN)]
    if mine:
        raise faults.reserved(mine)
    reference = tracer.reference(name)
    if tracer.publisher.notebook is not None:
        notebook, share = tracer.publisher.notebook, tracer.sample
        numbered = notebook.numbered(frame, number, reference.column, share)
        return TracedFrame(tracer, numbered, [reference])
    given = F.monotonically_increasing_id() if number is None else number
    numbered = frame.withColumn(reference.column, given)
    if tracer.sample < 1:
        numbered = numbered.withColumn(reference.column, tracer.sampled(reference.column))
    return TracedFrame(tracer, numbered, [reference])


def _by_position(frame: DataFrame, file: Column) -> Column:
    """Return part file and position for formats that do not tell it, by counting.

    Spark may cut a file into blocks; how many rows are in each is counted first.
    """
    from pyspark.sql import functions as F

    start = F.col("_metadata.file_block_start")
    counted = frame.groupBy(file.alias("file"), start.alias("start")).count().collect()
    before: dict[tuple[str, int], int] = {}
    total: dict[str, int] = {}
    for row in sorted(counted, key=lambda row: (row["file"], row["start"])):
        before[row["file"], row["start"]] = total.get(row["file"], 0)
        total[row["file"]] = total.get(row["file"], 0) + row["count"]

    import pyarrow as pa
    from pyspark.sql.pandas import functions

    arrow_udf: Any = functions.arrow_udf

    def positions(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        import numpy as np

        last, at = None, 0
        for files, starts in batches:
            out = np.empty(len(files), np.int64)
            begins = starts.to_numpy(zero_copy_only=False)
            codes = files.dictionary_encode()
            which = codes.indices.to_numpy(zero_copy_only=False)
            changes = np.flatnonzero(
                (np.diff(which, prepend=-1) != 0) | (np.diff(begins, prepend=-1) != 0)
            )
            for i, begin in enumerate(changes):
                end = changes[i + 1] if i + 1 < len(changes) else len(out)
                block = (codes.dictionary[int(which[begin])].as_py(), int(begins[begin]))
                if block != last:
                    last, at = block, before[block]
                part = int(block[0].removeprefix("part-").split("-")[0].split(".")[0])
                out[begin:end] = (part << SHIFT) + at + np.arange(end - begin)
                at += int(end - begin)
            yield pa.array(out)

    positions.__annotations__ = {
        "batches": Iterator[tuple[pa.Array, pa.Array]],
        "return": Iterator[pa.Array],
    }
    number: Column = arrow_udf(positions, "long").asNondeterministic()(file, start)
    return number


def _is_steady(frame: DataFrame) -> bool:
    """Whether Spark gives the rows in the same partitions and order each time."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    stack = [plan]
    while stack:
        node = stack.pop()
        if node.getClass().getSimpleName() not in _STEADY or not node.deterministic():
            return False
        children = node.children().iterator()
        while children.hasNext():
            stack.append(children.next())
    return True
