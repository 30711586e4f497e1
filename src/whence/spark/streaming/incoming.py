"""The updates of one batch: read row by row, every row checked, and what they come to.

An update has an operation, a relation, values and perhaps a time; or it is a line as `whence watch`
reads them. What is wrong with one is a diagnostic that names its file or offset.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from whence.diagnostics import DataError, Diagnostic
from whence.facts.badrows import clip
from whence.facts.schema import Column
from whence.rows import table_of, tuples_of
from whence.spark.streaming.state import Committed, Delta
from whence.syntax.nodes import Kind
from whence.view.json_updates import parse_json
from whence.view.updates import (
    BadLine,
    Fact,
    Sign,
    UpdateParser,
    check_count,
    columns_for,
    seconds,
    wrong_value,
)
from whence.view.windows import Contents, Said, Stamp, Window

OnBadRow = Literal["stop", "aside"]
Row = tuple[int | float | str, ...]

FIELDS = ("op", "relation", "values", "time")
TEXT = "text"
PLACE = ("source", "position")
"""Where an update comes from: a file and a line, a topic's partition and an offset."""
MOMENT = "moment"
"""When a file appeared: files of one batch are read in this order, then in that of their names."""


@dataclass(frozen=True, slots=True)
class Bad:
    """An update that is none."""

    source: str
    position: int
    text: str
    diagnostic: Diagnostic


@dataclass(slots=True)
class Read:
    """The updates of a batch, in their order, and what is none."""

    facts: list[Fact] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)


def _number(text: str) -> int:
    """Return a number that is written plainly."""
    if len(text) > 18 or not text.isascii() or not text.removeprefix("-").isdigit():
        raise ValueError(text)
    return int(text)


def _symbol(text: str) -> str:
    """Return a symbol of which nothing need be checked."""
    if not text.isascii():
        raise ValueError(text)
    return text


_QUICK: Mapping[Kind, Callable[[str], int | float | str]] = {
    Kind.NUMBER: _number,
    Kind.SYMBOL: _symbol,
}
_SIGNS: Mapping[str, Sign] = {"+": "+", "-": "-"}


