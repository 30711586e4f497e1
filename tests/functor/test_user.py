"""Registered functors are checked where they return, and their exceptions are faults."""

from __future__ import annotations

import numpy as np
import pytest

from whence.functor import FunctorFault, UserFunctors
from whence.syntax.nodes import Kind

N, U, F, S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL
one = np.array([3], dtype=np.int64)


def test_a_scalar_function_serves_arrays() -> None:
    functor = UserFunctors().add("f", lambda x, y: f"{x}{y}")["f"]
    got = functor.array(S, 2, np.array([1, 2]), np.array(["a", "b"], dtype=object))
    assert got.tolist() == ["1a", "2b"]


def test_an_array_function_serves_rows() -> None:
    functor = UserFunctors().add("f", lambda x: x * 2, array=True)["f"]
    assert functor.scalar(N, 4) == 8
    assert functor.array(N, 2, np.array([1, 2])).tolist() == [2, 4]


def test_a_function_without_parameters_is_called_once_per_row() -> None:
    assert UserFunctors().add("f", lambda: 7)["f"].array(N, 3).tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("kind", "value"), [(N, "x"), (N, 1.5), (N, 2**63), (U, -1), (S, 3), (F, "1"), (N, None)]
)
def test_a_result_of_the_wrong_kind_is_a_fault(kind: Kind, value: object) -> None:
    functor = UserFunctors().add("f", lambda x: value)["f"]
    with pytest.raises(FunctorFault, match="`f` returned"):
        functor.scalar(kind, 1)
    with pytest.raises(FunctorFault, match="`f` returned"):
        functor.array(kind, 1, one)


@pytest.mark.parametrize(
    ("kind", "value"), [(N, np.array([1.5])), (U, np.array([-1])), (N, np.array([1, 2])), (S, one)]
)
def test_an_array_of_the_wrong_kind_or_length_is_a_fault(kind: Kind, value: object) -> None:
    functor = UserFunctors().add("f", lambda x: value, array=True)["f"]
    with pytest.raises(FunctorFault, match="`f` returned"):
        functor.array(kind, 1, one)


def test_half_a_character_is_a_fault() -> None:
    for array in (False, True):
        functor = UserFunctors().add(
            "f", lambda x: ["\ud800"] if x is one else "\ud800", array=array
        )
        with pytest.raises(FunctorFault, match="not Unicode"):
            functor["f"].array(S, 1, one)


def test_an_exception_is_a_fault_that_names_the_functor() -> None:
    functor = UserFunctors().add("f", lambda x: 1 // x)["f"]
    with pytest.raises(FunctorFault, match="`f` failed: ZeroDivisionError"):
        functor.scalar(N, 0)


def test_adding_leaves_the_registry_as_it_was() -> None:
    empty = UserFunctors()
    assert "f" in empty.add("f", abs)
    assert list(empty) == []
