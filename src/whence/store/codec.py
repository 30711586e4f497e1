"""JSON and Arrow tables as bytes, and back.

A body is a byte that names its form, the length of a JSON text, the text, and an Arrow stream for
each large table. Small tables are in the text, where one row costs some ten bytes instead of some
hundred. There are no checksums: whoever stores the bytes has them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from whence.diagnostics import DataError, Diagnostic, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_FORM: Final = 1
_LEAD: Final = struct.Struct("<BI")
_SMALL: Final = 32
"""Tables up to so many rows are written as text."""
_TYPES: Final = {
    "int64": "i",
    "uint64": "u",
    "double": "d",
    "string": "s",
    "bool": "b",
}
_NAMES: Final = {code: name for name, code in _TYPES.items()}


def encode(header: Mapping[str, object], tables: Mapping[str, pa.Table]) -> bytes:
    """Return the header, which is JSON, and the tables as bytes."""
    large: list[pa.Buffer] = []
    listed: list[list[object]] = []
    for name, table in tables.items():
        small = _as_text(table)
        if small is not None:
            listed.append([name, *small])
        else:
            stream = _as_stream(table)
            listed.append([name, stream.size])
            large.append(stream)
    try:
        text = json.dumps([header, listed], separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        raise UsageError(
            Diagnostic("W0673", f"a note cannot be stored: {fault}", hint="a note is any JSON")
        ) from None
    return b"".join([_LEAD.pack(_FORM, len(text)), text, *large])


def decode(body: bytes) -> tuple[dict[str, object], dict[str, pa.Table]]:
    """Return the header and the tables that were encoded."""
    if len(body) < _LEAD.size or body[0] != _FORM:
        raise _unknown()
    length = _LEAD.unpack_from(body)[1]
    at = _LEAD.size + length
    header, listed = json.loads(body[_LEAD.size : at])
    tables: dict[str, pa.Table] = {}
    for name, *rest in listed:
        if len(rest) == 2:
            tables[name] = _from_text(*rest)
        else:
            tables[name] = _from_stream(body, at, rest[0])
            at += rest[0]
    return header, tables


def _unknown() -> DataError:
    return DataError(
        Diagnostic(
            "W0674",
            "a batch has a form that this version of Whence does not know",
            hint="use the version that wrote it, or a newer one",
        )
    )


def _as_text(table: pa.Table) -> tuple[object, object] | None:
    """Return the columns and values of a small table, or the count of one without columns."""
    if not table.num_columns:
        return [], table.num_rows
    if table.num_rows > _SMALL:
        return None
    columns = []
    for field in table.schema:
        code = _TYPES.get(str(field.type))
        if code is None or field.metadata:
            return None
        columns.append([field.name, code if field.nullable else code.upper()])
    return columns, [column.to_pylist() for column in table.columns]


def _from_text(columns: list[list[str]], values: list[list[object]] | int) -> pa.Table:
    import pyarrow as pa

    if isinstance(values, int):
        return pa.table({"": pa.nulls(values)}).select([])
    fields = [
        pa.field(name, pa.type_for_alias(_NAMES[code.lower()]), nullable=code.islower())
        for name, code in columns
    ]
    arrays = [pa.array(v, type=f.type) for v, f in zip(values, fields, strict=True)]
    return pa.table(arrays, schema=pa.schema(fields))


def _as_stream(table: pa.Table) -> pa.Buffer:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())  # each chunk would cost a header
    return sink.getvalue()


def _from_stream(body: bytes, start: int, size: int) -> pa.Table:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(body).slice(start, size)) as reader:
        return reader.read_all()