class Reader:
    """Reads the updates of a program's base relations."""

    def __init__(
        self, columns: Mapping[str, tuple[Column, ...]], derived: Mapping[str, tuple[Column, ...]]
    ) -> None:
        self._columns = columns
        self._derived = derived
        self._all = {**columns, **derived}
        self._parser = UpdateParser(self._all)
        self._quick = {
            name: readers
            for name, known in columns.items()
            if len(
                readers := [
                    _QUICK[c.kind] for c in known if c.kind in _QUICK and c.semiring is None
                ]
            )
            == len(known)
        }

    def read(self, table: pa.Table) -> Read:
        """Return the updates in a table of lines, or of fields."""
        found = Read()
        if MOMENT in table.column_names:
            table = table.sort_by([(MOMENT, "ascending"), ("source", "ascending")])
        if TEXT in table.column_names:
            self._read_lines(table, found)
        else:
            self._read_fields(table, found)
        return found

    def _read_lines(self, table: pa.Table, found: Read) -> None:
        columns = [_texts(table.column(TEXT)), *(table.column(n).to_pylist() for n in PLACE)]
        for text, source, position in zip(*columns, strict=True):
            for number, line in enumerate((text or "").split("\n")):
                at = (position or 0) + number
                try:
                    fact = self._parser.parse(line)
                    if isinstance(fact, Fact):
                        self._keep(fact, found)
                except BadLine as fault:
                    self._aside(fault, line, source, at, found)

    def _read_fields(self, table: pa.Table, found: Read) -> None:
        names = table.column_names
        columns = [
            table.column(name).to_pylist() if name in names else [None] * table.num_rows
            for name in (*FIELDS, *PLACE)
        ]
        for number, (op, relation, values, time, source, position) in enumerate(
            zip(*columns, strict=True)
        ):
            readers = self._quick.get(relation)
            if readers is not None and isinstance(values, list):
                try:
                    read = [reader(v) for reader, v in zip(readers, values, strict=True)]
                    at = None if time is None else seconds(time)
                    found.facts.append(Fact(_SIGNS[op], relation, tuple(read), at))
                    continue
                except (KeyError, ValueError, TypeError, AttributeError):
                    pass  # the careful way tells what is wrong, if anything is
            try:
                self._keep(self._fact(op, relation, values, time), found)
            except BadLine as fault:
                row = {"op": op, "relation": relation, "values": values, "time": time}
                at = number if position is None else position
                text = json.dumps(row, ensure_ascii=False, default=str)
                self._aside(fault, text, source, at, found)

    def _fact(self, op: object, relation: object, values: object, time: object) -> Fact:
        if isinstance(values, str):  # a row as JSON, a list or an object
            try:
                row: object = json.loads(values)
            except ValueError:
                raise BadLine("W0682", f"{clip(values)} is no JSON") from None
        elif isinstance(values, list):
            row = self._parsed(str(relation), values)
        else:
            raise BadLine("W0682", "the update has no `values`")
        update = {"op": op, "relation": relation, "row": row}
        found = parse_json(json.dumps(update), self._all, {})
        assert isinstance(found, Fact)
        return found if time is None else found._replace(time=seconds(time))

    def _parsed(self, relation: str, values: Sequence[object]) -> list[object]:
        """Return the values of a row that is given as texts."""
        columns = columns_for(relation, self._all)
        check_count(relation, len(values), columns)
        found: list[object] = []
        for value, column in zip(values, columns, strict=True):
            try:
                found.append(column.parse(value) if isinstance(value, str) else value)
            except (ValueError, OverflowError):
                raise wrong_value(str(value), column, too_large=False) from None
        return found

    def _keep(self, fact: Fact, found: Read) -> None:
        if fact.sign == "~":
            hint = "delete the old fact and insert the new one"
            raise BadLine("W1045", "a stream takes no replacements by key", hint=hint)
        if fact.relation not in self._columns:
            hint = f"let it be given facts: `.input {fact.relation}`"
            raise BadLine("W1046", f"`{fact.relation}` is derived by rules", hint=hint)
        found.facts.append(fact)

    def _aside(self, fault: BadLine, line: str, source: str | None, at: int, found: Read) -> None:
        parser = self._parser
        parser.name = source or "<updates>"
        diagnostic = parser.diagnose(fault, line, at)
        found.bad.append(Bad(parser.name, at, line, diagnostic))


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return texts; bytes that are no UTF-8 are lone surrogates, which no update may have."""
    try:
        found: list[str | None] = column.to_pylist()
        return found
    except UnicodeDecodeError:
        raw = column.cast(pa.binary()).to_pylist()
        return [None if one is None else one.decode("utf-8", "surrogateescape") for one in raw]


def refuse(bad: Sequence[Bad]) -> None:
    """Raise what is wrong with updates, if anything is."""
    if bad:
        shown = [one.diagnostic for one in bad[:20]]
        if len(bad) > len(shown):
            more = f"{len(bad) - len(shown)} more updates are wrong"
            shown.append(Diagnostic("W1047", more))
        raise DataError(*shown)


# ── what they come to ──


class Soft:
    """The windows of relations, by event time, as the driver keeps them."""

    def __init__(
        self, windows: Mapping[str, Window], watermark: float, committed: Committed
    ) -> None:
        self.contents = {name: Contents(window, 0.0) for name, window in windows.items()}
        for contents in self.contents.values():
            contents.time, contents.dated = "event", True
        self.delay = watermark
        self.committed = committed

    def restore(self, stamped: Mapping[str, pa.Table]) -> None:
        """Hold the facts that a snapshot and later batches say are there."""
        for name, contents in self.contents.items():
            contents.restore(_stamps(stamped[name]) if name in stamped else {})

    def follow(self, delta: Delta) -> None:
        """Take over what a batch did that was read before."""
        for name, contents in self.contents.items():
            held = dict(contents.stamps)
            if name in delta.unstamped:
                for row in tuples_of(delta.unstamped[name]):
                    held.pop(row, None)
            if name in delta.stamped:
                held |= _stamps(delta.stamped[name])
            contents.restore(held)


def _stamps(table: pa.Table) -> dict[Row, Stamp]:
    *values, times, numbers = (column.to_pylist() for column in table.columns)
    rows = zip(*values, strict=True) if values else [()] * len(times)
    return dict(zip(rows, zip(times, numbers, strict=True), strict=True))


def work_out(
    facts: Sequence[Fact],
    soft: Soft,
    columns: Mapping[str, tuple[Column, ...]],
    bad: int,
) -> Delta:
    """Return what updates come to: the last word on each fact counts, windows let others go."""
    before = soft.committed
    mark = None if before.event is None else before.event - soft.delay
    late, arrivals, event = before.late, before.arrivals, before.event
    there: dict[str, dict[Row, bool]] = {}
    said: dict[str, Said] = {name: Said() for name in soft.contents}
    for fact in facts:
        if fact.time is not None:
            if mark is not None and fact.time < mark:
                late += 1
                continue
            event = fact.time if event is None else max(event, fact.time)
        if fact.relation not in soft.contents:
            there.setdefault(fact.relation, {})[fact.row] = fact.sign == "+"
            continue
        word = said[fact.relation]
        if fact.sign == "-":
            word.stamps[fact.row] = None
            word.forgotten.add(fact.row)
            continue
        if fact.time is None:
            raise DataError(
                Diagnostic(
                    "W1048",
                    f"a fact of `{fact.relation}` has no time, but its window goes by event time",
                    hint="give every update of a relation with a window a time",
                )
            )
        arrivals += 1
        stamp, old = (fact.time, arrivals), word.stamps.get(fact.row)
        word.stamps[fact.row] = stamp if old is None else max(old, stamp)
    delta = Delta()
    now = None if event is None else event - soft.delay
    for name, contents in soft.contents.items():
        effect, _ = contents.commit(said[name], now)
        there[name] = dict.fromkeys(effect.went, False) | dict.fromkeys(effect.came, True)
        touched = dict.fromkeys((*said[name].stamps, *effect.went))
        kept = [(row, contents.stamps[row]) for row in touched if row in contents.stamps]
        gone = [row for row in touched if row not in contents.stamps]
        if kept:
            delta.stamped[name] = _stamped(columns[name], kept)
        if gone:
            delta.unstamped[name] = table_of(columns[name], gone)
    for name, rows in there.items():
        came = [row for row, stays in rows.items() if stays]
        went = [row for row, stays in rows.items() if not stays]
        if came:
            delta.came[name] = table_of(columns[name], came)
        if went:
            delta.went[name] = table_of(columns[name], went)
    delta.told = {
        "arrivals": arrivals,
        "event": event,
        "late": late,
        "bad": before.bad + bad,
    }
    return delta


def _stamped(columns: Sequence[Column], facts: Sequence[tuple[Row, Stamp]]) -> pa.Table:
    table = table_of(columns, [row for row, _ in facts])
    times = pa.array([stamp[0] for _, stamp in facts], pa.float64())
    numbers = pa.array([stamp[1] for _, stamp in facts], pa.int64())
    if not columns:
        return pa.table({"@time": times, "@number": numbers})
    return table.append_column("@time", times).append_column("@number", numbers)


def lines_of(bad: Sequence[Bad]) -> Iterator[str]:
    """Return bad updates as lines of JSON, with what is wrong with each."""
    for one in bad:
        row: dict[str, Any] = {
            "source": one.source,
            "position": one.position,
            "text": one.text,
            "code": one.diagnostic.code,
            "message": one.diagnostic.message,
        }
        yield json.dumps(row, ensure_ascii=False)
