"""Whether a text is a record of a declared type, and if not, where it goes wrong.

The engine reads records; here they are only checked, because here the line is still known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whence.facts.values import PARSE, NotAValue, OutOfRange
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
    position = 0
    expected = [type]  # what is still to come, the next last; one-letter marks are literal
    while expected:
        while position < len(text) and text[position] in " \t":
            position += 1
        wanted = expected.pop()
        if wanted in ("]", ","):
            if not text.startswith(wanted, position):
                raise NotARecord(position, f"`{wanted}`")
            position += 1
        elif types.kinds[wanted] is not Kind.RECORD:
            position = _check_scalar(text, position, types.kinds[wanted])
        elif text.startswith("nil", position):
            position += 3
        elif text.startswith("[", position):
            position += 1
            expected.append("]")
            for index, field in enumerate(reversed(types.fields[wanted])):
                expected += [",", field] if index else [field]
        else:
            raise NotARecord(position, "`[` or `nil`")
    rest = text[position:].lstrip(" \t")
    if rest:
        raise NotARecord(len(text) - len(rest), "the end")


def _check_scalar(text: str, position: int, kind: Kind) -> int:
    end = position
    while end < len(text) and text[end] not in ",]":
        end += 1
    try:
        PARSE[kind](text[position:end])
    except (NotAValue, OutOfRange):
        raise NotARecord(position, f"a value of kind {kind.value}") from None
    return end
