"""Updates as lines: `+link(1, 2).`, `-link(1, 2).`, `~link(1, 2) @ 12.5.`, `commit.`, or JSON.

One update to a line. Lines come from anywhere, so every line is checked: what is wrong with one is
a diagnostic with its file, line and column. Plain lines take a quick way, all others a careful one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from whence.diagnostics import Diagnostic, Span, nearest
from whence.facts.badrows import Excerpt, clip
from whence.facts.schema import NOUN, Column, NotAnAnnotation, check_annotation
from whence.syntax.nodes import Kind
from whence.view.times import NotATime, as_seconds

Row: TypeAlias = tuple[int | float | str, ...]
Sign: TypeAlias = Literal["+", "-", "~"]

MAX_LINE: Final = 1 << 20
"""Characters of the longest line that is read."""


class Fact(NamedTuple):
    """One update: a fact that comes, goes, or replaces those with an equal key."""

    sign: Sign
    relation: str
    row: Row
    time: float | None = None
    key: tuple[int, ...] = ()

    def is_like(self, other: Fact) -> bool:
        """Whether both do the same, so that they can be done together."""
        if self.sign != other.sign or self.sign == "~":
            return False
        return (self.time is None) == (other.time is None)


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction."""


COMMIT: Final = Commit()


class BadLine(ValueError):
    """A line is no update: at `column` (from 1) stands what is wrong with it."""

    def __init__(
        self,
        code: str,
        message: str,
        column: int = 1,
        width: int = 1,
        *,
        label: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.column, self.width, self.label = column, width, label


class UpdateParser:
    """Reads the updates of one program's relations, line by line."""

    def __init__(
        self,
        columns: Mapping[str, tuple[Column, ...]],
        *,
        name: str = "<updates>",
        keys: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.name = name
        self._columns = columns
        self._keys = keys or {}
        self._annotated = any(c and c[-1].semiring is not None for c in columns.values())
        self._quick = {r: _quick_reader(r, c) for r, c in columns.items()}

    def parse(self, line: str) -> Fact | Commit | None:
        """Return the update that the line holds, None for an empty line or comment.

        >>> one = UpdateParser({"link": (Column("x", Kind.NUMBER), Column("y", Kind.SYMBOL))})
        >>> one.parse('+link(1, "a") @ 2.5.')
        Fact(sign='+', relation='link', row=(1, 'a'), time=2.5, key=())
        >>> one.parse('{"op": "-", "relation": "link", "row": [1, "a"]}')
        Fact(sign='-', relation='link', row=(1, 'a'), time=None, key=())
        """
        quick = self._quick.get(line[1 : line.find("(")])
        found: Fact | Commit | None = quick(line) if quick is not None else None
        found = found if found is not None else self._parse_slowly(line)
        if self._annotated and isinstance(found, Fact):
            self._check_annotation(found, line)
        return found

    def _check_annotation(self, fact: Fact, line: str) -> None:
        """Refuse a fact whose annotation is none."""
        columns = self._columns[fact.relation]
        semiring = columns[-1].semiring if columns else None
        if semiring is None:
            return
        try:
            check_annotation(fact.row[-1], semiring)
        except NotAnAnnotation as fault:
            message = f"{clip(str(fact.row[-1]))} is no annotation in `{semiring.name}`"
            raise BadLine("W0942", message, 1, len(line.rstrip()), label=str(fault)) from None

    def _parse_slowly(self, line: str) -> Fact | Commit | None:
        if len(line) > MAX_LINE:
            message = f"a line of more than {MAX_LINE:,} characters is not read"
            raise BadLine("W0686", message, MAX_LINE)
        if line.startswith("\ufeff"):  # some editors begin a file with it
            return self.parse(line[1:])
        text = line.strip()
        if not text or text.startswith(("//", "#")):
            return None
        if "\ufffd" in text or not text.isascii():
            _check_text(line)
        if text.startswith("{"):
            from whence.view.json_updates import parse_json

            return parse_json(line, self._columns, self._keys)
        from whence.view.text_updates import parse_text

        return parse_text(line, self._columns, self._keys)

    def diagnose(self, fault: BadLine, line: str, number: int) -> Diagnostic:
        """Return what is wrong with a line as a diagnostic at its place."""
        column = min(fault.column, len(line) + 1)
        start = max(0, column - 1000) if len(line) > 2000 else 0  # an excerpt is cut there
        source = Excerpt(self.name, clip(line[start : start + 2000], 2000)[1:-1], number)
        span = Span(number, column - start, number, column - start + fault.width, source)
        return Diagnostic(fault.code, fault.message, span, fault.label, hint=fault.hint)


def _check_text(line: str) -> None:
    """Refuse bytes that were no UTF-8, which decoding left as lone surrogates."""
    for place, char in enumerate(line):
        if "\ud800" <= char <= "\udfff":
            raise BadLine("W0687", "the line is not UTF-8", place + 1)


# ── the quick way ──

_QUICK: Final[dict[Kind, tuple[str, Callable[[str], int | float | str]]]] = {
    Kind.NUMBER: (r"(-?\d{1,18})", int),
    Kind.UNSIGNED: (r"(\d{1,18})", int),
    Kind.FLOAT: (r"(-?\d{1,17}(?:\.\d{1,17})?)", lambda text: float(text) + 0.0),
    Kind.SYMBOL: (r'"([^"\\\ud800-\udfff]*)"', str),
}


def _quick_reader(relation: str, columns: Sequence[Column]) -> Callable[[str], Fact | None] | None:
    """Return what reads plain updates of a relation, and gives None for all others."""
    if any(column.kind not in _QUICK for column in columns):
        return None
    signs: dict[str, Sign] = {"+": "+", "-": "-"}
    patterns, readers = (
        zip(*(_QUICK[c.kind] for c in columns), strict=True) if columns else ((), ())
    )
    pattern = re.compile(
        rf"([+-]){re.escape(relation)}\( *{' *, *'.join(patterns)} *\)"
        r"(?: *@ *(-?\d{1,17}(?:\.\d{1,17})?))? *\.\s*",
        re.ASCII,
    )
    match = pattern.fullmatch

    def read(line: str) -> Fact | None:
        found = match(line)
        if found is None:
            return None
        sign, *values, time = found.groups()
        row = tuple([reader(value) for reader, value in zip(readers, values, strict=True)])
        return Fact(signs[sign], relation, row, None if time is None else float(time) + 0.0)

    return read


# ── what both careful ways check ──


def columns_for(
    relation: str, columns: Mapping[str, tuple[Column, ...]], at: int = 1, width: int = 1
) -> tuple[Column, ...]:
    """Return the columns of a relation, or say which one may be meant."""
    found = columns.get(relation)
    if found is None:
        like = nearest(relation, columns)
        raise BadLine(
            "W0683",
            f"the program has no relation {clip(relation)}",
            at,
            width,
            hint=f"did you mean `{like}`?" if like else "declare it with `.decl`",
        )
    return found


def check_count(
    relation: str, given: int, columns: Sequence[Column], at: int = 1, width: int = 1
) -> None:
    """Refuse a fact with too few or too many values."""
    if given != len(columns):
        values = "1 value" if given == 1 else f"{given} values"
        names = ", ".join(column.name for column in columns)
        raise BadLine(
            "W0684",
            f"{values} where `{relation}` has {len(columns)}",
            at,
            width,
            hint=f"`{relation}({names})`",
        )


def wrong_value(
    shown: str, column: Column, at: int = 1, width: int = 1, *, too_large: bool
) -> BadLine:
    """Return the fault of a value that its column cannot hold."""
    if too_large:
        message = f"{clip(shown)} is out of the 64-bit range"
    else:
        message = f"{clip(shown)} is not {NOUN[column.kind]}"
    kind = f" of type `{column.type}`" if column.kind is Kind.RECORD else ""
    label = f"`{column.name}` is {NOUN[column.kind]}{kind}"
    return BadLine("W0685", message, at, width, label=label)


def seconds(value: object, at: int = 1, width: int = 1) -> float:
    """Return a time, or say that it is none."""
    try:
        return as_seconds(value)
    except NotATime as fault:
        hint = "a time is a number of seconds, or ISO 8601 text"
        raise BadLine("W0680", f"{fault} is no time", at, width, hint=hint) from None


def key_of(
    sign: Sign, relation: str, keys: Mapping[str, tuple[int, ...]], at: int = 1, width: int = 1
) -> tuple[int, ...]:
    """Return the key that an update replaces by; only replacements have one."""
    if sign != "~":
        return ()
    if relation not in keys:
        raise BadLine(
            "W0688",
            f"a replacement in `{relation}` needs its key",
            at,
            width,
            hint=f'say which columns: `--key {relation}=x,y`, or `"key": ["x", "y"]` in JSON',
        )
    return keys[relation]
