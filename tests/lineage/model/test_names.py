"""A name is a space and a number, one by one and in arrays alike."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.edges import NODES, NUMBERS, SPACES, TEXTS
from whence.lineage.names import canonical, parse_name, parse_names, print_name, print_names

NAMES = (
    TEXTS
    | st.builds("{}/{}".format, TEXTS, NUMBERS)
    | st.builds(
        "whence:{}/{}".format, TEXTS, st.sampled_from(["7", "007", "9" * 19, "9" * 40, "٣"])
    )
)


@pytest.mark.parametrize(
    ("name", "space", "number"),
    [
        ("whence:tweets/17", "tweets", 17),
        ("tweets/17", "tweets", 17),
        ("ex:a/b/0", "ex:a/b", 0),
        ("ex:report", "ex:report", -1),
        ("ex:report/007", "ex:report/007", -1),
        ("ex:report/9223372036854775807", "ex:report", 2**63 - 1),
        ("ex:report/9223372036854775808", "ex:report/9223372036854775808", -1),
        ("ex:report/-1", "ex:report/-1", -1),
        ("whence:a:b/3", "whence:a:b", 3),
        ("ex:report/3\n", "ex:report/3\n", -1),
    ],
)
def test_a_name_ends_in_its_number(name: str, space: str, number: int) -> None:
    assert parse_name(name) == (space, number)
    spaces, numbers = parse_names(pa.array([name]))
    assert (spaces.to_pylist(), numbers.to_pylist()) == ([space], [number])


@given(st.lists(NAMES | st.none()))
def test_arrays_of_names_are_read_as_names_are(names: list[str | None]) -> None:
    spaces, numbers = parse_names(pa.array(names, pa.utf8()))
    expected = [(None, None) if name is None else parse_name(name) for name in names]
    assert list(zip(spaces.to_pylist(), numbers.to_pylist(), strict=True)) == expected
    known = spaces.dictionary.to_pylist()
    assert len(known) == len(set(known))


@given(st.lists(NODES))
def test_arrays_of_names_are_printed_as_names_are(nodes: list[tuple[str, int]]) -> None:
    printed = print_names(
        pa.array([space for space, _ in nodes], pa.utf8()),
        pa.array([number for _, number in nodes], pa.int64()),
    )
    assert printed.to_pylist() == [print_name(*node) for node in nodes]


@given(NAMES)
def test_what_is_printed_is_read_as_the_same(name: str) -> None:
    node = parse_name(name)
    assert parse_name(print_name(*node)) == node


@given(SPACES, NUMBERS)
def test_every_space_and_number_has_one_canonical_form(space: str, number: int) -> None:
    once = canonical(space, number)
    assert canonical(*once) == once
    assert print_name(*once) == print_name(space, number)


@given(NODES, NODES)
def test_different_nodes_have_different_names(a: tuple[str, int], b: tuple[str, int]) -> None:
    assert (print_name(*a) == print_name(*b)) == (a == b)
