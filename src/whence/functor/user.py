"""Functors that the user registers: Python functions by name, on one row or on arrays of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from whence.functor.values import (
    DTYPES,
    MAX_NUMBER,
    MAX_UNSIGNED,
    MIN_NUMBER,
    Array,
    FunctorFault,
    Value,
    canonical_float,
    canonical_floats,
    text_array,
)
from whence.syntax.nodes import Kind


@dataclass(frozen=True, slots=True)
class UserFunctor:
    """A Python function under the name that a program calls it by, `@name(…)`.

    With `takes_arrays` it is given NumPy arrays of one length and returns one more; else it is
    given the values of one row.
    """

    name: str
    function: Callable[..., object]
    takes_arrays: bool = False

    def scalar(self, result: Kind, *args: Value) -> Value:
        """Return the value for one row, checked against the declared kind of the result."""
        if self.takes_arrays:
            columns = [np.array([arg], dtype=_dtype_of(arg)) for arg in args]
            (value,) = self.array(result, 1, *columns).tolist()
            return value  # type: ignore[no-any-return]
        return _checked(self.name, result, self._call(*args))

    def array(self, result: Kind, rows: int, *args: Array) -> Array:
        """Return the values for all rows, checked against the declared kind of the result."""
        if not self.takes_arrays:
            columns = [arg.tolist() for arg in args]
            values = [
                _checked(self.name, result, self._call(*row))
                for row in (zip(*columns, strict=True) if columns else [()] * rows)
            ]
            if result is Kind.SYMBOL:
                return text_array(values)  # type: ignore[arg-type]
            return np.array(values, dtype=DTYPES[result])
        out = np.asarray(self._call(*args))
        if out.shape != (rows,):
            raise FunctorFault(
                f"functor `{self.name}` returned an array of shape {out.shape} for {rows} rows"
            )
        return _checked_array(self.name, result, out)

    def _call(self, *args: object) -> object:
        try:
            return self.function(*args)
        except FunctorFault:
            raise
        except Exception as fault:
            what = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
            raise FunctorFault(f"functor `{self.name}` failed: {what}") from fault


def _dtype_of(value: Value) -> np.dtype[np.generic]:
    if isinstance(value, str):
        return DTYPES[Kind.SYMBOL]
    if isinstance(value, float):
        return DTYPES[Kind.FLOAT]
    return DTYPES[Kind.UNSIGNED if value > MAX_NUMBER else Kind.NUMBER]


def _wrong(name: str, kind: Kind, value: object) -> FunctorFault:
    return FunctorFault(
        f"functor `{name}` returned {type(value).__name__} `{str(value)[:40]}`, "
        f"which is no {kind.value}"
    )


def _checked(name: str, kind: Kind, value: object) -> Value:
    if kind is Kind.SYMBOL and isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # half a character, which no file could hold
            raise FunctorFault(f"functor `{name}` returned text that is not Unicode") from None
        return str(value)
    if kind is Kind.FLOAT and isinstance(value, (int, float, np.integer, np.floating)):
        return canonical_float(float(value))
    if isinstance(value, (int, np.integer)):
        low, high = (0, MAX_UNSIGNED) if kind is Kind.UNSIGNED else (MIN_NUMBER, MAX_NUMBER)
        if kind in (Kind.NUMBER, Kind.UNSIGNED) and low <= int(value) <= high:
            return int(value)
    raise _wrong(name, kind, value)


def _checked_array(name: str, kind: Kind, out: Array) -> Array:
    if kind is Kind.SYMBOL:
        return text_array([_checked(name, kind, value) for value in out.tolist()])  # type: ignore[misc]
    if out.dtype == np.bool_:
        out = out.astype(np.int64)
    if not np.can_cast(out.dtype, DTYPES[kind], "same_kind") or (
        kind is Kind.UNSIGNED
        and out.dtype.kind == "i"
        and bool(np.signbit(out.astype(np.float64)).any())
    ):
        raise FunctorFault(
            f"functor `{name}` returned {out.dtype} values, which are no {kind.value}"
        )
    cast = out.astype(DTYPES[kind])
    return canonical_floats(cast) if kind is Kind.FLOAT else cast


@dataclass(frozen=True, slots=True)
class UserFunctors:
    """The functors a session knows; adding one gives a new registry.

    >>> registry = UserFunctors().add("twice", lambda x: 2 * x)
    >>> registry["twice"].scalar(Kind.NUMBER, 21)
    42
    """

    functors: Mapping[str, UserFunctor] = field(default_factory=dict)

    def add(
        self, name: str, function: Callable[..., object], *, array: bool = False
    ) -> UserFunctors:
        """Return this registry with the function under `name`; `array` says it takes arrays."""
        return UserFunctors({**self.functors, name: UserFunctor(name, function, array)})

    def __getitem__(self, name: str) -> UserFunctor:
        return self.functors[name]

    def __contains__(self, name: object) -> bool:
        return name in self.functors

    def __iter__(self) -> Iterator[str]:
        return iter(self.functors)
