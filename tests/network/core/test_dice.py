"""Dice are thrown for each instance of a body by itself, though they depend on none of its variables."""

from __future__ import annotations

from whence.network.simulation import Network
from whence.syntax.ndlog import parse_ndlog

PROGRAM = """
materialize(neighbor, infinity, infinity, keys(1,2)).
materialize(ping, infinity, infinity, keys(1,3)).
p1 ping(@X,Y,E) :- probe(@X), E = f_rand(), neighbor(@X,Y).
"""


def test_every_neighbour_has_a_number_of_its_own() -> None:
    network = Network(parse_ndlog(PROGRAM), ["a"])
    network.insert("neighbor", *(("a", f"b{i}") for i in range(5)))
    network.insert("probe", ("a",))
    assert {row[1] for row in network.rows("ping")} == {f"b{i}" for i in range(5)}
