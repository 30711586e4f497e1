"""What a batch changed, as files: one for each task and relation, with a column that says how."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from whence.engine.spark.frames import as_spark
from whence.spark.streaming.program import Streamed
from whence.view.annotated import difference, tuples
from whence.view.partitioned_part import Moved

OP = "op"
"""The column that says whether a tuple came, `+`, or went, `-`."""


def op_column(columns: list[str]) -> str:
    """Return the name of the column that says how a tuple changed."""
    return OP if OP not in columns else f"_{OP}"


def batch_column(columns: list[str]) -> str:
    """Return the name of the column with the number of the batch."""
    return "batch" if "batch" not in columns else "_batch"


def shown(streamed: Streamed, relation: str, moved: Moved) -> tuple[pa.Table, pa.Table] | None:
    """Return what came and went as people see it."""
    come, gone = (None if t is None else streamed.shown(relation, t) for t in moved[relation])
    there = come if come is not None else gone
    if there is None:
        return None
    shape = streamed.shape
    if shape is not None and come is not None and gone is not None and shape.hides(relation):
        # A fact whose annotation alone has changed has not changed to those who do not see it.
        before, after = (dict.fromkeys(tuples(t)) for t in (gone, come))
        change = difference(shape, relation, before, after)
        return None if change is None else (change.inserted, change.deleted)
    none = there.slice(0, 0)
    return (none if come is None else come), (none if gone is None else gone)


def write_changes(streamed: Streamed, relation: str, moved: Moved, path: Path) -> tuple[int, int]:
    """Write the changes of a relation, unless there are none; return how many came and went."""
    found = shown(streamed, relation, moved)
    if found is None or not (found[0].num_rows or found[1].num_rows):
        return 0, 0
    parts = []
    for op, table in zip("+-", found, strict=True):
        whole = as_spark(table)
        ops = pa.DictionaryArray.from_arrays(
            pa.array([0] * whole.num_rows, pa.int8()), pa.array([op])
        ).cast(pa.string())
        parts.append(whole.add_column(0, op_column(whole.column_names), ops))
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(pa.concat_tables(parts), path)
    return found[0].num_rows, found[1].num_rows


def write_view(streamed: Streamed, relation: str, table: pa.Table, path: Path) -> None:
    """Write the tuples of a relation that one task holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(as_spark(streamed.shown(relation, table)), path)


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)
