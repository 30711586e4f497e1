"""Functions from batches of rows to batches: what a task gives comes from all rows it was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whence.lineage.capture.executions import Used, of_one
from whence.lineage.capture.staging import Desk, Numbers, Operator
from whence.lineage.capture.tracer import HIDDEN

if TYPE_CHECKING:
    from whence.lineage.capture.frames.frame import TracedFrame


def with_number(schema: Any, column: str) -> Any:
    """Return a schema of Spark's with one more column, for row numbers."""
    from pyspark.sql.types import LongType, StructField, StructType

    found: Any = schema if isinstance(schema, StructType) else StructType.fromDDL(schema)
    return StructType([*found.fields, StructField(column, LongType())])


def mapped(frame: TracedFrame, function: Any, schema: Any, method: str) -> TracedFrame:
    """Return the frame that a function over the batches of a partition makes."""
    from pyspark.sql import functions as F

    tracer = frame._tracer
    operator = tracer.operator(method, Numbers.OWN)
    reference = tracer.reference(operator.inner)
    desk, number = tracer.publisher.desk, reference.column
    spaces = {r.column: r.space for r in frame._references}
    arrow = method == "mapInArrow"

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        seen: dict[str, list[Any]] = {column: [] for column in spaces}
        # What this attempt gives is its own: an attempt that is repeated may be given other rows.
        own = attempt_number()

        def shown() -> Iterator[Any]:
            for batch in batches:
                for column, numbers in seen.items():
                    found = batch.column(column) if arrow else _whole(batch[column])
                    numbers.append(found.drop_null())
                names = batch.schema.names if arrow else batch.columns
                kept = [name for name in names if not str(name).startswith(HIDDEN)]
                yield batch.select(kept) if arrow else batch[kept]

        for out in function(shown()):
            if arrow:
                values = pa.array([own] * out.num_rows, pa.int64())
                yield pa.RecordBatch.from_arrays(
                    [*out.columns, values], names=[*out.schema.names, number]
                )
            else:
                yield out.assign(**{number: own})
        used = [
            Used(spaces[column], *_counted(pa.concat_arrays(numbers)))
            for column, numbers in seen.items()
            if numbers
        ]
        stage_whole(desk, operator, used, own)

    given = frame._frame
    if not arrow:
        # With nulls among them pandas would take the numbers for floats, and round them.
        given = given.withColumns({column: F.col(column).cast("string") for column in spaces})
    above = getattr(given, method)(run, with_number(schema, number))
    return frame._with(above, [reference], [operator])


def _whole(texts: Any) -> Any:
    import pyarrow as pa

    return pa.array(texts, pa.string()).cast(pa.int64())


def _counted(numbers: Any) -> tuple[Any, Any]:
    import numpy as np

    found = numbers.to_numpy(zero_copy_only=False)
    return np.zeros(len(found), np.int64), found


def attempt_number() -> int:
    """Return a number that no other task attempt of the session has."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    return int(task.taskAttemptId())


def stage_whole(desk: Desk, operator: Operator, used: list[Used], number: int) -> None:
    """Write the one execution of a task, which made the entity of this number."""
    desk.stage(operator, [of_one(operator.name, operator.inner, number, used, desk.place())])
