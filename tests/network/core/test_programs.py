"""Programs come to running nodes and go, share strands, and find tuples that came too early."""

from __future__ import annotations

import pytest

from network.core.small import network, tables
from whence.diagnostics import ProgramError
from whence.network.simulation import Network
from whence.syntax.ndlog import parse_ndlog

BASE = tables("e", "v") + "r1 v(@X,Y) :- e(@X,Y).\n"
MORE = tables("e", "w") + "q1 w(@Y,X) :- e(@X,Y), Y != 7.\n"


def _started() -> Network:
    net = network(BASE)
    net.insert("e", ("a", "b"), ("b", "c"))
    net.settle()
    return net


def test_a_program_that_is_added_sees_what_is_there_and_what_comes() -> None:
    net = _started()
    net.add(parse_ndlog(MORE), "more")
    net.settle()
    assert net.rows("w") == {("b", "a"), ("c", "b")}
    net.insert("e", ("a", "c"))
    net.delete("e", ("b", "c"))
    net.settle()
    assert net.rows("w") == {("b", "a"), ("c", "a")}


def test_a_cancelled_program_takes_its_own_tables_along() -> None:
    net = _started()
    net.add(parse_ndlog(MORE), "more")
    net.settle()
    net.cancel("more")
    assert "w" not in net.node("b").relations
    net.insert("e", ("a", "c"))
    net.settle()
    assert ("a", "c") in net.rows("v")
    assert net.node("a").snapshot().programs == ("program",)


def test_equal_rules_of_two_programs_are_one_strand() -> None:
    net = _started()
    strands = len(net.node("a").installed.strands)
    net.add(parse_ndlog(BASE.replace("r1", "other") + "r2 v(@X,Y) :- e(@X,Z), e(@X,Y)."), "more")
    net.settle()
    assert len(net.node("a").installed.strands) == strands + 2
    assert net.node("a").rows("v")["a", "b"] == 2
    net.cancel("more")
    net.settle()
    assert net.node("a").rows("v")["a", "b"] == 1  # what the cancelled rule derived is taken back
    net.delete("e", ("a", "b"))
    net.settle()
    assert net.rows("v") == {("b", "c")}


def test_a_program_is_added_once() -> None:
    net = _started()
    node = net.node("a")
    node.add(net.program)
    assert dict(node.rows("v")) == {("a", "b"): 1}


def test_timers_of_a_cancelled_program_stop() -> None:
    net = _started()
    net.add(parse_ndlog(tables("t") + "p1 t(@X,E) :- periodic(@X,E,1)."), "timed")
    net.run(2.5)
    assert len(net.rows("t")) == 6
    net.cancel("timed")
    assert net.clock.next_time() is None


def test_a_relation_is_the_same_in_all_programs() -> None:
    net = _started()
    with pytest.raises(ProgramError, match="W1357"):
        net.add(parse_ndlog(tables("w") + "q1 w(@X) :- v(@X,Y)."), "other")


def test_tuples_that_come_before_their_program_wait_for_it() -> None:
    net = _started()
    late = net.nodes.pop("b")
    net.add(parse_ndlog(MORE), "more")
    net.settle()
    assert late.parked == {"w": [(1, "w", ("b", "a"), None)]}
    late.add(net.prepared(parse_ndlog(MORE), "more"))
    assert set(late.rows("w")) == {("b", "a")}
    assert late.parked == {}


def test_cancelling_one_of_two_that_derive_the_same_needs_counting() -> None:
    net = network(BASE, scheme="absorption")
    net.add(parse_ndlog(tables("e", "v") + "r2 v(@X,Y) :- e(@X,Z), e(@X,Y)."), "more")
    with pytest.raises(ProgramError, match="W1358"):
        net.cancel("more")
