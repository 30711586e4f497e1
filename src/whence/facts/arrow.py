"""Arrow IPC files and streams."""

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
    """Return the columns of the relation, by name or by position, from the file or stream form."""
    import pyarrow as pa

    source = pa.py_buffer(content.data)
    try:
        opened = pa.ipc.open_file if content.data[:6] == b"ARROW1" else pa.ipc.open_stream
        table = opened(source).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as fault:
        raise broken(content.name, "Arrow", fault, layout.span) from None
    return conform(table, columns, layout, bad)


def write(table: pa.Table, out: BinaryIO, columns: Sequence[Column], layout: Layout) -> None:
    """Write the rows in the file form."""
    import pyarrow as pa

    table = unconform(table, columns)
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 16)
