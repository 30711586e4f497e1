"""Single values between people and rows: what `arrow.py` does for tables, for a few tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from whence.diagnostics import Diagnostic, LimitError
from whence.engine.local.columns import Columns
from whence.engine.local.values import NIL, Values, bits_float, float_bits
from whence.functor.values import wrap_number, wrap_unsigned
from whence.syntax.nodes import Kind, RelationDecl

Value: TypeAlias = "int | float | str | tuple[Value, ...] | None"
Decoder: TypeAlias = Callable[[int], Value]

MAX_DEPTH = 10_000
"""Python compares and hashes tuples by recursion; beyond so many levels it would not end well."""


class Codec:
    """The values of an evaluation's columns; a record is a tuple, the same one each time."""

    def __init__(
        self,
        decls: Mapping[str, RelationDecl],
        kinds: Mapping[str, Kind],
        fields: Mapping[str, tuple[str, ...]],
        columns: Columns,
        values: Values,
    ) -> None:
        self._decls = decls
        self._kinds = kinds
        self._fields = fields
        self._columns = columns
        self._values = values
        self._decoders: dict[str, list[Decoder | None]] = {}
        self._records: dict[tuple[str, int], tuple[Value, ...]] = {}

    def row(self, relation: str, codes: Sequence[int]) -> tuple[Value, ...]:
        """Return the values of the first columns of a row of codes."""
        decoders = self._decoders.get(relation)
        if decoders is None:
            decoders = self._decoders[relation] = self._make(relation)
        return tuple(
            [
                code if decode is None else decode(code)
                for code, decode in zip(codes, decoders, strict=False)
            ]
        )

    def code(self, relation: str, column: int, value: Value) -> int | None:
        """Return the code of a value in a column, None if the column never held such a value."""
        found = self._code(self._decls[relation].attributes[column].type, value)
        dictionary = self._columns.dictionary(relation, column)
        if found is None or dictionary is None:
            return found
        return int(dictionary.encode(np.array([[found]], dtype=np.int64))[0])

    def reread(self, value: Value, type_: str) -> Value:
        """Return what a value is when its code is read as of another type."""
        kind = self._kinds[type_]
        if kind is Kind.RECORD or value is None or isinstance(value, tuple):
            return value
        source = {int: "number", float: "float", str: "symbol"}[type(value)]
        code = self._code(source, value)
        return value if code is None else self._scalar(kind, code)

    def ordinal(self, value: Value) -> int:
        """Return the number of a symbol or record that was seen, -1 of others."""
        if isinstance(value, str):
            found = self._values.symbols.find(value)
            return -1 if found is None else found
        if value is None:
            return NIL
        return next((code for (_, code), known in self._records.items() if known == value), -1)

    # ── decoding ──

    def _make(self, relation: str) -> list[Decoder | None]:
        return [
            self._decoder(relation, column, attribute.type)
            for column, attribute in enumerate(self._decls[relation].attributes)
        ]

    def _decoder(self, relation: str, column: int, type_: str) -> Decoder | None:
        dictionary = self._columns.dictionary(relation, column)
        kind = self._kinds[type_]
        if kind is Kind.RECORD:
            return lambda code: self._record(type_, code)
        if dictionary is None:
            return None if kind is Kind.NUMBER else lambda code: self._scalar(kind, code)
        return lambda code: self._scalar(kind, int(dictionary.rows[code, 0]))

    def _scalar(self, kind: Kind, code: int) -> int | float | str:
        match kind:
            case Kind.UNSIGNED:
                return wrap_unsigned(code)
            case Kind.FLOAT:
                return bits_float(code)
            case Kind.SYMBOL:
                return self._values.symbols.text(code)
            case _:
                return code

    def _record(self, type_: str, code: int) -> tuple[Value, ...] | None:
        """Return a record, innermost ones first, with a stack of our own: lists nest deeply."""
        known = self._records
        pending = [(type_, code)] if code != NIL else []
        while pending:
            top = pending[-1]
            if top in known:
                pending.pop()
                continue
            parts = self._parts(*top)
            missing = [
                part
                for part in parts
                if self._kinds[part[0]] is Kind.RECORD and part[1] != NIL and part not in known
            ]
            if missing:
                pending += missing
                if len(pending) > MAX_DEPTH:
                    raise too_deep()
                continue
            known[top] = tuple(
                [
                    (known.get(part) if part[1] != NIL else None)
                    if self._kinds[part[0]] is Kind.RECORD
                    else self._scalar(self._kinds[part[0]], part[1])
                    for part in parts
                ]
            )
        return known.get((type_, code))

    def _parts(self, type_: str, code: int) -> list[tuple[str, int]]:
        types = self._fields[type_]
        codes = self._values.unpack(np.array([code], dtype=np.int64), len(types))[0]
        return list(zip(types, codes.tolist(), strict=True))

    # ── encoding ──

    def _code(self, type_: str, value: Value) -> int | None:
        match value:
            case None:
                return NIL
            case str():
                return self._values.symbols.find(value)
            case float():
                return float_bits(value)
            case int():
                return wrap_number(value)
            case _:
                return self._record_code(type_, value)

    def _record_code(self, type_: str, value: tuple[Value, ...]) -> int | None:
        """Return the code of a record, its parts first, with a stack of our own."""
        done: list[int | None] = []
        pending: list[tuple[str, Value, bool]] = [(type_, value, False)]
        while pending:
            name, item, ready = pending.pop()
            if not isinstance(item, tuple):
                done.append(self._code(name, item))
            elif not ready:
                pending.append((name, item, True))
                fields = zip(self._fields[name], item, strict=True)
                pending.extend((field, part, False) for field, part in reversed(list(fields)))
            else:
                parts = done[len(done) - len(item) :]
                del done[len(done) - len(item) :]
                known = [part for part in parts if part is not None]
                done.append(self._pack(known) if len(known) == len(item) else None)
        return done[0]

    def _pack(self, parts: list[int]) -> int:
        return int(self._values.pack(np.array([parts], dtype=np.int64).reshape(1, -1))[0])


def too_deep() -> LimitError:
    """Return the error that says that a record cannot be shown."""
    message = f"a record is nested more than {MAX_DEPTH:,} levels deep"
    return LimitError(
        Diagnostic("W0958", message, hint="facts with such records are not explained")
    )
