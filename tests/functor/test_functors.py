"""Scalar forms define the functors; array forms must agree, row by row, fault by fault."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.functor import AGGREGATES, COMPARISONS, DTYPES, FUNCTORS, FunctorFault
from whence.functor.values import MAX_NUMBER, MAX_UNSIGNED, MIN_NUMBER, Array, canonical_float
from whence.syntax.nodes import Kind

edges = st.sampled_from([0, 1, -1, 2, -2, 3, 63, 64, 65, MIN_NUMBER, MAX_NUMBER, MIN_NUMBER + 1])
numbers = edges | st.integers(MIN_NUMBER, MAX_NUMBER) | st.integers(-100, 100)
unsigneds = st.sampled_from([0, 1, 2, 63, 64, MAX_UNSIGNED]) | st.integers(0, MAX_UNSIGNED)
floats = st.floats(width=64).map(canonical_float) | st.sampled_from([0.0, 1.0, -1.0, 0.5])
digits = st.from_regex(
    r"\s?[-+]?(0x[0-9a-f]+|0b[01]+|[0-9]{1,21}|[0-9]*\.[0-9]+)x?", fullmatch=True
)
symbols = st.text(max_size=8) | digits | st.sampled_from(["", "a", "ab", "é", "nan", "-inf"])
VALUES = {
    Kind.NUMBER: numbers,
    Kind.UNSIGNED: unsigneds,
    Kind.FLOAT: floats,
    Kind.SYMBOL: symbols.filter(lambda s: not any(0xD800 <= ord(c) < 0xE000 for c in s)),
    Kind.RECORD: numbers,
}
CODES = st.integers(0, 1000)


def column(kind: Kind, values: list[object]) -> Array:
    out = np.empty(len(values), dtype=DTYPES[kind])
    out[:] = values
    return out


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    return type(a) is type(b) and a == b


def agree(
    scalar: Callable[..., object],
    array: Callable[..., Array],
    kinds: list[Kind],
    rows: list[tuple[object, ...]],
) -> None:
    """Compare on the rows that have a value, and check that the others fault."""
    good: list[tuple[object, ...]] = []
    expected: list[object] = []
    for row in rows:
        try:
            expected.append(scalar(*row))
            good.append(row)
        except FunctorFault:
            with pytest.raises(FunctorFault):
                array(*(column(k, [v]) for k, v in zip(kinds, row, strict=True)))
    if not good:
        return
    columns = [column(k, list(v)) for k, v in zip(kinds, zip(*good, strict=True), strict=True)]
    got = array(*columns).tolist()
    for row, a, b in zip(good, expected, got, strict=True):
        assert same(a, b), (row, a, b)


@pytest.mark.parametrize("key", FUNCTORS, ids=lambda k: f"{k[0]} {k[1].value}")
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_array_form_agrees_with_the_scalar_form(
    key: tuple[str, Kind], data: st.DataObject
) -> None:
    functor = FUNCTORS[key]
    arity = data.draw(st.integers(1, 4)) if functor.variadic else len(functor.params)
    kinds = [functor.params[0]] * arity if functor.variadic else list(functor.params)
    if functor.codes:
        kinds = [Kind.NUMBER]
    cells = [CODES if functor.codes else VALUES[kind] for kind in kinds]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))
    agree(functor.scalar, functor.array, kinds, rows)


@pytest.mark.parametrize("key", COMPARISONS, ids=lambda k: f"{k[0]} {k[1].value}")
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_array_form_agrees_with_the_scalar_comparison(
    key: tuple[str, Kind], data: st.DataObject
) -> None:
    comparison = COMPARISONS[key]
    cell = VALUES[key[1]]
    if key[0] in ("match", "not_match"):
        cell = st.sampled_from(["", "a", "a*", "[a-c]+", "(", "a.c", "abc"]) | cell
    rows = data.draw(st.lists(st.tuples(cell, cell), min_size=1, max_size=6))
    agree(comparison.scalar, comparison.array, [key[1], key[1]], rows)


@pytest.mark.parametrize("key", AGGREGATES, ids=lambda k: f"{k[0]} {k[1].value}")
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_grouped_form_agrees_with_the_scalar_aggregate(
    key: tuple[str, Kind], data: st.DataObject
) -> None:
    function = AGGREGATES[key]
    count = data.draw(st.integers(1, 4))
    pairs = st.lists(st.tuples(VALUES[key[1]], st.integers(0, count - 1)), max_size=12)
    rows = data.draw(pairs)
    groups = np.array([g for _, g in rows], dtype=np.int64)
    got = function.array(column(key[1], [v for v, _ in rows]), groups, count).tolist()
    for group in range(count):
        expected = function.scalar([v for v, g in rows if g == group])
        if expected is None:
            assert not function.total
        else:
            assert same(expected, got[group]), (group, expected, got[group])


@pytest.mark.parametrize("key", FUNCTORS, ids=lambda k: f"{k[0]} {k[1].value}")
def test_results_are_of_the_kind_the_table_says(key: tuple[str, Kind]) -> None:
    functor = FUNCTORS[key]
    sample = {Kind.NUMBER: 3, Kind.UNSIGNED: 3, Kind.FLOAT: 3.0, Kind.SYMBOL: "3", Kind.RECORD: 3}
    args = [3] if functor.codes else [sample[kind] for kind in functor.params]
    kinds = [Kind.NUMBER] if functor.codes else functor.params
    out = functor.array(*(column(k, [a]) for k, a in zip(kinds, args, strict=True)))
    assert out.dtype == DTYPES[functor.result]
    assert type(functor.scalar(*args)) is type(sample[functor.result])


def number(name: str, *args: int) -> object:
    return FUNCTORS[name, Kind.NUMBER].scalar(*args)


def test_numbers_wrap_around() -> None:
    assert number("+", MAX_NUMBER, 1) == MIN_NUMBER
    assert number("neg", MIN_NUMBER) == MIN_NUMBER
    assert number("/", MIN_NUMBER, -1) == MIN_NUMBER
    assert number("^", 2, 64) == 0
    assert FUNCTORS["-", Kind.UNSIGNED].scalar(0, 1) == MAX_UNSIGNED


def test_division_rounds_toward_zero_and_the_remainder_follows_the_dividend() -> None:
    assert [number("/", -7, 2), number("/", 7, -2)] == [-3, -3]
    assert [number("%", -7, 2), number("%", 7, -2)] == [-1, 1]


@pytest.mark.parametrize(("name", "kind"), [("/", Kind.NUMBER), ("%", Kind.UNSIGNED)])
def test_division_by_zero_faults(name: str, kind: Kind) -> None:
    with pytest.raises(FunctorFault, match="division by zero"):
        FUNCTORS[name, kind].scalar(1, 0)


def test_a_float_divided_by_zero_is_infinite() -> None:
    assert FUNCTORS["/", Kind.FLOAT].scalar(-1.0, 0.0) == -math.inf


def test_shifts_use_the_low_six_bits_of_the_distance() -> None:
    assert number("bshl", 1, 65) == 2
    assert number("bshr", -8, 1) == -4
    assert number("bshru", -1, 63) == 1


def test_a_negative_exponent_gives_the_whole_part_of_the_reciprocal() -> None:
    assert [number("^", b, -3) for b in (2, 1, -1)] == [0, 1, -1]
    with pytest.raises(FunctorFault):
        number("^", 0, -1)


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", 10), ("-0xCafe", -0xCAFE), ("0b100", 4), ("-0b100", -4), (" 7up", 7), ("+3", 3)],
)
def test_to_number_reads_the_longest_prefix(text: str, value: int) -> None:
    assert FUNCTORS["to_number", Kind.SYMBOL].scalar(text) == value


@pytest.mark.parametrize("text", ["", "x", "-", "9223372036854775808", "9" * 5000])
def test_to_number_of_nonsense_faults(text: str) -> None:
    with pytest.raises(FunctorFault, match="is not a number"):
        FUNCTORS["to_number", Kind.SYMBOL].scalar(text)


def test_to_unsigned_takes_no_sign() -> None:
    with pytest.raises(FunctorFault):
        FUNCTORS["to_unsigned", Kind.SYMBOL].scalar("-1")


def test_to_string_writes_floats_with_six_decimals() -> None:
    assert FUNCTORS["to_string", Kind.FLOAT].scalar(0.5) == "0.500000"


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [(1, 2, "el"), (0, -1, "hello"), (5, 1, ""), (6, 1, ""), (-1, 2, ""), (3, 100, "lo")],
)
def test_substr_of_a_place_outside_is_empty(start: int, count: int, expected: str) -> None:
    assert FUNCTORS["substr", Kind.SYMBOL].scalar("hello", start, count) == expected


def test_lengths_count_bytes() -> None:
    assert FUNCTORS["strlen", Kind.SYMBOL].scalar("né") == 3
    assert FUNCTORS["substr", Kind.SYMBOL].scalar("né", 1, 2) == "é"


def test_nan_equals_itself_and_is_not_ordered() -> None:
    assert COMPARISONS["=", Kind.FLOAT].scalar(math.nan, math.nan)
    assert not COMPARISONS["<=", Kind.FLOAT].scalar(math.nan, math.nan)


def test_a_sum_is_one_value_per_solution() -> None:
    assert AGGREGATES["sum", Kind.NUMBER].scalar([2, 2, 3]) == 7
    assert AGGREGATES["mean", Kind.FLOAT].scalar([]) is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_doubts_add_up_and_are_never_rounded_away(a: float, b: float, c: float) -> None:
    bounded = FUNCTORS["@bounded", Kind.FLOAT].scalar
    assert bounded(a, 1.0) == a == bounded(1.0, a)
    assert bounded(a, b) == bounded(b, a) <= min(a, b)
    assert c < b or bounded(a, c) >= bounded(a, b)
    assert bounded(a, b) == max(0.0, float(Fraction(a) + Fraction(b) - 1))
