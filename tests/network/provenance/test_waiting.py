"""Tuples that wait at a node are cleared of variables that have become false meanwhile."""

from __future__ import annotations

import pytest

from whence.network.program import node_program
from whence.network.rewrite.passes import Options, prepare
from whence.network.simulation import Network, Settings
from whence.syntax.ndlog import parse_ndlog

THERE = """
fullyConnected.
materialize(e, infinity, infinity, keys()).
materialize(r, infinity, infinity, keys()).
r1 r(@Y,X) :- e(@X,Y).
"""


@pytest.mark.parametrize("scheme", ["absorption", "relative"])
@pytest.mark.parametrize("ship", ["plain", "eager", "lazy"])
def test_a_tuple_that_is_held_back_goes_with_its_base_tuple(scheme: str, ship: str) -> None:
    settings = Settings(scheme=scheme, ship=ship, buffered=0.01)
    network = Network(parse_ndlog(THERE), "abc", settings=settings)
    network.update([(1, "e", ("c", "b")), (-1, "e", ("c", "b")), (1, "e", ("a", "b"))])
    network.settle()
    assert network.rows("r") == {("b", "a")}


@pytest.mark.parametrize("scheme", ["absorption", "relative"])
def test_a_tuple_that_came_before_its_program_goes_too(scheme: str) -> None:
    program = parse_ndlog(THERE)
    network = Network(program, "abc", settings=Settings(scheme=scheme))
    late = network.nodes["b"]
    late.cancel("program")
    network.insert("e", ("c", "b"), ("a", "b"))
    network.settle()
    assert len(late.parked["r"]) == 2
    network.delete("e", ("c", "b"))
    network.settle()
    network.insert("e", ("c", "a"))  # a variable that may have the place of the one that is gone
    network.settle()
    late.add(node_program(prepare(program, Options()), "program"))
    network.settle()
    assert set(late.rows("r")) == {("b", "a")}
