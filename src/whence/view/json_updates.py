"""An update as JSON: `{"op": "+", "relation": "link", "row": [1, 2], "time": 12.5}`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from whence.facts.badrows import clip
from whence.facts.jsonl import value_of
from whence.facts.records import NotARecord, canonical_record, record_text
from whence.facts.schema import Column
from whence.syntax.nodes import Kind
from whence.view.updates import (
    COMMIT,
    BadLine,
    Commit,
    Fact,
    Row,
    check_count,
    columns_for,
    key_of,
    seconds,
    wrong_value,
)


def parse_json(
    line: str,
    columns: Mapping[str, tuple[Column, ...]],
    keys: Mapping[str, tuple[int, ...]],
) -> Fact | Commit:
    """Return the update in a line of JSON."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError as fault:
        message = f"this is no JSON: {fault.msg[:1].lower()}{fault.msg[1:]}"
        raise BadLine("W0682", message, fault.colno) from None
    except (RecursionError, ValueError):  # nested without end, or a number of thousands of digits
        raise BadLine("W0682", "this JSON is nested too deeply or has too long a number") from None
    whole = len(line.rstrip())
    if not isinstance(found, dict):
        raise BadLine("W0682", "an update in JSON is an object", 1, whole, hint=_EXAMPLE)
    if "commit" in found:
        return COMMIT
    for name in ("op", "relation", "row"):
        if name not in found:
            raise BadLine("W0682", f"the update has no `{name}`", 1, whole, hint=_EXAMPLE)
    field = "op"
    try:
        sign, relation, key = found["op"], found["relation"], found.get("key")
        if sign not in ("+", "-", "~"):
            hint = '`"+"` inserts, `"-"` deletes, `"~"` replaces by key'
            raise BadLine("W0682", f"{clip(str(sign))} is no operation", hint=hint)
        field = "relation"
        wanted = columns_for(str(relation), columns)
        by = () if sign == "+" or sign == "-" or key is not None else key_of(sign, relation, keys)
        field = "row"
        row = _row(relation, found["row"], wanted)
        field = "time"
        time = found.get("time")
        at = None if time is None else seconds(time)
        field = "key"
        if sign == "~" and key is not None:
            by = _key(relation, key, wanted)
        return Fact(sign, relation, row, at, by)
    except BadLine as fault:
        fault.column, fault.width = _place(line, field)
        raise


_EXAMPLE = 'such as `{"op": "+", "relation": "link", "row": [1, 2]}`'


def _place(line: str, name: str) -> tuple[int, int]:
    """Return where a field of the object begins, as well as can be told from the text."""
    at = line.find(f'"{name}"')
    return (at + 1, len(name) + 2) if at >= 0 else (1, 1)


def _row(relation: str, row: object, columns: Sequence[Column]) -> Row:
    if isinstance(row, dict):
        missing = [c.name for c in columns if c.name not in row]
        extra = [str(name) for name in row if name not in {c.name for c in columns}]
        if missing or extra:
            what = (
                f"has no `{missing[0]}`" if missing else f"has {clip(extra[0])}, which is no column"
            )
            raise BadLine("W0684", f"the row of `{relation}` {what}")
        row = [row[c.name] for c in columns]
    if not isinstance(row, list):
        raise BadLine("W0682", "a row is a list or an object", hint=_EXAMPLE)
    check_count(relation, len(row), columns)
    values: list[int | float | str] = []
    for item, column in zip(row, columns, strict=True):
        value = _record(item, column) if column.kind is Kind.RECORD else value_of(item, column)
        if value is None:
            shown = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
            large = column.kind in (Kind.NUMBER, Kind.UNSIGNED) and type(item) is int
            raise wrong_value(shown, column, too_large=large)
        if isinstance(value, float):
            value = value + 0.0
        values.append(value)
    return tuple(values)


def _record(item: object, column: Column) -> str | None:
    """Return a record given as text, as nested lists, or as null for `nil`."""
    text = item if isinstance(item, str) else record_text(item)
    assert column.records is not None
    try:
        text.encode()
        return canonical_record(text, column.type, column.records)
    except (NotARecord, UnicodeEncodeError):
        return None


def _key(relation: str, key: object, columns: Sequence[Column]) -> tuple[int, ...]:
    names = [c.name for c in columns]
    if not isinstance(key, list) or not key or any(part not in names for part in key):
        there = ", ".join(f"`{name}`" for name in names)
        hint = f"its columns are {there}"
        raise BadLine("W0688", f"a key is a list of columns of `{relation}`", hint=hint)
    return tuple(dict.fromkeys(names.index(part) for part in key))
