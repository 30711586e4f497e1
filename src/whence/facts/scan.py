"""The slow, exact reader of delimited text: it names the place of everything that is wrong.

It reads what the quick reader will not (odd number forms, long delimiters, records between
commas) and defines what the quick reader must give where both can read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.facts.badrows import BadRows
from whence.facts.schema import Column, Layout, arrow_schema
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes that are no UTF-8 decode to these, so that a bad row can be told from its neighbours.
_UNDECODED = re.compile("[\udc80-\udcff]")
_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')


@dataclass(frozen=True, slots=True)
class _Row:
    """The fields of one row and where each starts in `text`, the line it starts on."""

    line: int
    text: str
    fields: list[str]
    starts: Callable[[int], int]


def decode(data: bytes) -> str:
    """Return the text of the bytes; what is not UTF-8 stays in it as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def scan(
    text: str, first: int, columns: Sequence[Column], layout: Layout, bad: BadRows
) -> pa.Table:
    """Return the good rows of `text`, which starts at line `first`; tell `bad` of the others."""
    import pyarrow as pa

    picks = layout.pick or tuple(range(len(columns)))
    width = max(picks) + 1
    parse = [column.parse for column in columns]
    values: list[list[int | float | str | None]] = [[] for _ in columns]
    # A fact may come without its annotation.
    least = width - 1 if columns[-1].semiring is not None and not layout.pick else width
    rows = _quoted_rows if layout.rfc4180 else _plain_rows
    for row in rows(text, first, columns, layout, bad):
        found = len(row.fields)
        if found < least or (found > width and not layout.pick):
            bad.add_count(found, width, line=row.line, text=row.text)
        elif _UNDECODED.search(row.text):
            _report_undecoded(row, bad)
        else:
            converted: list[int | float | str | None] = []
            for index, pick in enumerate(picks):
                if pick == found:
                    converted.append(None)
                    continue
                try:
                    converted.append(parse[index](row.fields[pick]))
                except ValueError as fault:
                    bad.add_value(
                        fault,
                        row.fields[pick],
                        columns[index],
                        pick,
                        line=row.line,
                        text=row.text,
                        start=row.starts(pick),
                    )
                    break
            else:
                for column, value in zip(values, converted, strict=True):
                    column.append(value)
        if bad.enough:
            break
    schema = arrow_schema(columns)
    arrays = [pa.array(v, field.type) for v, field in zip(values, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _report_undecoded(row: _Row, bad: BadRows) -> None:
    place = _UNDECODED.search(row.text)
    column = place.start() + 1 if place else 1
    bad.add(
        "W0605",
        "the line is not UTF-8",
        line=row.line,
        text=row.text,
        column=column,
        label="no character starts with this byte",
    )


def _plain_rows(
    text: str, first: int, columns: Sequence[Column], layout: Layout, bad: BadRows
) -> Iterator[_Row]:
    """Yield the rows of text without quotes, one to a line."""
    delimiter = layout.delimiter
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    records = any(column.kind is Kind.RECORD for column in columns)
    for number, line in enumerate(lines, first):
        line = line.removesuffix("\r")
        fields = line.split(delimiter)
        if "," in delimiter and "[" in line:
            nested = _split_outside_brackets(line, delimiter)
            if nested is not None:
                fields = nested
            elif records:
                bad.add("W0609", "the brackets of a record do not match", line=number, text=line)
                continue
        yield _Row(number, line, fields, _starts(fields, len(delimiter)))


def _starts(fields: list[str], gap: int) -> Callable[[int], int]:
    return lambda index: 1 + sum(len(field) + gap for field in fields[:index])


def _split_outside_brackets(line: str, delimiter: str) -> list[str] | None:
    """Split at the delimiters outside `[…]`; None when the brackets do not match."""
    fields: list[str] = []
    depth = start = 0
    for token in re.finditer(rf"\[|\]|{re.escape(delimiter)}", line):
        match token.group():
            case "[":
                depth += 1
            case "]":
                depth -= 1
                if depth < 0:
                    return None
            case _ if depth == 0:
                fields.append(line[start : token.start()])
                start = token.end()
    return None if depth else [*fields, line[start:]]


def _quoted_rows(
    text: str, first: int, columns: Sequence[Column], layout: Layout, bad: BadRows
) -> Iterator[_Row]:
    """Yield the rows of RFC 4180 text; a quoted field may hold delimiters and line breaks."""
    delimiter = layout.delimiter
    plain = re.compile(rf"(?:(?!{re.escape(delimiter)})[^\n])*+")
    position, line, end = 0, first, len(text)
    while position < end:
        begin, begin_line = position, line
        fields: list[str] = []
        starts: list[int] = []
        fault = ""
        while True:
            starts.append(position - begin + 1)
            if text.startswith('"', position):
                quoted = _QUOTED.match(text, position)
                if quoted is None:
                    fault = "the quote is never closed"
                    break
                fields.append(quoted[1].replace('""', '"'))
                line += quoted[1].count("\n")
                position = quoted.end()
                if text.startswith("\r\n", position):
                    position += 1
            else:
                unquoted = plain.match(text, position)
                assert unquoted is not None  # it may be empty
                position = unquoted.end()
                fields.append(unquoted[0])
            if text.startswith(delimiter, position):
                position += len(delimiter)
            elif position >= end or text[position] == "\n":
                break
            else:
                fault = "text after the closing quote"
                break
        if fault:
            line_start = text.rfind("\n", 0, position) + 1
            line_end = text.find("\n", position)
            line_end = end if line_end < 0 else line_end
            bad.add(
                "W0606",
                fault,
                line=line,
                text=text[line_start:line_end],
                column=position - line_start + 1,
                label="a quote inside a quoted field is written twice",
            )
            position, line = line_end + 1, line + 1
            continue
        stop = text.find("\n", begin)
        row_text = text[begin : end if stop < 0 else stop].removesuffix("\r")
        if fields[-1].endswith("\r") and not text.startswith('"', begin + starts[-1] - 1):
            fields[-1] = fields[-1][:-1]
        position, line = position + 1, line + 1
        yield _Row(begin_line, row_text, fields, [*starts].__getitem__)
