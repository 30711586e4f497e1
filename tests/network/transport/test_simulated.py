"""Simulated links: when datagrams arrive, what is lost, and what is counted."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.topology.catalogue import make
from whence.network.transport.quality import Quality, of_topology, uniform
from whence.network.transport.simulated import SimulatedTransport


class Net:
    """A transport with processors that write down what arrives, and when."""

    def __init__(self, quality: Quality, nodes: str = "abc", seed: int = 0, overhead: int = 0):
        self.clock = SimulatedClock()
        self.transport = SimulatedTransport(
            self.clock, uniform(quality), seed=seed, overhead=overhead
        )
        self.got: list[tuple[float, str, str, bytes]] = []
        for node in nodes:
            self.attach(node)

    def attach(self, node: str) -> None:
        def receive(source: str, payload: bytes) -> None:
            self.got.append((round(self.clock.now(), 6), source, node, payload))

        self.transport.attach(node, receive)

    def run(self) -> list[tuple[float, str, str, bytes]]:
        while self.clock.step():
            pass
        return self.got


def test_a_datagram_arrives_after_the_latency() -> None:
    net = Net(Quality(latency=0.05))
    net.transport.send("a", "b", b"x")
    assert net.transport.in_flight == 1
    assert net.run() == [(0.05, "a", "b", b"x")]
    assert net.transport.in_flight == 0


def test_bandwidth_makes_datagrams_wait_for_each_other_on_their_link_only() -> None:
    net = Net(Quality(latency=0.1, bandwidth=8000))  # 1,000 bytes a second
    net.transport.send("a", "b", b"x" * 500)
    net.transport.send("a", "b", b"y" * 250)
    net.transport.send("a", "c", b"z" * 100)
    assert [(at, target) for at, _, target, _ in net.run()] == [
        (0.2, "c"),
        (0.6, "b"),
        (0.85, "b"),
    ]


def test_a_full_queue_loses_what_comes_on_top() -> None:
    net = Net(Quality(latency=0.1, bandwidth=8000, queue=100))
    for _ in range(4):
        net.transport.send("a", "b", b"x" * 90)
    assert len(net.run()) == 2  # one that leaves and one that waits
    assert net.transport.counters.dropped == 2


@given(st.integers(0, 1000), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.2))
def test_links_in_order_stay_so_whatever_jitter_and_loss_do(
    seed: int, loss: float, duplicate: float, jitter: float
) -> None:
    quality = Quality(0.01, loss=loss, duplicate=duplicate, jitter=jitter)
    net = Net(quality, seed=seed)
    for i in range(50):
        net.transport.send("a", "b", bytes((i,)))
    order = [payload[0] for *_, payload in net.run()]
    assert order == sorted(order)


def test_chance_loses_repeats_and_reorders_about_as_often_as_said() -> None:
    net = Net(Quality(0.01, loss=0.2, duplicate=0.1, jitter=0.05, fifo=False), seed=7)
    for i in range(5000):
        net.transport.send("a", "b", i.to_bytes(2, "big"))
    order = [int.from_bytes(payload, "big") for *_, payload in net.run()]
    assert len(set(order)) / 5000 == pytest.approx(0.8, abs=0.03)
    assert len(order) - len(set(order)) == pytest.approx(400, abs=80)
    assert order != sorted(order)


def test_the_same_seed_gives_the_same_arrivals_and_another_one_others() -> None:
    def arrivals(seed: int) -> list[tuple[float, str, str, bytes]]:
        net = Net(Quality(0.01, loss=0.3, duplicate=0.2, jitter=0.1, fifo=False), seed=seed)
        rng = random.Random(1)
        for i in range(200):
            source, target = rng.sample("abc", 2)
            net.transport.send(source, target, bytes((i,)))
        return net.run()

    assert arrivals(1) == arrivals(1)
    assert arrivals(1) != arrivals(2)


def test_a_link_does_not_depend_on_the_traffic_of_others() -> None:
    def arrivals(others: int) -> list[tuple[float, str, str, bytes]]:
        net = Net(Quality(0.01, loss=0.5), seed=3)
        for i in range(50):
            net.transport.send("a", "b", bytes((i,)))
            for _ in range(others):
                net.transport.send("b", "c", b"noise")
        return [one for one in net.run() if one[2] == "b"]

    assert arrivals(0) == arrivals(3)


def test_messages_of_a_processor_to_itself_are_no_traffic() -> None:
    net = Net(Quality(0.5))
    net.transport.send("a", "a", b"hello")
    assert net.run() == [(0.0, "a", "a", b"hello")]
    assert net.transport.counters.sent == net.transport.traffic.total() == 0


def test_bytes_are_counted_by_link_by_node_and_by_second() -> None:
    net = Net(Quality(0.1), overhead=28)
    for second in (0.2, 0.4, 2.5):
        net.clock.run_until(second)
        net.transport.send("a", "b", b"x" * 72)
    net.transport.send("b", "a", b"x" * 172)
    net.run()
    assert net.transport.counters.as_json() == {
        "sent": 4,
        "sent_bytes": 500,
        "delivered": 4,
        "delivered_bytes": 500,
        "dropped": 0,
    }
    assert net.transport.link("a", "b").counters.sent_bytes == 300
    assert net.transport.traffic.series() == [200, 0, 300]
    assert net.transport.traffic.rate(2, until=3.5) == [0.1, 0.0, 0.15, 0.0]
    assert dict(net.transport.traffic.of("a")) == {0: 200, 2: 100}


def test_a_link_that_fails_loses_what_is_under_way() -> None:
    net = Net(Quality(0.1))
    net.transport.send("a", "b", b"1")
    net.clock.run_until(0.05)
    net.transport.fail_link("b", "a")
    net.transport.send("a", "c", b"2")
    net.clock.run_until(1)
    net.transport.restore_link("a", "b")
    net.transport.send("a", "b", b"3")
    assert [payload for *_, payload in net.run()] == [b"2", b"3"]


def test_a_node_that_fails_neither_hears_nor_is_heard() -> None:
    net = Net(Quality(0.1))
    net.transport.fail_node("b")
    for source, target in ("ab", "ba", "ac"):
        net.transport.send(source, target, b"x")
    assert [(s, t) for _, s, t, _ in net.run()] == [("a", "c")]
    net.transport.restore_node("b")
    net.transport.send("a", "b", b"y")
    assert net.run()[-1][1:] == ("a", "b", b"y")


def test_a_partition_keeps_groups_apart_until_it_heals() -> None:
    net = Net(Quality(0.1), nodes="abcd")
    net.transport.partition("ab")
    for source, target in ("ab", "ac", "cd", "db"):
        net.transport.send(source, target, b"x")
    assert [(s, t) for _, s, t, _ in net.run()] == [("a", "b"), ("c", "d")]
    net.transport.heal()
    net.transport.send("a", "c", b"x")
    assert net.run()[-1][1:3] == ("a", "c")


def test_who_is_detached_gets_nothing() -> None:
    net = Net(Quality(0.1))
    net.transport.send("a", "b", b"x")
    net.transport.detach("b")
    assert net.run() == []
    net.transport.send("a", "c", b"x")
    net.transport.close()
    assert net.run() == []


def test_pairs_without_a_link_have_the_latency_of_the_shortest_path() -> None:
    line = make("line", 4)
    quality = of_topology(line, Quality(loss=0.5))
    assert quality("n1", "n2") == Quality(0.010, loss=0.5)
    assert quality("n0", "n3").latency == pytest.approx(0.030)
    assert quality("n0", "elsewhere").latency == quality("else", "n0").latency == 0.010
    changed = Net(Quality(0.1))
    changed.transport.change("a", "b", Quality(0.2, loss=1.0))
    changed.transport.send("b", "a", b"x")
    assert changed.run() == []
