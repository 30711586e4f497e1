"""Spans, diagnostics, and how they are printed.

One `Diagnostic` feeds the terminal, JSON and the web page. A stage collects all its
diagnostics and raises one `WhenceError` with the errors among them, sorted by place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Source:
    """A named text that spans point into."""

    name: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its line break; empty past the end."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of text: lines and columns count from 1, the end column is exclusive."""

    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    source: Source | None = field(default=None, compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.line > 0


NOWHERE = Span()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to tell the user, with its place and what would be right."""

    code: str
    message: str
    span: Span = NOWHERE
    label: str = ""
    notes: tuple[str, ...] = ()
    hint: str = ""
    severity: Severity = "error"

    def as_json(self) -> dict[str, object]:
        """Return the form that `--format json` prints."""
        place: dict[str, object] | None = None
        if self.span:
            place = {
                "file": self.span.source.name if self.span.source else "",
                "line": self.span.line,
                "column": self.span.column,
                "end_line": self.span.end_line,
                "end_column": self.span.end_column,
            }
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "span": place,
            "label": self.label,
            "notes": list(self.notes),
            "hint": self.hint,
        }


def render(diagnostic: Diagnostic) -> str:
    """Return the diagnostic as text with the line it points at and a caret.

    >>> place = Span(1, 3, 1, 5, Source("a.dl", "p(xy)."))
    >>> print(render(Diagnostic("W0203", "variable `xy` is not bound", place, "no value")))
    error[W0203]: variable `xy` is not bound
      --> a.dl:1:3
       |
     1 | p(xy).
       |   ^^ no value
       |
    """
    out = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    span = diagnostic.span
    if span and span.source is not None:
        text = span.source.line(span.line)
        margin = " " * len(str(span.line))
        end = span.end_column if span.end_line == span.line else len(text) + 1
        length = max(1, min(end, len(text) + 1) - span.column)
        text, column = _clip(text, span.column)
        # Tabs keep their width in the caret line, so that the caret stands below its text.
        lead = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
        caret = "^" * min(length, max(1, len(text) + 1 - column))
        out.append(f" {margin}--> {span.source.name}:{span.line}:{span.column}")
        out.append(f" {margin} |")
        out.append(f" {span.line} | {text}")
        out.append(f" {margin} | {lead}{caret} {diagnostic.label}".rstrip())
        out.append(f" {margin} |")
        prefix = f" {margin} = "
    else:
        if span:
            out.append(f"  --> {span.line}:{span.column}")
        prefix = "  = "
    out.extend(f"{prefix}note: {note}" for note in diagnostic.notes)
    if diagnostic.hint:
        out.append(f"{prefix}hint: {diagnostic.hint}")
    return "\n".join(out)


def _clip(text: str, column: int, width: int = 400) -> tuple[str, int]:
    """Return the part of a long line around a column, and where the column is in it."""
    start = max(0, column - width // 2) if len(text) > width else 0
    before = "…" if start else ""
    after = "…" if len(text) > start + width else ""
    return f"{before}{text[start : start + width]}{after}", column - start + len(before)


def by_place(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics in the order of their places, without repeats."""
    return sorted(dict.fromkeys(diagnostics), key=lambda d: (_file(d), d.span, d.code, d.message))


def _file(diagnostic: Diagnostic) -> str:
    return diagnostic.span.source.name if diagnostic.span.source else ""


class WhenceError(Exception):
    """What a user can do something about: diagnostics and the exit code they mean."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n\n".join(render(d) for d in diagnostics))
        self.diagnostics = diagnostics


class ProgramError(WhenceError):
    """The program is wrong."""

    exit_code = 1


class UsageError(WhenceError):
    """The command or call is wrong."""

    exit_code = 2


class DataError(WhenceError):
    """The facts are wrong: a malformed row, an unreadable file, an arithmetic fault."""

    exit_code = 3


class LimitError(WhenceError):
    """A limit on time, memory or tuples was reached."""

    exit_code = 4


def raise_errors(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise a `ProgramError` when any of the diagnostics is an error."""
    errors = [d for d in by_place(diagnostics) if d.severity == "error"]
    if errors:
        raise ProgramError(*errors)


def nearest(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    """Return the known name that is most like `name`, or an empty string."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else ""
