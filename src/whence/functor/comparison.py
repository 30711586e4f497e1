"""The predicates of constraints, by operator and kind.

Floats are equal when their bits are, so a NaN equals itself, as it does in a join; symbols are
ordered by code point, which is also the order of their UTF-8 bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np

from whence.functor.pattern import fits, match_each
from whence.functor.values import Array, Bools, Floats, Texts
from whence.syntax.nodes import Kind

N, U, F, S, R = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL, Kind.RECORD


@dataclass(frozen=True, slots=True)
class Comparison:
    """One predicate; with `codes`, it may as well compare the 64-bit codes of the values."""

    op: str
    kind: Kind
    scalar: Callable[..., bool]
    array: Callable[..., Bools]
    codes: bool = False


def _equal_float(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def _equal_floats(a: Floats, b: Floats) -> Bools:
    both_nan: Bools = np.isnan(a) & np.isnan(b)
    return np.equal(a, b) | both_nan


def _truths(compare: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Bools]:
    # Comparing object arrays gives an object array.
    return lambda a, b: compare(a, b).astype(np.bool_)


def _contains(part: str, text: str) -> bool:
    return part in text


def _contains_each(parts: Texts, texts: Texts) -> Bools:
    rows = zip(parts.tolist(), texts.tolist(), strict=True)
    return np.fromiter((part in text for part, text in rows), dtype=np.bool_, count=len(texts))


_TABLE: Final[tuple[Comparison, ...]] = (
    *(Comparison("=", k, operator.eq, _truths(np.equal), codes=True) for k in (N, U, S, R)),
    *(Comparison("!=", k, operator.ne, _truths(np.not_equal), codes=True) for k in (N, U, S, R)),
    Comparison("=", F, _equal_float, _equal_floats, codes=True),
    Comparison(
        "!=",
        F,
        lambda a, b: not _equal_float(a, b),
        lambda a, b: ~_equal_floats(a, b),
        codes=True,
    ),
    *(Comparison("<", k, operator.lt, _truths(np.less), codes=k is N) for k in (N, U, F, S)),
    *(Comparison("<=", k, operator.le, _truths(np.less_equal), codes=k is N) for k in (N, U, F, S)),
    *(Comparison(">", k, operator.gt, _truths(np.greater), codes=k is N) for k in (N, U, F, S)),
    *(
        Comparison(">=", k, operator.ge, _truths(np.greater_equal), codes=k is N)
        for k in (N, U, F, S)
    ),
    Comparison("match", S, fits, match_each),
    Comparison("not_match", S, partial(fits, negated=True), partial(match_each, negated=True)),
    Comparison("contains", S, _contains, _contains_each),
    Comparison(
        "not_contains",
        S,
        lambda part, text: part not in text,
        lambda parts, texts: ~_contains_each(parts, texts),
    ),
)

COMPARISONS: Final[Mapping[tuple[str, Kind], Comparison]] = MappingProxyType(
    {(c.op, c.kind): c for c in _TABLE}
)

NEGATED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "=": "!=",
        "!=": "=",
        "<": ">=",
        ">=": "<",
        ">": "<=",
        "<=": ">",
        "match": "not_match",
        "not_match": "match",
        "contains": "not_contains",
        "not_contains": "contains",
    }
)
"""The operator that Soufflé reads `!(a op b)` as."""

ORDERED: Final = frozenset(("<", "<=", ">", ">="))
TEXTUAL: Final = frozenset(("match", "not_match", "contains", "not_contains"))
