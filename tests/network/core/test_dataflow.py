"""Dataflows wired by hand push and pull, block and go on, and do what a compiled rule does."""

from __future__ import annotations

import pytest

from network.core.small import network, tables
from whence.network import dataflow as flow
from whence.network.clock import SimulatedClock
from whence.network.model import Row
from whence.network.node import Node
from whence.network.table import Shape
from whence.network.transport.simulated import SimulatedTransport


def test_a_full_queue_says_so_and_calls_back() -> None:
    queue, called = flow.Queue(2), []
    assert queue.push((1,))
    assert not queue.push((2,), lambda: called.append("more"))
    assert queue.pull() == (1,)
    assert called == ["more"]
    assert queue.pull() == (2,)
    assert queue.pull(lambda: called.append("there")) is None
    queue.push((3,))
    assert called == ["more", "there"]
    assert len(queue) == 1


def test_a_pump_stops_where_it_must_and_goes_on_when_it_may() -> None:
    source, sink = flow.Queue(), flow.Queue(1)
    pump = flow.Pump(source)
    pump >> sink
    for number in range(3):
        source.push((number,))
    pump.run()
    assert (len(source), len(sink)) == (2, 1)
    taken = [sink.pull() for _ in range(3)]
    assert taken == [(0,), (1,), (2,)]
    source.push((9,))  # the pump waits for it
    assert sink.pull() == (9,)


def test_elements_route_select_project_and_fold() -> None:
    seen: list[Row] = []
    split = flow.Demux(0)
    fold = flow.Aggregate("max", 2, [0, 1])
    split.port("p", flow.Select(lambda row: row[2] > 1)) >> fold
    split.port("q", flow.Project([2, 0])) >> flow.Call(seen.append)
    fold >> flow.Call(seen.append)
    start = flow.Dup()
    start >> split
    for row in [("p", "a", 1), ("p", "a", 3), ("p", "a", 2), ("q", "a", 5), ("r", "a", 5)]:
        start.push(row)
    fold.flush()
    assert seen == [(5, "q"), ("p", "a", 3)]


def _nodes() -> tuple[SimulatedClock, dict[str, Node]]:
    clock = SimulatedClock()
    transport = SimulatedTransport(clock)
    return clock, {name: Node(name, clock, transport) for name in "abc"}


def test_a_strand_wired_by_hand_does_what_the_rule_does() -> None:
    # r out(@Y, X, C) :- ask(@X, C), e(@X, Y), C > 1.
    clock, nodes = _nodes()
    for node in nodes.values():
        flow.stream(node, "ask", 2)
        flow.table(node, Shape("e"), 2)
        flow.table(node, Shape("out"), 3)
        chain = flow.NetworkIn(node, "ask") >> flow.Select(lambda row: row[1] > 1)
        chain = chain >> flow.Join(node, "e", [(0, 0)])
        chain >> flow.Project([3, 0, 1]) >> flow.NetworkOut(node, "out")
    rule = network(tables("e", "out") + "r out(@Y,X,C) :- ask(@X,C), e(@X,Y), C > 1.")
    for relation, row in [
        ("e", ("a", "b")),
        ("e", ("a", "c")),
        ("ask", ("a", 1)),
        ("ask", ("a", 2)),
        ("ask", ("b", 2)),
    ]:
        rule.insert(relation, row)
        nodes[str(row[0])].insert(relation, row)
    rule.settle()
    clock.run_until(1.0)
    by_hand = {row for node in nodes.values() for row in node.rows("out")}
    assert by_hand == rule.rows("out") == {("b", "a", 2), ("c", "a", 2)}


def test_a_clock_may_start_a_dataflow() -> None:
    clock, nodes = _nodes()
    for node in nodes.values():
        flow.table(node, Shape("beat", lifetime=100.0), 2)
    timer = flow.Periodic(nodes["a"], "a", 2.0)
    timer >> flow.Project(lambda row: ("b", row[1])) >> flow.NetworkOut(nodes["a"], "beat")
    clock.run_until(5.0)
    assert set(nodes["b"].rows("beat")) == {("b", 1), ("b", 2)}
    timer.stop()
    clock.run_until(20.0)
    assert len(nodes["b"].rows("beat")) == 2


def test_sources_refuse_to_be_pushed_and_others_to_be_pulled() -> None:
    _, nodes = _nodes()
    flow.stream(nodes["a"], "ask", 1)
    for source in (flow.NetworkIn(nodes["a"], "ask"), flow.Pump(flow.Queue())):
        with pytest.raises(TypeError):
            source.push(("a",))
    with pytest.raises(TypeError):
        flow.Dup().pull()
