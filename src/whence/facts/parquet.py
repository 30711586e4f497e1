"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from whence.facts.badrows import BadRows
from whence.facts.content import Content, broken
from whence.facts.schema import Column, Layout
from whence.facts.tables import conform, unconform

if TYPE_CHECKING:
    import pyarrow as pa


def read(content: Content, columns: Sequence[Column], layout: Layout, bad: BadRows) -> pa.Table:
    """Return the columns of the relation, by name or by position."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(pa.BufferReader(pa.py_buffer(content.data)))
    except (pa.ArrowException, OSError) as fault:
        raise broken(content.name, "Parquet", fault, layout.span) from None
    return conform(table, columns, layout, bad)


def write(table: pa.Table, out: BinaryIO, columns: Sequence[Column], layout: Layout) -> None:
    """Write the rows with the types of the attributes."""
    from pyarrow import parquet

    parquet.write_table(unconform(table, columns), out)
