"""Whether a text is a record of a declared type, and if not, where it goes wrong.

The engine reads records; here they are only checked, because here the line is still known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


Show = Callable[[int | float | str, Kind], str]


def canonical_record(text: str, type: str, types: RecordTypes, show: Show | None = None) -> str:
    """Return the record as an engine prints it, so that equal records are equal texts.

    With `show`, the values in it are printed by that.

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
            value, position = _scalar(text, position, types.kinds[wanted])
            parts.append(show(value, types.kinds[wanted]) if show else _printed(value))
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


def _scalar(text: str, position: int, kind: Kind) -> tuple[int | float | str, int]:
    """Return the scalar that begins here, and where it ends."""
    end = position
    while end < len(text) and text[end] not in ",]":
        end += 1
    try:
        return PARSE[kind](text[position:end].strip()), end
    except (NotAValue, OutOfRange):
        raise NotARecord(position, f"a value of kind {kind.value}") from None


def _printed(value: int | float | str) -> str:
    return format_float(value + 0.0) if isinstance(value, float) else str(value)


def record_text(value: object) -> str:
    """Return a record given as a tuple, list or None in Soufflé's notation.

    >>> record_text((1, ("a", None)))
    '[1, [a, nil]]'
    """
    parts: list[str] = []
    pending: list[object] = [value]  # a stack of our own: lists nest deeply
    while pending:
        item = pending.pop()
        if isinstance(item, _Mark):
            parts.append(item)
        elif item is None:
            parts.append("nil")
        elif isinstance(item, list | tuple):
            parts.append("[")
            pending.append(_Mark("]"))
            for place in range(len(item) - 1, -1, -1):
                pending.append(item[place])
                if place:
                    pending.append(_Mark(", "))
        else:
            parts.append(str(item))
    return "".join(parts)


class _Mark(str):
    """Punctuation, among values that may be texts themselves."""

    __slots__ = ()
