"""The built-in functors: one table, by name and by the kind of the first argument.

`Call.kind` is the second half of the key. Scalar forms define a functor; array forms must agree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np

from whence.functor import arithmetic as a
from whence.functor import conversion as c
from whence.functor import text as t
from whence.functor.values import Array, Value, canonical_float, wrap_number, wrap_unsigned
from whence.syntax.nodes import Kind

N, U, F, S, R = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL, Kind.RECORD


@dataclass(frozen=True, slots=True)
class Functor:
    """One overload of a built-in functor.

    `array` takes arrays of one length, at least one-dimensional. A `variadic` functor takes any
    number of arguments of its one parameter's kind. With `codes`, the arguments are the 64-bit
    codes of the values instead of the values.
    """

    name: str
    params: tuple[Kind, ...]
    result: Kind
    scalar: Callable[..., Value]
    array: Callable[..., Array]
    variadic: bool = False
    codes: bool = False

    def accepts(self, arity: int) -> bool:
        return self.variadic or arity == len(self.params)


T = TypeVar("T")


def _same(value: T) -> T:
    return value


def _wrapped(wrap: Callable[[int], int], compute: Callable[..., int]) -> Callable[..., int]:
    return lambda *args: wrap(compute(*args))


def _canonical(compute: Callable[..., float]) -> Callable[..., float]:
    return lambda *args: canonical_float(compute(*args))


def _integers() -> Iterator[Functor]:
    """Yield what numbers and unsigned numbers share: modular arithmetic, bits and truth."""
    for kind, wrap in ((N, wrap_number), (U, wrap_unsigned)):
        for name, scalar, array in (
            ("+", operator.add, operator.add),
            ("-", operator.sub, operator.sub),
            ("*", operator.mul, operator.mul),
            ("band", operator.and_, np.bitwise_and),
            ("bor", operator.or_, np.bitwise_or),
            ("bxor", operator.xor, np.bitwise_xor),
            ("land", a.both, a.both_of_each),
            ("lor", a.either, a.either_of_each),
            ("lxor", a.one_of, a.one_of_each),
        ):
            yield Functor(name, (kind, kind), kind, _wrapped(wrap, scalar), array)
        yield Functor("bnot", (kind,), kind, _wrapped(wrap, operator.invert), np.invert)
        yield Functor("lnot", (kind,), kind, a.neither, a.neither_of_each)


def _binary(name: str, kind: Kind, scalar: Callable[..., Value], array: object) -> Functor:
    return Functor(name, (kind, kind), kind, scalar, array)  # type: ignore[arg-type]


_TABLE: Final[tuple[Functor, ...]] = (
    *_integers(),
    # numbers
    Functor("neg", (N,), N, _wrapped(wrap_number, operator.neg), np.negative),
    _binary("/", N, a.divide_number, a.divide_numbers),
    _binary("%", N, a.modulo_number, a.modulo_numbers),
    _binary("^", N, a.power_number, a.power_numbers),
    _binary("bshl", N, a.shift_left_number, a.shift_left_numbers),
    _binary("bshr", N, a.shift_right_number, a.shift_right_numbers),
    _binary("bshru", N, a.shift_right_number_unsigned, a.shift_right_numbers_unsigned),
    # unsigned
    _binary("/", U, a.divide_unsigned, a.divide_unsigneds),
    _binary("%", U, a.modulo_unsigned, a.modulo_unsigneds),
    _binary("^", U, a.power_unsigned, a.power_unsigneds),
    _binary("bshl", U, a.shift_left_unsigned, a.shift_left_unsigneds),
    _binary("bshr", U, a.shift_right_number, a.shift_right_unsigneds),
    _binary("bshru", U, a.shift_right_number, a.shift_right_unsigneds),
    # floats
    Functor("neg", (F,), F, _canonical(operator.neg), a.negate_floats),
    _binary("+", F, _canonical(operator.add), a.add_floats),
    _binary("-", F, _canonical(operator.sub), a.subtract_floats),
    _binary("*", F, _canonical(operator.mul), a.multiply_floats),
    _binary("/", F, a.divide_float, a.divide_floats),
    _binary("^", F, a.power_float, a.power_floats),
    # annotations; it has a name that nobody can write
    _binary("@bounded", F, a.bounded, a.bounded_each),
    # order
    *(Functor("min", (k,), k, a.least, a.least_of_each, variadic=True) for k in (N, U, F, S)),
    *(Functor("max", (k,), k, a.greatest, a.greatest_of_each, variadic=True) for k in (N, U, F, S)),
    # text
    _binary("+", S, t.concatenate, t.concatenate_each),
    Functor("cat", (S,), S, t.concatenate, t.concatenate_each, variadic=True),
    Functor("strlen", (S,), N, t.length, t.length_of_each),
    Functor("substr", (S, N, N), S, t.substring, t.substring_of_each),
    # conversions
    Functor("to_number", (N,), N, _same, _same),
    Functor("to_number", (U,), N, wrap_number, c.numbers_of_unsigneds),
    Functor("to_number", (F,), N, c.number_of_float, c.numbers_of_floats),
    Functor("to_number", (S,), N, c.number_of_symbol, c.numbers_of_symbols),
    Functor("to_unsigned", (N,), U, wrap_unsigned, c.unsigneds_of_numbers),
    Functor("to_unsigned", (U,), U, _same, _same),
    Functor("to_unsigned", (F,), U, c.unsigned_of_float, c.unsigneds_of_floats),
    Functor("to_unsigned", (S,), U, c.unsigned_of_symbol, c.unsigneds_of_symbols),
    Functor("to_float", (N,), F, float, c.floats_of_integers),
    Functor("to_float", (U,), F, float, c.floats_of_integers),
    Functor("to_float", (F,), F, _same, _same),
    Functor("to_float", (S,), F, c.float_of_symbol, c.floats_of_symbols),
    Functor("to_string", (N,), S, str, c.symbols_of_integers),
    Functor("to_string", (U,), S, str, c.symbols_of_integers),
    Functor("to_string", (F,), S, c.symbol_of_float, c.symbols_of_floats),
    Functor("to_string", (S,), S, _same, _same),
    Functor("itou", (N,), U, wrap_unsigned, c.unsigneds_of_numbers),
    Functor("itof", (N,), F, float, c.floats_of_integers),
    Functor("utoi", (U,), N, wrap_number, c.numbers_of_unsigneds),
    Functor("utof", (U,), F, float, c.floats_of_integers),
    Functor("ftoi", (F,), N, c.number_of_float, c.numbers_of_floats),
    Functor("ftou", (F,), U, c.unsigned_of_float, c.unsigneds_of_floats),
    # the bits of a value
    Functor("ord", (N,), N, _same, _same),
    Functor("ord", (U,), N, wrap_number, c.numbers_of_unsigneds),
    Functor("ord", (F,), N, c.ordinal_of_float, c.ordinals_of_floats),
    Functor("ord", (S,), N, _same, _same, codes=True),
    Functor("ord", (R,), N, _same, _same, codes=True),
)

FUNCTORS: Final[Mapping[tuple[str, Kind], Functor]] = MappingProxyType(
    {(f.name, f.params[0]): f for f in _TABLE}
)

INFIX: Final = frozenset(
    (
        *("+", "-", "*", "/", "%", "^", "land", "lor", "lxor"),
        *("band", "bor", "bxor", "bshl", "bshr", "bshru"),
    )
)
"""Functors written between their arguments: those only have to agree in kind, not in type."""

_ORDER: Final = {S: 0, N: 1, U: 2, F: 3, R: 4}


def overloads(name: str) -> tuple[Functor, ...]:
    """Return the overloads of a functor, the one to prefer first; none when there is no such."""
    return _OVERLOADS.get(name, ())


_OVERLOADS: Final[Mapping[str, tuple[Functor, ...]]] = {
    name: tuple(
        sorted(
            (f for f in _TABLE if f.name == name),
            key=lambda f: (_ORDER[f.result], [_ORDER[p] for p in f.params]),
        )
    )
    for name in dict.fromkeys(f.name for f in _TABLE)
}
