"""Aggregate functions, by name and by the kind of what is aggregated.

They see one value per solution of the body, not one per distinct value. Over no solution `count`
and `sum` are zero; `min`, `max` and `mean` have no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from whence.functor.arithmetic import greatest, least
from whence.functor.values import (
    Array,
    Floats,
    Ints,
    Value,
    canonical_float,
    canonical_floats,
    wrap_number,
    wrap_unsigned,
)
from whence.syntax.nodes import Kind

N, U, F = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One overload.

    `scalar` takes the values of one group, None being the answer over an empty one. `array` takes
    the values, the group of each value and the number of groups; where a group is empty and there
    is no `total` answer, what it gives means nothing.
    """

    name: str
    kind: Kind
    result: Kind
    scalar: Callable[[Sequence[Value]], Value | None]
    array: Callable[[Array, Ints, int], Array]
    total: bool = False


def _sum_floats(values: Sequence[float]) -> float:
    # Not sum(): from Python 3.12 it compensates rounding, which the array form does not.
    out = 0.0
    for value in values:
        out += value
    return canonical_float(out)


def _mean(values: Sequence[float]) -> float | None:
    return canonical_float(_sum_floats(values) / len(values)) if values else None


def _sum_each(values: Array, groups: Ints, count: int) -> Array:
    out = np.zeros(count, dtype=values.dtype)
    np.add.at(out, groups, values)
    return out


def _sum_each_float(values: Floats, groups: Ints, count: int) -> Floats:
    with np.errstate(all="ignore"):
        return canonical_floats(
            np.bincount(groups, weights=values, minlength=count).astype(np.float64)
        )


def _mean_each(values: Floats, groups: Ints, count: int) -> Floats:
    with np.errstate(all="ignore"):
        sizes = np.bincount(groups, minlength=count)
        return canonical_floats(_sum_each_float(values, groups, count) / sizes)


def _count_each(_values: Array, groups: Ints, count: int) -> Ints:
    return np.bincount(groups, minlength=count).astype(np.int64)


def _least_each(values: Array, groups: Ints, count: int) -> Array:
    return _extreme_each(np.fmin, values, groups, count)


def _greatest_each(values: Array, groups: Ints, count: int) -> Array:
    return _extreme_each(np.fmax, values, groups, count)


def _extreme_each(pick: np.ufunc, values: Array, groups: Ints, count: int) -> Array:
    out = np.zeros(count, dtype=values.dtype)
    first = np.full(count, len(values), dtype=np.int64)
    np.minimum.at(first, groups, np.arange(len(values)))
    present = first < len(values)
    out[present] = values[first[present]]
    pick.at(out, groups, values)
    return out


def _least(values: Sequence[float]) -> float | None:
    """Return the least value; a NaN only when there is nothing else."""
    numbers = [v for v in values if v == v]
    return least(*numbers) if numbers else (values[0] if values else None)


def _greatest(values: Sequence[float]) -> float | None:
    numbers = [v for v in values if v == v]
    return greatest(*numbers) if numbers else (values[0] if values else None)


_TABLE: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction("count", N, N, len, _count_each, total=True),
    AggregateFunction("sum", N, N, lambda v: wrap_number(sum(v)), _sum_each, total=True),  # type: ignore[arg-type]
    AggregateFunction("sum", U, U, lambda v: wrap_unsigned(sum(v)), _sum_each, total=True),  # type: ignore[arg-type]
    AggregateFunction("sum", F, F, _sum_floats, _sum_each_float, total=True),  # type: ignore[arg-type]
    AggregateFunction("mean", F, F, _mean, _mean_each),  # type: ignore[arg-type]
    *(AggregateFunction("min", k, k, _least, _least_each) for k in (N, U, F)),  # type: ignore[arg-type]
    *(AggregateFunction("max", k, k, _greatest, _greatest_each) for k in (N, U, F)),  # type: ignore[arg-type]
)

AGGREGATES: Final[Mapping[tuple[str, Kind], AggregateFunction]] = MappingProxyType(
    {(a.name, a.kind): a for a in _TABLE}
)
