"""Delimited text: Soufflé's TSV, any other delimiter, and RFC 4180.

Plain text has no quoting: a quote is a character like any other and an empty symbol is legal.
Arrow reads what it is sure to read as Soufflé does; `scan` reads the rest and finds the faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from whence.facts.badrows import BadRows
from whence.facts.content import Content
from whence.facts.scan import decode, scan
from whence.facts.schema import (
    Column,
    Layout,
    arrow_schema,
    truths,
    unannotated,
    values_are_sound,
)
from whence.facts.values import format_float
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    import mmap

    import pyarrow as pa

Data: TypeAlias = "bytes | mmap.mmap"

_BLOCK = 1 << 20
_WRITE_ROWS = 1 << 17
_FEW_ROWS = 2000
"""Up to here plain Python is done before Arrow's functions are even loaded."""
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_EMPTY_LINE = re.compile(rb"(?:\n|\A)\r?\n")


def read(content: Content, columns: Sequence[Column], layout: Layout, bad: BadRows) -> pa.Table:
    """Return the rows of the text, one Arrow column for each of `columns`."""
    import pyarrow as pa

    data, start, first = content.data, 0, 1
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    if layout.headers:
        end = data.find(b"\n")
        start, first = (len(data) if end < 0 else end + 1), 2
    if not columns:
        lines = sum(block.count(b"\n") for block in _blocks(data, start))
        return truths(lines + int(len(data) > start and data[-1:] != b"\n"))
    if start >= len(data):
        return arrow_schema(columns).empty_table()
    table = _read_whole(data, start, columns, layout)
    if table is not None:
        return table
    if layout.rfc4180:  # a quoted field may hold line breaks, so there is no cutting into blocks
        return scan(decode(data[start:]), first, columns, layout, bad)
    tables: list[pa.Table] = []
    for block in _blocks(data, start):
        table = _read_whole(block, 0, columns, layout)
        if table is None:
            tables.append(scan(decode(block), first, columns, layout, bad))
            first += block.count(b"\n")
        else:
            tables.append(table)
            first += table.num_rows
        if bad.enough:
            break
    return pa.concat_tables(tables)


def _read_whole(
    data: Data, start: int, columns: Sequence[Column], layout: Layout
) -> pa.Table | None:
    """Read quickly what has an annotation in every row, or in none."""
    table = _read_quickly(data, start, columns, layout)
    if table is not None or len(columns) < 2 or columns[-1].semiring is None or layout.pick:
        return table
    table = _read_quickly(data, start, columns[:-1], layout)
    return None if table is None else unannotated(table, columns)


def _blocks(data: Data, start: int) -> Iterator[bytes]:
    """Yield stretches of whole lines."""
    size = len(data)
    while start < size:
        end = data.find(b"\n", min(start + _BLOCK, size))
        end = size if end < 0 else end + 1
        yield data[start:end]
        start = end


def _read_quickly(
    data: Data, start: int, columns: Sequence[Column], layout: Layout
) -> pa.Table | None:
    """Return the table Arrow reads, or None where it fails or might not read as `scan` does."""
    import pyarrow as pa
    from pyarrow import csv

    if not _is_plain(data, start, columns, layout):
        return None
    schema = arrow_schema(columns)
    names = [str(index) for index in range(len(columns))]
    picked = names
    if layout.pick:
        line = data[start : start + (1 << 16)].split(b"\n", 1)[0]
        names = [str(i) for i in range(line.count(layout.delimiter.encode()) + 1)]
        picked = [str(index) for index in layout.pick]
        if not set(picked) <= set(names):
            return None
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(data)[start:]),
            read_options=csv.ReadOptions(column_names=names, block_size=1 << 22),
            parse_options=csv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char='"' if layout.rfc4180 else False,
                double_quote=layout.rfc4180,
                escape_char=False,
                newlines_in_values=layout.rfc4180,
                ignore_empty_lines=False,
            ),
            convert_options=csv.ConvertOptions(
                column_types={p: f.type for p, f in zip(picked, schema, strict=True)},
                include_columns=picked,
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, ValueError):
        return None
    table = pa.Table.from_arrays(table.columns, schema=schema)
    return table if values_are_sound(table, columns) else None


