"""Records as text, in Soufflé's notation: `[1, [a, nil]]`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from whence.diagnostics import DataError, Diagnostic
from whence.engine.local.kernels.hashing import Ints
from whence.engine.local.values import NIL, Values, bits_float
from whence.functor.values import wrap_number, wrap_unsigned
from whence.syntax.nodes import Constant, Kind

MAX_DEPTH = 100_000

_DECODER = json.JSONDecoder(strict=False)


class RecordText:
    """Prints and parses records of declared types; `fields` names the types of their fields."""

    def __init__(
        self,
        values: Values,
        kinds: Mapping[str, Kind],
        fields: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._values = values
        self._kinds = kinds
        self._fields = fields

    def print(self, type_: str, codes: Ints) -> list[str]:
        """Return the text of each record."""
        known: dict[tuple[str, int], str] = {}
        return [self._print(type_, int(code), known) for code in codes]

    def _print(self, type_: str, code: int, known: dict[tuple[str, int], str]) -> str:
        """Print a record, and remember it and its fields: what a list is made of is long too.

        Remembering more than that would take memory in the square of a list's length.
        """
        if (type_, code) not in known:
            for field in self._parts(type_, code) if code != NIL else ():
                if self._kinds[field[0]] is Kind.RECORD and field not in known:
                    known[field] = self._text(*field, known)
            known[type_, code] = self._text(type_, code, known)
        return known[type_, code]

    def _text(self, type_: str, code: int, known: Mapping[tuple[str, int], str]) -> str:
        """Print from left to right with a stack of our own: lists nest deeply."""
        texts: list[str] = []
        pending: list[tuple[str, int] | str] = [(type_, code)]
        while pending:
            top = pending.pop()
            if isinstance(top, str):
                texts.append(top)
            elif self._kinds[top[0]] is not Kind.RECORD:
                texts.append(self._scalar(*top))
            elif top in known or top[1] == NIL:
                texts.append(known.get(top, "nil"))
            else:
                texts.append("[")
                pending.append("]")
                for place, part in enumerate(reversed(self._parts(*top))):
                    pending += [", ", part] if place else [part]
        return "".join(texts)

    def _parts(self, type_: str, code: int) -> list[tuple[str, int]]:
        """Return the fields of a record, each with its type."""
        types = self._fields[type_]
        codes = self._values.unpack(np.array([code], dtype=np.int64), len(types))[0]
        return list(zip(types, codes.tolist(), strict=True))

    def _scalar(self, type_: str, code: int) -> str:
        match self._kinds[type_]:
            case Kind.UNSIGNED:
                return str(wrap_unsigned(code))
            case Kind.FLOAT:
                return f"{bits_float(code):.17g}"  # enough to read the same float again
            case Kind.SYMBOL:
                return self._values.symbols.text(code)
            case _:
                return str(code)

    def parse(self, type_: str, texts: Sequence[str]) -> Ints:
        """Return the code of each record."""
        return np.array([_Parser(self, text).record(type_) for text in texts], dtype=np.int64)

    def pack(self, codes: list[int]) -> int:
        return int(self._values.pack(np.array([codes], dtype=np.int64))[0])

    def scalar_code(self, type_: str, text: str) -> int:
        """Return the code of a field's text; ValueError when it is not of its type."""
        kind = self._kinds[type_]
        if kind is not Kind.SYMBOL and "_" in text:  # Python's digit separator is nobody else's
            raise ValueError(text)
        match kind:
            case Kind.SYMBOL:
                return self._values.code(Constant(text, kind))
            case Kind.FLOAT:
                read = float.fromhex if "x" in text.lower() else float
                return self._values.code(Constant(read(text), kind))
            case _:
                base = {"0x": 16, "0b": 2}.get(text.lstrip("+-")[:2].lower(), 10)
                value = int(text, base)
                low, high = (0, 1 << 64) if kind is Kind.UNSIGNED else (-(1 << 63), 1 << 63)
                if not low <= value < high:
                    raise ValueError(text)
                return wrap_number(value)

    def scalar_end(self, text: str, at: int) -> int:
        """Return where the text of a field that begins here ends."""
        while at < len(text) and text[at] not in ",]":
            at += 1
        return at

    def kind(self, type_: str) -> Kind:
        return self._kinds[type_]

    def fields(self, type_: str) -> tuple[str, ...]:
        return self._fields[type_]


class ExactRecordText(RecordText):
    """Records between processes: symbols have quotes, so that any text is read as it was."""

    def _scalar(self, type_: str, code: int) -> str:
        if self._kinds[type_] is Kind.SYMBOL:
            return json.dumps(self._values.symbols.text(code))
        return super()._scalar(type_, code)

    def scalar_code(self, type_: str, text: str) -> int:
        """Return the code of a field's text."""
        if self._kinds[type_] is Kind.SYMBOL:
            return self._values.code(Constant(json.loads(text), Kind.SYMBOL))
        return super().scalar_code(type_, text)

    def scalar_end(self, text: str, at: int) -> int:
        """Return where the text of a field that begins here ends."""
        if text.startswith('"', at):
            return int(_DECODER.raw_decode(text, at)[1])
        return super().scalar_end(text, at)


class _Parser:
    """One record's text, read with a stack of open records."""

    def __init__(self, types: RecordText, text: str) -> None:
        self._types = types
        self._text = text
        self._at = 0

    def record(self, type_: str) -> int:
        open_: list[tuple[str, list[int]]] = []
        wanted = type_
        while True:
            value = self._value(wanted)
            if value is None:
                open_.append((wanted, []))
                if len(open_) > MAX_DEPTH:
                    raise self._error("a record nested less deeply")
            else:
                while True:
                    if not open_:
                        self._blanks()
                        if self._at < len(self._text):
                            raise self._error("nothing more")
                        return value
                    name, parts = open_[-1]
                    parts.append(value)
                    if len(parts) < len(self._types.fields(name)):
                        self._expect(",")
                        break
                    self._expect("]")
                    open_.pop()
                    value = self._types.pack(parts)
            name, parts = open_[-1]
            wanted = self._types.fields(name)[len(parts)]

    def _value(self, type_: str) -> int | None:
        """Read a scalar or nil; None when a record opens here."""
        self._blanks()
        text = self._text
        if self._types.kind(type_) is Kind.RECORD:
            if text.startswith("nil", self._at):
                self._at += 3
                return NIL
            self._expect("[")
            if self._types.fields(type_):
                return None
            self._expect("]")
            return self._types.pack([])
        end = self._types.scalar_end(text, self._at)
        piece = text[self._at : end]
        try:
            code = self._types.scalar_code(type_, piece.strip())
        except ValueError:
            raise self._error(f"a {self._types.kind(type_).value}") from None
        self._at = end
        return code

    def _blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1

    def _expect(self, mark: str) -> None:
        self._blanks()
        if not self._text.startswith(mark, self._at):
            raise self._error(f"`{mark}`")
        self._at += len(mark)

    def _error(self, wanted: str) -> DataError:
        shown = self._text if len(self._text) <= 60 else self._text[:60] + "…"
        return DataError(
            Diagnostic(
                "W0653",
                f"record `{shown}` is malformed at character {self._at + 1}: expected {wanted}",
            )
        )
