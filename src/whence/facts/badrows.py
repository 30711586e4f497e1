"""Rows that are not what their columns ask for: where they stand, and how many there were."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.diagnostics import Diagnostic, Source, Span
from whence.facts.records import NotARecord
from whence.facts.schema import NOUN, Column, Layout, NotAnAnnotation, OnBadRow
from whence.facts.values import OutOfRange

SHOWN = 5
"""How many bad rows of one file are reported one by one."""

_OTHERS = {",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}


@dataclass(frozen=True, slots=True)
class Excerpt(Source):
    """One line of a file that is too long to keep for the sake of an error."""

    number: int = 0

    def line(self, number: int) -> str:
        """Return the line when it is the one that was kept."""
        return self.text if number == self.number else ""


@dataclass(slots=True)
class BadRows:
    """The bad rows of one file; a reader adds to it, the caller decides what they mean."""

    name: str
    layout: Layout
    on_bad_row: OnBadRow = "stop"
    shown: list[Diagnostic] = field(default_factory=list)
    count: int = 0

    @property
    def enough(self) -> bool:
        """Whether reading on would tell the user nothing more."""
        return self.on_bad_row == "stop" and self.count >= SHOWN

    def add(
        self,
        code: str,
        message: str,
        *,
        line: int,
        text: str,
        column: int = 1,
        width: int = 1,
        label: str = "",
        hint: str = "",
    ) -> None:
        """Count one bad row, and keep the place of the first few."""
        self.count += 1
        if len(self.shown) < SHOWN:
            source = Excerpt(self.name, _printable(text), line)
            span = Span(line, column, line, column + max(1, width), source)
            self.shown.append(Diagnostic(code, message, span, label, hint=hint or self._hint()))

    def add_value(
        self,
        fault: ValueError,
        value: str,
        column: Column,
        position: int,
        *,
        line: int,
        text: str,
        start: int,
    ) -> None:
        """Count a row whose field at `position` (from 0) is no value of its column."""
        shown = clip(value)
        where = f"column {position + 1}, `{column.name}`, is {NOUN[column.kind]}"
        if isinstance(fault, NotARecord):
            code, message = "W0609", f"{shown} is not a record of type `{column.type}`"
            where = f"{fault.wanted} expected here"
            start, value = start + fault.offset, value[fault.offset :][:1]
        elif isinstance(fault, NotAnAnnotation) and column.semiring is not None:
            code, message = "W0942", f"{shown} is no annotation in `{column.semiring.name}`"
            where = str(fault)
        elif isinstance(fault, OutOfRange):
            code, message = "W0603", f"{shown} is out of the 64-bit range"
        elif not value:
            code, message = "W0602", f"an empty field is not {NOUN[column.kind]}"
        else:
            code, message = "W0602", f"{shown} is not {NOUN[column.kind]}"
        self.add(code, message, line=line, text=text, column=start, width=len(value), label=where)

    def add_count(self, found: int, expected: int, *, line: int, text: str) -> None:
        """Count a row with too few or too many fields."""
        self.add(
            "W0604",
            f"{_fields(found)} where `{self.layout.relation}` has {_columns(expected)}",
            line=line,
            text=text,
            column=len(text) + 1 if found < expected else 1,
            width=1 if found < expected else len(text),
            label="the line ends too early" if found < expected else "the line goes on too long",
            hint=self._delimiter_hint(text) if found == 1 else "",
        )

    def _delimiter_hint(self, text: str) -> str:
        if self.layout.delimiter == "\t" and "\t" not in text:
            for other, name in (
                (",", "commas"),
                (";", "semicolons"),
                (" ", "spaces"),
                ("|", "bars"),
            ):
                if other in text:
                    return (
                        f"the fields are separated by tabs unless the directive says otherwise; "
                        f'for {name}: `.input {self.layout.relation}(delimiter="{other}")`'
                    )
        return ""

    def _hint(self) -> str:
        return "" if self.on_bad_row == "skip" else "`--on-bad-row skip` leaves bad rows out"


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def clip(value: str, width: int = 60) -> str:
    """Return a value in backticks, cut to a readable length."""
    value = _printable(value)
    return f"`{value}`" if len(value) <= width else f"`{value[:width]}…`"


def _printable(text: str) -> str:
    """Return the text with what a terminal must not be sent replaced, one for one."""
    return "".join(c if c == "\t" or c.isprintable() else "�" for c in text[:2000])
