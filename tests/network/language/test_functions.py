"""Functions, operators and intervals of NDlog."""

from __future__ import annotations

import hashlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.functor.ndlog import (
    FAULTS,
    FUNCTIONS,
    NODE_FUNCTIONS,
    OPERATORS,
    arity_of,
    in_interval,
    node_functions,
)

CASES = {
    "f_init": [(("a", "b"), ("a", "b")), (("a",), ("a",))],
    "f_list": [((), ())],
    "f_concatPath": [(("a", ("b",)), ("a", "b")), ((("a",), "b"), ("a", "b"))],
    "f_concat": [((("a",), ("b", "c")), ("a", "b", "c"))],
    "f_append": [((("a",), "b"), ("a", "b"))],
    "f_inPath": [((("a", "b"), "b"), True), ((("a",), "b"), False)],
    "f_member": [((("a", "b"), "b"), True)],
    "f_head": [((("a", "b"),), "a")],
    "f_last": [((("a", "b"),), "b")],
    "f_tail": [((("a", "b"),), ("b",))],
    "f_removeLast": [((("a", "b"),), ("a",))],
    "f_item": [((("a", "b"), 2), "b")],
    "f_isEmpty": [(((),), True), ((("a",),), False)],
    "f_size": [((("a", "b"),), 2)],
    "f_reverse": [((("a", "b"),), ("b", "a"))],
    "f_sum": [((1, 2), 3)],
    "f_compute": [((1, 2.5), 3.5)],
    "f_min": [((3, 1, 2), 1)],
    "f_max": [((3, 1), 3)],
    "f_abs": [((-3,), 3)],
    "f_sha1": [(("a",), int(hashlib.sha1(b"a").hexdigest(), 16))],
    "f_str": [((12,), "12"), (("a",), "a")],
    "f_int": [(("12",), 12), ((2.9,), 2)],
    "f_float": [((2,), 2.0)],
}


def test_every_function_has_a_case():
    assert CASES.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_it_says(name):
    for args, value in CASES[name]:
        assert FUNCTIONS[name].accepts(len(args))
        assert FUNCTIONS[name].call(*args) == value


@pytest.mark.parametrize("name", ["f_head", "f_last", "f_tail", "f_removeLast"])
def test_an_empty_list_has_no_first_and_no_rest(name):
    with pytest.raises(FAULTS):
        FUNCTIONS[name].call(())


@pytest.mark.parametrize(
    ("operator", "args"),
    [
        ("/", (1, 0)),
        ("%", (1, 0)),
        ("%", ("%s", 1)),
        ("+", ("a", 1)),
        ("*", ("a", 10**9)),
        ("bshl", (1, 10**9)),
        ("bshl", (1, -1)),
        ("neg", ("a",)),
    ],
)
def test_what_has_no_value_is_a_fault(operator, args):
    with pytest.raises(FAULTS):
        OPERATORS[operator](*args)


def test_whole_numbers_divide_down_and_remainders_have_the_divisor_s_sign():
    assert OPERATORS["/"](7, 2) == 3
    assert OPERATORS["/"](7, 2.0) == 3.5
    assert OPERATORS["%"](-1, 1 << 160) == (1 << 160) - 1


def test_identifiers_are_as_large_as_they_need_to_be():
    assert OPERATORS["+"](OPERATORS["bshl"](1, 159), 1 << 159) == 1 << 160


ids = st.integers(0, 15)


@given(ids, ids, ids, st.booleans(), st.booleans())
def test_an_interval_is_what_one_meets_on_the_way_round(item, low, high, with_low, with_high):
    size = 16
    way = [(low + step) % size for step in range((high - low) % size + 1)]
    if low == high:
        way = [(low + step) % size for step in range(size + 1)]
    met = way[0 if with_low else 1 : None if with_high else -1]
    assert in_interval(item, low, high, with_low, with_high) == (item in met)


def test_a_node_gives_its_time_and_its_own_random_numbers():
    one = node_functions(lambda: 4.5, Random(7))
    two = node_functions(lambda: 4.5, Random(7))
    assert one.keys() == NODE_FUNCTIONS.keys()
    assert one["f_now"]() == 4.5
    assert [one["f_rand"]() for _ in range(3)] == [two["f_rand"]() for _ in range(3)]
    assert one["f_coinFlip"](1) is True
    assert one["f_coinFlip"](0) is False


def test_arities_are_known_of_all_functions_and_of_no_others():
    assert arity_of("f_now") == (0, 0)
    assert arity_of("f_init") == (1, None)
    assert arity_of("f_nothing") is None
