"""Tuples on the wire: rows of 64-bit cells, and the texts and records that codes stand for.

Codes of symbols and records are the sender's own. What a code stands for travels once to each
peer, before the first row that has it; the peer keeps a table from the sender's codes to its own.
Numbers that a sender has renumbered are restored first. So no task knows all symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whence.engine.local.columns import Columns
from whence.engine.local.kernels.hashing import Ints, Rows, Small
from whence.engine.local.values import NIL, Values
from whence.syntax.nodes import Kind, RelationDecl

PART_CELLS = 1 << 20
"""Rows are sent in parts of about this many cells."""

_TOLD = -1
"""In the table of a type's records: the peer knows this one."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """Texts with the codes that the sender has for them."""

    codes: Ints
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one type with their codes; what their fields refer to has been told before."""

    type: str
    codes: Ints
    fields: Rows


@dataclass(frozen=True, slots=True)
class Tuples:
    """New tuples of a copy."""

    copy: str
    rows: Rows


Part = Symbols | Records | Tuples


@dataclass(frozen=True, slots=True)
class Words:
    """What the codes of one task's evaluation mean."""

    values: Values
    columns: Columns
    decls: Mapping[str, RelationDecl]
    kinds: Mapping[str, tuple[Kind, ...]]
    types: Mapping[str, Kind]
    fields: Mapping[str, tuple[str, ...]]

    def spoken(self, relation: str) -> tuple[tuple[int, Kind, str], ...]:
        """Return the columns of a relation whose codes need explaining, with kind and type."""
        kinds, attributes = self.kinds[relation], self.decls[relation].attributes
        return tuple(
            (column, kind, attribute.type)
            for column, (kind, attribute) in enumerate(zip(kinds, attributes, strict=True))
            if kind in (Kind.SYMBOL, Kind.RECORD)
        )


class Outgoing:
    """What one peer has been told."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._symbols: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._records: dict[str, Small] = {}

    def parts(self, copy: str, rows: Rows) -> Iterator[Part]:
        """Return rows of a copy as they are sent, after what the peer needs to understand them."""
        words = self._words
        renumbered, spoken = words.columns.renumbered(copy), words.spoken(copy)
        step = max(1, PART_CELLS // max(1, rows.shape[1]))
        for begin in range(0, rows.shape[0], step):
            part = rows[begin : begin + step]
            if renumbered:
                part = part.copy()
                for column in renumbered:
                    part[:, column] = words.columns.restore(copy, part, (column,))[0]
            if spoken:
                symbols: list[Ints] = []
                records: dict[str, list[Ints]] = {}
                for column, kind, type_ in spoken:
                    if kind is Kind.SYMBOL:
                        symbols.append(part[:, column])
                    else:
                        records.setdefault(type_, []).append(part[:, column])
                yield from self._explain(symbols, records)
            yield Tuples(copy, part)

    def _explain(self, symbols: list[Ints], records: dict[str, list[Ints]]) -> Iterator[Part]:
        found = list(self._new_records(records, symbols))
        fresh = self._new_symbols(symbols)
        if fresh.shape[0]:
            yield Symbols(fresh, self._words.values.symbols.texts(fresh).tolist())
        yield from found

    def _new_symbols(self, codes: list[Ints]) -> Ints:
        """Return the codes among these that the peer has not been told, each once."""
        if not codes:
            return np.empty(0, dtype=np.int64)
        known = len(self._words.values.symbols)
        if self._symbols.shape[0] < known:
            told = np.zeros(2 * known, dtype=np.bool_)
            told[: self._symbols.shape[0]] = self._symbols
            self._symbols = told
        fresh = np.unique(np.concatenate([c[~self._symbols[c]] for c in codes]))
        self._symbols[fresh] = True
        return fresh

    def _new_records(
        self, codes: Mapping[str, list[Ints]], symbols: list[Ints]
    ) -> Iterator[Records]:
        """Return what the peer has not been told, the innermost records first.

        Level by level from the outside: a record that is met again further inside moves there.
        Symbols in their fields are added to `symbols`.
        """
        words = self._words
        met: dict[str, list[Ints]] = {}
        front, level = dict(codes), 0
        while front:
            level += 1
            inside: dict[str, list[Ints]] = {}
            for type_, arrays in front.items():
                state = self._state(type_)
                fresh = np.unique(np.concatenate([c[state[c] != _TOLD] for c in arrays]))
                if not fresh.shape[0]:
                    continue
                state[fresh] = level
                met.setdefault(type_, []).append(fresh)
                rows = words.values.unpack(fresh, len(words.fields[type_]))
                for column, field in enumerate(words.fields[type_]):
                    if words.types[field] is Kind.RECORD:
                        inside.setdefault(field, []).append(rows[:, column])
                    elif words.types[field] is Kind.SYMBOL:
                        symbols.append(rows[:, column])
            front = inside
        levels: list[tuple[int, str, Ints]] = []
        for type_, found in met.items():
            every, state = np.unique(np.concatenate(found)), self._records[type_]
            at = state[every]
            levels.extend((int(k), type_, every[at == k]) for k in np.unique(at))
            state[every] = _TOLD
        for _, type_, chosen in sorted(levels, key=lambda entry: -entry[0]):
            yield Records(type_, chosen, words.values.unpack(chosen, len(words.fields[type_])))

    def _state(self, type_: str) -> Small:
        """Return the level of each record of a type, 0 for one not met, at its code."""
        arity = len(self._words.fields[type_])
        dictionary = self._words.values.records.get(arity)
        need = 1 + (0 if dictionary is None else dictionary.size)
        state = self._records.get(type_)
        if state is None or state.shape[0] < need:
            wider = np.zeros(2 * need, dtype=np.int32)
            if state is not None:
                wider[: state.shape[0]] = state
            wider[NIL] = _TOLD
            self._records[type_] = state = wider
        return state


class Incoming:
    """What one peer has told: a table from its codes to ours for symbols, and for each type."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._symbols: Ints = np.zeros(0, dtype=np.int64)
        self._records: dict[str, Ints] = {}

    def symbols(self, part: Symbols) -> None:
        """Take in texts."""
        self._symbols = _entered(
            self._symbols, part.codes, self._words.values.symbols.codes(part.texts)
        )

    def records(self, part: Records) -> None:
        """Take in records."""
        words = self._words
        rows = np.array(part.fields)
        for column, field in enumerate(words.fields[part.type]):
            self._translate(rows, column, words.types[field], field)
        known = self._records.get(part.type, np.zeros(1, dtype=np.int64))
        self._records[part.type] = _entered(known, part.codes, words.values.pack(rows))

    def rows(self, part: Tuples) -> Rows:
        """Return tuples as rows of our own codes."""
        words = self._words
        rows = np.array(part.rows)  # what came is not ours to write, which kernels assume
        for column, kind, type_ in words.spoken(part.copy):
            self._translate(rows, column, kind, type_)
        words.columns.renumber(part.copy, rows, range(rows.shape[1]))
        return rows

    def _translate(self, rows: Rows, column: int, kind: Kind, type_: str) -> None:
        if kind is Kind.SYMBOL:
            rows[:, column] = self._symbols[rows[:, column]]
        elif kind is Kind.RECORD:
            known = self._records.get(type_, np.zeros(1, dtype=np.int64))
            rows[:, column] = known[rows[:, column]]


