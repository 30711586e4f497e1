"""Between the values people see and the 64-bit codes that rows hold.

Numbers are their own codes; an unsigned or a float is its bits; a symbol and a record are the
numbers that their dictionaries give them, nil being 0.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import numpy as np

from whence.engine.local.dictionary import Dictionary, Symbols
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.functor.values import Array, canonical_float, canonical_floats, wrap_number
from whence.syntax.nodes import Constant, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

NIL = 0


class Values:
    """The dictionaries of one evaluation, or of several that share codes."""

    def __init__(self, symbols: Symbols | None = None) -> None:
        self.symbols = symbols if symbols is not None else Symbols()
        self.records: dict[int, Dictionary] = {}

    @property
    def size(self) -> int:
        """How many symbols and records have a number."""
        return len(self.symbols) + sum(d.size for d in self.records.values())

    # ── single values ──

    def code(self, constant: Constant) -> int:
        """Return the code of a constant."""
        value = constant.value
        match constant.kind:
            case Kind.SYMBOL:
                return self.symbols.code(str(value))
            case Kind.FLOAT:
                return float_bits(float(value))
            case _:
                return wrap_number(int(value))

    # ── arrays ──

    def decode(self, codes: Ints, kind: Kind) -> Array:
        """Return what the functors compute with."""
        match kind:
            case Kind.UNSIGNED:
                return codes.view(np.uint64)
            case Kind.FLOAT:
                return codes.view(np.float64)
            case Kind.SYMBOL:
                return self.symbols.texts(codes)
            case _:
                return codes

    def encode(self, values: Array, kind: Kind) -> Ints:
        """Return the codes of what the functors computed."""
        match kind:
            case Kind.UNSIGNED:
                return np.asarray(values, dtype=np.uint64).view(np.int64)
            case Kind.FLOAT:
                return canonical_floats(np.asarray(values, dtype=np.float64)).view(np.int64)
            case Kind.SYMBOL:
                return self.symbols.codes(values.tolist())
            case _:
                return np.asarray(values, dtype=np.int64)

    # ── records ──

    def pack(self, rows: Rows) -> Ints:
        """Return the codes of the records with these fields."""
        return self._records(rows.shape[1]).encode(rows) + 1

    def unpack(self, codes: Ints, arity: int) -> Rows:
        """Return the fields of the records; none of them is nil."""
        return self._records(arity).rows[codes - 1]

    def _records(self, arity: int) -> Dictionary:
        found = self.records.get(arity)
        if found is None:
            found = self.records.setdefault(arity, Dictionary(arity))
        return found


def float_bits(value: float) -> int:
    """Return the code of a float."""
    (bits,) = struct.unpack("<q", struct.pack("<d", canonical_float(value)))
    return int(bits)


def bits_float(code: int) -> float:
    """Return the float of a code."""
    (value,) = struct.unpack("<d", struct.pack("<q", code))
    return math.nan if value != value else float(value)


def constant_rows(values: Values, facts: Sequence[Sequence[Constant]]) -> Rows:
    """Return rows of the codes of constants."""
    return np.array([[values.code(c) for c in fact] for fact in facts], dtype=np.int64)