def _is_plain(data: Data, start: int, columns: Sequence[Column], layout: Layout) -> bool:
    """Whether Arrow's reader and `scan` cannot differ on this text."""
    if len(layout.delimiter) != 1 or not layout.delimiter.isascii() or layout.delimiter in '"\r\n':
        return False

    def holds(pattern: bytes) -> bool:
        return data.find(pattern, start) >= 0

    # Arrow ends lines at a lone carriage return, and reads an empty line as a row of empty fields.
    returns = holds(b"\r")
    if returns and _LONE_RETURN.search(data, start):
        return False
    several = len(columns) > 1 or bool(layout.pick)
    if several and (data[start : start + 1] == b"\n" or holds(b"\n\n")):
        return False
    if several and returns and _EMPTY_LINE.search(data, max(0, start - 1)):
        return False
    # Arrow reads sixteen hexadecimal digits as the bits of a signed number.
    if any(column.kind is Kind.NUMBER for column in columns) and holds(b"0x"):
        return False
    if layout.rfc4180:
        return not holds(b'"') or not _broken_quotes(layout.delimiter).search(
            data, max(0, start - 1)
        )
    return not ("," in layout.delimiter and holds(b"["))


def _broken_quotes(delimiter: str) -> re.Pattern[bytes]:
    """Match a quoted field that is not closed, or not closed at its end.

    It may match inside a sound field too, which costs a slow reading and nothing else.
    """
    cut = re.escape(delimiter.encode())
    return re.compile(rb"(?:\A|\n|" + cut + rb')"(?:[^"]++|"")*+(?:"(?!' + cut + rb"|\r?\n|\Z)|\Z)")


def write(table: pa.Table, out: BinaryIO, columns: Sequence[Column], layout: Layout) -> None:
    """Write the rows as Soufflé prints them."""
    if layout.headers:
        names = layout.delimiter.join(column.name for column in columns)
        out.write(names.encode() + b"\n")
    if not columns:
        out.write(b"()\n" if table.num_rows else b"")
        return
    if table.num_rows <= _FEW_ROWS:
        out.write(_few_rows(table, columns, layout).encode())
        return
    for offset in range(0, table.num_rows, _WRITE_ROWS):
        _write_rows(table.slice(offset, _WRITE_ROWS).combine_chunks(), out, columns, layout)


def _few_rows(table: pa.Table, columns: Sequence[Column], layout: Layout) -> str:
    texts = []
    for index, column in enumerate(columns):
        values = table.column(index).to_pylist()
        match column.kind:
            case Kind.NUMBER | Kind.UNSIGNED:
                texts.append([str(value) for value in values])
            case Kind.FLOAT:
                texts.append([format_float(value) for value in values])
            case Kind.SYMBOL | Kind.RECORD if layout.rfc4180:
                texts.append(['"' + value.replace('"', '""') + '"' for value in values])
            case Kind.SYMBOL | Kind.RECORD:
                texts.append(values)
    return "".join([layout.delimiter.join(row) + "\n" for row in zip(*texts, strict=True)])


def _write_rows(table: pa.Table, out: BinaryIO, columns: Sequence[Column], layout: Layout) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [
        _as_text(pa.concat_arrays(table.column(index).chunks), column, layout)
        for index, column in enumerate(columns)
    ]
    line_end = pa.scalar("\n", texts[-1].type)
    texts[-1] = pc.binary_join_element_wise(texts[-1], pa.scalar("", texts[-1].type), line_end)
    lines = texts[0]
    if len(texts) > 1:
        lines = pc.binary_join_element_wise(*texts, pa.scalar(layout.delimiter, texts[0].type))
    out.write(text_bytes(lines))


def text_bytes(lines: pa.Array) -> memoryview:
    """Return the bytes of all strings of an array, one after the other, without a copy."""
    import numpy as np
    import pyarrow as pa

    width = np.int64 if lines.type == pa.large_string() else np.int32
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, width)[[lines.offset, lines.offset + len(lines)]]
    return memoryview(data)[int(ends[0]) : int(ends[1])]


def _as_text(values: pa.Array, column: Column, layout: Layout) -> pa.Array:
    """Return the values as the text of a field; large, so that long symbols cannot overflow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = pa.large_string()
    match column.kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return pc.cast(values, wide)
        case Kind.FLOAT:
            return _float_text(values)
        case Kind.SYMBOL | Kind.RECORD:
            text = pc.cast(values, wide)
            if layout.rfc4180:
                quote, nothing = pa.scalar('"', wide), pa.scalar("", wide)
                text = pc.replace_substring(text, '"', '""')
                text = pc.binary_join_element_wise(quote, text, quote, nothing)
            return text


def _float_text(values: pa.Array) -> pa.Array:
    """Return doubles as `format_float` prints them, all in one call of the formatter."""
    import numpy as np
    import pyarrow as pa

    count = len(values)
    text = ("%.17g\n" * count % tuple(values.to_pylist())).encode()
    letters = np.frombuffer(text, np.uint8)
    breaks = letters == ord("\n")
    offsets = np.zeros(count + 1, np.int64)
    offsets[1:] = np.flatnonzero(breaks) - np.arange(count)
    return pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(offsets), pa.py_buffer(letters[~breaks])
    )