def _entered(table: Ints, codes: Ints, ours: Ints) -> Ints:
    need = int(codes.max()) + 1 if codes.shape[0] else 0
    if table.shape[0] < need:
        wider = np.zeros(2 * need, dtype=np.int64)
        wider[: table.shape[0]] = table
        table = wider
    table[codes] = ours
    return table


# ── cells ──


def to_cells(part: Part) -> tuple[dict[str, int | str], Ints]:
    """Return a part as a header for people to read and cells for the wire."""
    match part:
        case Tuples(copy=copy, rows=rows):
            header: dict[str, int | str] = {"part": "tuples", "copy": copy, "rows": rows.shape[0]}
            return header, np.ascontiguousarray(rows).reshape(-1)
        case Records(type=type_, codes=codes, fields=fields):
            header = {"part": "records", "type": type_, "rows": codes.shape[0]}
            return header, np.concatenate([codes, np.ascontiguousarray(fields).reshape(-1)])
        case Symbols(codes=codes, texts=texts):
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
            ends = np.cumsum([len(e) for e in encoded], dtype=np.int64)
            whole = b"".join(encoded)
            padded = np.frombuffer(whole + bytes(-len(whole) % 8), dtype=np.int64)
            return {"part": "symbols", "rows": len(texts)}, np.concatenate([codes, ends, padded])


def from_cells(header: Mapping[str, int | str], cells: Ints) -> Part:
    """Return the part that a header and its cells stand for."""
    n = int(header["rows"])
    match header["part"]:
        case "tuples":
            return Tuples(str(header["copy"]), cells.reshape(n, cells.shape[0] // max(1, n)))
        case "records":
            fields = cells[n:].reshape(n, cells.shape[0] // max(1, n) - 1)
            return Records(str(header["type"]), cells[:n], fields)
        case _:
            whole, ends = cells[2 * n :].tobytes(), cells[n : 2 * n].tolist()
            spans = zip([0, *ends], ends, strict=False)
            texts = [whole[a:b].decode("utf-8", "surrogatepass") for a, b in spans]
            return Symbols(cells[:n], texts)
