"""An update as text, read with care: `+link(1, "a b") @ 12.5.  // and a comment`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from whence.diagnostics import ProgramError
from whence.facts.records import NotARecord, canonical_record, record_text
from whence.facts.schema import Column
from whence.syntax.nodes import Call, Constant, Kind, Nil, Record, Term, Variable
from whence.syntax.souffle import parse_goal
from whence.view.updates import (
    COMMIT,
    BadLine,
    Commit,
    Fact,
    Sign,
    check_count,
    columns_for,
    key_of,
    seconds,
    wrong_value,
)

_EXAMPLE = "such as `+link(1, 2).`, `-link(1, 2).` or `commit.`"
_SIGNS: dict[str, Sign] = {"+": "+", "-": "-", "~": "~"}
_INFINITE = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}


def parse_text(
    line: str,
    columns: Mapping[str, tuple[Column, ...]],
    keys: Mapping[str, tuple[int, ...]],
) -> Fact | Commit | None:
    """Return the update in a line of text, None when the line only holds a comment."""
    begin, stop, end = _parts(line)
    text = line[:end].rstrip()
    start = len(text) - len(text.lstrip())
    if text.strip().rstrip(".").rstrip() == "commit":
        return COMMIT
    if not text:
        return None
    sign = _SIGNS.get(text[start])
    if sign is None:
        what = "an update begins with `+`, `-` or `~`"
        raise BadLine("W0682", what, start + 1, hint=_EXAMPLE)
    if not text.endswith("."):
        raise BadLine("W0682", "the update does not end with `.`", len(text) + 1, hint=_EXAMPLE)
    atom_end = stop if stop >= 0 else len(text) - 1
    relation, args, places = _atom(line, start + 1, atom_end)
    at = start + 2
    wanted = columns_for(relation, columns, at, len(relation))
    check_count(relation, len(args), wanted, at, max(1, atom_end - start - 1))
    row = []
    for arg, column, (place, width) in zip(args, wanted, places, strict=True):
        value = _value(arg, column)
        if value is None:
            shown = line[place - 1 : place - 1 + width]
            large = (
                column.kind in (Kind.NUMBER, Kind.UNSIGNED)
                and isinstance(arg, Constant)
                and isinstance(arg.value, int)
            )
            raise wrong_value(shown, column, place, width, too_large=large)
        row.append(value)
    time = None
    if stop >= 0:
        time = _time(text[begin:-1], begin + 1)
    return Fact(sign, relation, tuple(row), time, key_of(sign, relation, keys, at, len(relation)))


def _parts(line: str) -> tuple[int, int, int]:
    """Return where the time begins, where its `@` is (else -1), and where the comment is."""
    quoted, at = False, -1
    place = 0
    while place < len(line):
        char = line[place]
        if quoted:
            place += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char == "@":
            at = place
        elif char == "#" or line.startswith("//", place):
            return at + 1, at, place
        place += 1
    return at + 1, at, len(line)


def _atom(line: str, start: int, end: int) -> tuple[str, tuple[Term, ...], list[tuple[int, int]]]:
    """Return relation and arguments of the atom at this place, and the columns they stand at."""
    try:
        atom = parse_goal(line[start:end], "<update>")
    except ProgramError as error:
        fault = error.diagnostics[0]
        column = fault.span.column + start if fault.span.line == 1 else end + 1
        width = max(1, fault.span.end_column - fault.span.column)
        raise BadLine(
            "W0682",
            f"this is no fact: {fault.message}",
            column,
            width,
            label=fault.label,
            hint=fault.hint or _EXAMPLE,
        ) from None
    places = []
    for arg in atom.args:
        width = max(1, arg.span.end_column - arg.span.column)
        places.append((arg.span.column + start, width))
    return atom.relation, atom.args, places


def _value(arg: Term, column: Column) -> int | float | str | None:
    """Return the argument as a value of the column, None when it is none."""
    match arg, column.kind:
        case Constant(value=str(value)), Kind.SYMBOL:
            return value
        case Constant(value=int(value)), Kind.NUMBER if -(2**63) <= value < 2**63:
            return value
        case Constant(value=int(value)), Kind.UNSIGNED if 0 <= value < 2**64:
            return value
        case Constant(value=int(value) | float(value)), Kind.FLOAT:
            try:
                return float(value) + 0.0
            except OverflowError:
                return None
        case Variable(name=name), Kind.FLOAT:
            return _INFINITE.get(name)
        case Call(functor="neg", args=(Variable(name=name),)), Kind.FLOAT:
            found = _INFINITE.get(name)
            return None if found is None else -found if found == found else found
        case ((Record() | Nil()), Kind.RECORD):
            return _record(arg, column)
        case _:
            return None


def _record(term: Term, column: Column) -> str | None:
    """Return a record in the notation of facts files."""
    done: list[object] = []
    pending: list[Term | int] = [term]  # a stack of our own: lists nest deeply
    while pending:
        node = pending.pop()
        match node:
            case int(count):
                items = [done.pop() for _ in range(count)]
                done.append(items)
            case Record(items=parts):
                pending.append(len(parts))
                pending.extend(parts)
            case Nil():
                done.append(None)
            case Constant(value=value):
                done.append(value)
            case Variable(name=name) if name in _INFINITE:
                done.append(name)
            case Call(functor="neg", args=(Variable(name=name),)) if name in _INFINITE:
                done.append(f"-{name}")
            case _:
                return None
    assert column.records is not None
    try:
        return canonical_record(record_text(done.pop()), column.type, column.records)
    except NotARecord:
        return None


def _time(text: str, at: int) -> float:
    stripped = text.strip()
    width = max(1, len(text))
    if stripped.startswith('"') and stripped.endswith('"') and len(stripped) > 1:
        return seconds(stripped[1:-1], at, width)
    try:
        return seconds(float(stripped), at, width)
    except ValueError:
        return seconds(stripped, at, width)
