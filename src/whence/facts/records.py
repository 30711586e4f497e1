"""Whether a text is a record of a declared type, and if not, where it goes wrong.

The engine reads records; here they are only checked, because here the line is still known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whence.facts.values import PARSE, NotAValue, OutOfRange, format_float
from whence.syntax.nodes import Kind


@dataclass(frozen=True, slots=True)
class RecordTypes:
    """The types a record may be made of: the kind of each, and the fields of the record types."""

    kinds: Mapping[str, Kind]
    fields: Mapping[str, tuple[str, ...]]


class NotARecord(ValueError):
    """The text is no record of the type: at `offset` something else should stand."""

    def __init__(self, offset: int, wanted: str) -> None:
        super().__init__(wanted)
        self.offset = offset
        self.wanted = wanted


def check_record(text: str, type: str, types: RecordTypes) -> None:
    """Raise `NotARecord` unless the text is a record of the type.

    >>> pair = RecordTypes({"P": Kind.RECORD, "number": Kind.NUMBER}, {"P": ("number", "P")})
    >>> check_record("[1, [2, nil]]", "P", pair)
    >>> check_record("[1, x]", "P", pair)
    Traceback (most recent call last):
    whence.facts.records.NotARecord: `[` or `nil`
    """
    canonical_record(text, type, types)


def canonical_record(text: str, type: str, types: RecordTypes) -> str:
    """Return the record as an engine prints it, so that equal records are equal texts.

    >>> pair = RecordTypes({"P": Kind.RECORD, "number": Kind.NUMBER}, {"P": ("number", "P")})
    >>> canonical_record("[ 0x10,nil ]", "P", pair)
    '[16, nil]'
    """
    position = 0
    parts: list[str] = []
    expected = [type]  # what is still to come, the next last; one-letter marks are literal
    while expected:
        while position < len(text) and text[position] in " \t":
            position += 1
        wanted = expected.pop()
        if wanted in ("]", ","):
            if not text.startswith(wanted, position):
                raise NotARecord(position, f"`{wanted}`")
            parts.append(wanted if wanted == "]" else ", ")
            position += 1
        elif types.kinds[wanted] is not Kind.RECORD:
            scalar, position = _scalar(text, position, types.kinds[wanted])
            parts.append(scalar)
        elif text.startswith("nil", position):
            parts.append("nil")
            position += 3
        elif text.startswith("[", position):
            parts.append("[")
            position += 1
            expected.append("]")
            for index, field in enumerate(reversed(types.fields[wanted])):
                expected += [",", field] if index else [field]
        else:
            raise NotARecord(position, "`[` or `nil`")
    rest = text[position:].lstrip(" \t")
    if rest:
        raise NotARecord(len(text) - len(rest), "the end")
    return "".join(parts)


def _scalar(text: str, position: int, kind: Kind) -> tuple[str, int]:
    """Return the scalar that begins here as it is printed, and where it ends."""
    end = position
    while end < len(text) and text[end] not in ",]":
        end += 1
    try:
        value = PARSE[kind](text[position:end].strip())
    except (NotAValue, OutOfRange):
        raise NotARecord(position, f"a value of kind {kind.value}") from None
    return (format_float(value + 0.0) if isinstance(value, float) else str(value)), end
