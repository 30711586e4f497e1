"""JSON lines: one object, by attribute name, or one array, by position, to a line.

JSON has no infinities and no NaN, so such floats are written as the strings Soufflé prints.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from whence.facts.badrows import BadRows, clip
from whence.facts.content import Content
from whence.facts.delimited import text_bytes
from whence.facts.scan import decode
from whence.facts.schema import (
    NOUN,
    Column,
    Layout,
    NotAnAnnotation,
    arrow_schema,
    is_sound,
    truths,
    values_are_sound,
)
from whence.facts.values import NotAValue, OutOfRange, parse_float
from whence.rewrite.annotate import COLUMN
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    import pyarrow as pa

_WRITE_ROWS = 1 << 17


def read(content: Content, columns: Sequence[Column], layout: Layout, bad: BadRows) -> pa.Table:
    """Return one row for each line; empty lines are passed over."""
    data = bytes(content.data)
    if columns and not layout.pick and data.lstrip()[:1] == b"{":
        table = _read_quickly(data, columns)
        if table is not None:
            return table
    return _scan(decode(data).removeprefix("\ufeff"), columns, layout, bad)


def _read_quickly(data: bytes, columns: Sequence[Column]) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.json as reader

    schema = arrow_schema(columns)
    # Arrow reads 1.5 into no integer column but is silent about a repeated or missing name,
    # which shows as a null.
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    try:
        table = reader.read_json(
            pa.BufferReader(data),
            parse_options=reader.ParseOptions(
                explicit_schema=nullable, unexpected_field_behavior="ignore"
            ),
            read_options=reader.ReadOptions(block_size=1 << 22),
        )
        table.validate(full=True)  # the reader lets any bytes through as strings
    except (pa.ArrowException, ValueError):
        return None
    table = table.select(schema.names)
    if any(t.null_count and c.semiring is None for t, c in zip(table, columns, strict=True)):
        return None
    table = table.cast(schema)
    return table if values_are_sound(table, columns) else None


def _scan(text: str, columns: Sequence[Column], layout: Layout, bad: BadRows) -> pa.Table:
    import pyarrow as pa

    values: list[list[int | float | str | None]] = [[] for _ in columns]
    rows = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = _row(line, number, columns, layout, bad)
        if row is not None:
            rows += 1
            for column, value in zip(values, row, strict=True):
                column.append(value)
        if bad.enough:
            break
    if not columns:
        return truths(rows)
    schema = arrow_schema(columns)
    arrays = [pa.array(v, field.type) for v, field in zip(values, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _row(
    line: str, number: int, columns: Sequence[Column], layout: Layout, bad: BadRows
) -> list[int | float | str | None] | None:
    """Return the values of one line, or None after telling `bad` why there are none."""
    try:
        line.encode()
        found = json.loads(line)
    except UnicodeEncodeError as fault:
        bad.add("W0605", "the line is not UTF-8", line=number, text=line, column=fault.start + 1)
        return None
    except (ValueError, RecursionError) as fault:
        place = fault.colno if isinstance(fault, json.JSONDecodeError) else 1
        bad.add("W0607", "the line is not JSON", line=number, text=line, column=place)
        return None
    items: list[object]
    if isinstance(found, list):
        width = max(layout.pick) + 1 if layout.pick else len(columns)
        if not layout.pick and len(found) == width - 1 and columns[-1].semiring is not None:
            found.append(None)  # a fact may come without its annotation
        if len(found) < width or (len(found) > width and not layout.pick):
            bad.add_count(len(found), width, line=number, text=line)
            return None
        items = [found[pick] for pick in layout.pick] if layout.pick else found
    elif isinstance(found, dict):
        found = {COLUMN: None, **found}
        missing = [column.name for column in columns if column.name not in found]
        if missing:
            bad.add("W0608", f"there is no value for `{missing[0]}`", line=number, text=line)
            return None
        items = [found[column.name] for column in columns]
    else:
        bad.add("W0607", "a row is an object or an array", line=number, text=line, width=len(line))
        return None
    row: list[int | float | str | None] = []
    for position, (item, column) in enumerate(zip(items, columns, strict=True)):
        if item is None and column.semiring is not None:
            row.append(None)
            continue
        value = value_of(item, column)
        if value is not None and column.semiring is not None and not is_sound(value, column):
            wrong = NotAnAnnotation(f"column {position + 1} holds annotations")
            shown = json.dumps(item, ensure_ascii=False)
            bad.add_value(wrong, shown, column, position, line=number, text=line, start=1)
            return None
        if value is None:
            label = f"column {position + 1}, `{column.name}`, is {NOUN[column.kind]}"
            shown = clip(json.dumps(item, ensure_ascii=False))
            known = column.kind in _RANGE and type(item) is int
            code, what = ("W0603", "out of the 64-bit range") if known else ("W0602", "")
            if column.kind is Kind.RECORD:
                code = "W0609"
            message = f"{shown} is {what or 'not ' + NOUN[column.kind]}"
            bad.add(code, message, line=number, text=line, width=len(line), label=label)
            return None
        row.append(value)
    return row


_RANGE = {Kind.NUMBER: (-(2**63), 2**63 - 1), Kind.UNSIGNED: (0, 2**64 - 1)}


def value_of(item: object, column: Column) -> int | float | str | None:
    """Return the JSON value as a value of the column, or None when it is none."""
    match column.kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            low, high = _RANGE[column.kind]
            return item if type(item) is int and low <= item <= high else None
        case Kind.FLOAT:
            try:
                if isinstance(item, str):
                    return parse_float(item)
                return float(item) if isinstance(item, int | float) else None
            except (NotAValue, OutOfRange, OverflowError):
                return None
        case Kind.SYMBOL:
            if not isinstance(item, str):
                return None
            try:
                item.encode()
            except UnicodeEncodeError:  # an escaped lone surrogate
                return None
            return item
        case Kind.RECORD:
            return item if isinstance(item, str) and is_sound(item, column) else None


def write(table: pa.Table, out: BinaryIO, columns: Sequence[Column], layout: Layout) -> None:
    """Write one object to a line."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not columns:
        out.write(b"{}\n" * table.num_rows)
        return
    wide = pa.large_string()
    for offset in range(0, table.num_rows, _WRITE_ROWS):
        part = table.slice(offset, _WRITE_ROWS).combine_chunks()
        pieces: list[pa.Array | pa.Scalar] = []
        for index, column in enumerate(columns):
            lead = (
                ("{" if index == 0 else ", ") + json.dumps(column.name, ensure_ascii=False) + ": "
            )
            pieces.append(pa.scalar(lead, wide))
            pieces.append(json_text(pa.concat_arrays(part.column(index).chunks), column.kind))
        pieces.append(pa.scalar("}\n", wide))
        out.write(text_bytes(pc.binary_join_element_wise(*pieces, pa.scalar("", wide))))


def json_text(values: pa.Array, kind: Kind) -> pa.Array:
    """Return the values as JSON; equal values are converted once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = pa.large_string()
    if kind in _RANGE:
        return pc.cast(values, wide)
    coded = values.dictionary_encode()
    texts = (_json(item) for item in coded.dictionary.to_pylist())
    return pc.take(pa.array(texts, wide), coded.indices)


def _json(item: float | str) -> str:
    if isinstance(item, float) and (item != item or item in (float("inf"), float("-inf"))):
        return json.dumps(str(item))
    return json.dumps(item, ensure_ascii=False)
