"""Taps: columns that Spark computes in Python workers, which see row numbers only.

A tap hands back what keeps it in the plan, and writes edges when its task has seen all rows. Spark
takes it for nondeterministic, so no rule of its optimizer moves rows past it or runs it twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture.executions import column, of_groups, of_rows
from whence.lineage.capture.staging import Desk, Operator

if TYPE_CHECKING:
    from pyspark.sql import Column

HELD: Final = 1 << 22
"""Rows that a task keeps before it writes their edges."""


def group_tap(
    desk: Desk, operator: Operator, key: Column, references: Sequence[Column], spaces: Sequence[str]
) -> Column:
    """Return the key's column; each task writes what it has of each key as a part of it."""

    def tap(batches: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
        import pyarrow as pa

        held: list[tuple[Any, ...]] = []
        written: list[pa.RecordBatch] = []
        rows = first = 0
        place = desk.place()

        def write() -> int:
            keys, *values = (
                pa.concat_arrays([_array(batch[i]) for batch in held]) for i in range(len(held[0]))
            )
            # A row without key comes from nothing in the sample.
            sampled = keys.is_valid()
            if keys.null_count:
                keys, values = keys.filter(sampled), [v.filter(sampled) for v in values]
            used = [column(space, v) for space, v in zip(spaces, values, strict=True)]
            name = operator.name
            made = of_groups(
                f"{name}/combine",
                f"{operator.inner}/part",
                operator.inner,
                keys.to_numpy(zero_copy_only=False),
                used,
                first,
                place,
            )
            written.append(made[0])
            return made[1]

        for batch in batches:
            held.append(batch)
            rows += len(batch[0])
            yield batch[0]
            if rows >= HELD:
                first += write()
                held, rows = [], 0
        if held:
            write()
        desk.stage(operator, written)

    tapped: Column = _udf(tap, 1 + len(references))(key, *references)
    return tapped


def row_tap(
    desk: Desk, operator: Operator, made: str, references: Sequence[Column], spaces: Sequence[str]
) -> Column:
    """Return the numbers of output rows, by position; each row is an execution."""

    def tap(batches: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        written: list[pa.RecordBatch] = []
        first = 0
        place = desk.place()
        for batch in batches:
            used = [column(space, _array(v)) for space, v in zip(spaces, batch, strict=True)]
            written.append(of_rows(operator.name, made, used, first, place))
            count = len(batch[0])
            yield pa.array(place.number(first + np.arange(count)))
            first += count
        desk.stage(operator, written)

    tapped: Column = _udf(tap, len(references))(*references)
    return tapped


def _array(values: Any) -> Any:
    import pyarrow as pa

    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _udf(tap: Any, arguments: int) -> Any:
    """Return the function as one of Spark's that takes batches of so many columns."""
    import pyarrow as pa
    from pyspark.sql.pandas import functions

    arrow_udf: Any = functions.arrow_udf

    if arguments == 1:

        def one(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
            return tap((batch,) for batch in batches)  # type: ignore[no-any-return]

        one.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
        return arrow_udf(one, "long").asNondeterministic()
    tap.__annotations__ = {
        "batches": Iterator[tuple[pa.Array, ...]],
        "return": Iterator[pa.Array],
    }
    return arrow_udf(tap, "long").asNondeterministic()
