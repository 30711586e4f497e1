"""UDP on loopback: many processors in one process, restarts, and floods of garbage."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from whence.diagnostics import DataError
from whence.network.clock import RealClock
from whence.network.transport.auth import AuthenticatedTransport
from whence.network.transport.reliable import ReliableTransport
from whence.network.transport.udp import UdpTransport, run

SECRET = b"0123456789abcdef"
pytestmark = pytest.mark.network


class Net:
    """Processors of this process, each with a socket, that write down what they get."""

    def __init__(self, nodes: str = "abc") -> None:
        self.clock = RealClock()
        self.udp = UdpTransport(dict.fromkeys(nodes, ("127.0.0.1", 0)))
        self.sealed = AuthenticatedTransport(self.udp, SECRET, time.time_ns)
        self.transport = ReliableTransport(self.sealed, self.clock, epochs=time.time_ns)
        self.got: list[tuple[str, str, bytes]] = []
        for node in nodes:
            self.attach(node)

    def attach(self, node: str) -> None:
        def receive(source: str, payload: bytes) -> None:
            self.got.append((source, node, payload))

        self.transport.attach(node, receive)

    def run(self, done: Callable[[], bool], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        run(self.clock, self.udp, lambda: done() or time.monotonic() > end)
        assert done(), "not done in time"


@pytest.fixture
def net() -> Iterator[Net]:
    made = Net()
    yield made
    made.transport.close()


def test_messages_arrive_in_order_between_all_pairs(net: Net) -> None:
    sent = [(a, b, bytes((i,)) * 2000) for i in range(30) for a in "abc" for b in "abc"]
    for source, target, payload in sent:
        net.transport.send(source, target, payload)
    net.run(lambda: len(net.got) == len(sent) and net.transport.idle())
    for a in "abc":
        for b in "abc":
            assert [m for m in net.got if m[:2] == (a, b)] == [m for m in sent if m[:2] == (a, b)]


def test_a_processor_that_restarts_is_found_at_its_old_place(net: Net) -> None:
    net.transport.send("a", "b", b"1")
    net.run(lambda: len(net.got) == 1)
    place = net.udp.book["b"]
    net.transport.detach("b")
    net.attach("b")
    assert net.udp.book["b"] == place
    net.transport.send("b", "a", b"2")
    net.run(lambda: len(net.got) == 2)
    net.transport.send("a", "b", b"3")
    net.run(lambda: len(net.got) == 3)


def test_a_flood_of_garbage_neither_crashes_nor_stops_messages(net: Net) -> None:
    """Strangers and forgers with a known place send a hundred datagrams for each of ours."""
    rng = random.Random(1)
    # A member's place can be forged on a network; here the flood comes from the place of `c`.
    net.transport.detach("c")
    stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    forger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    forger.bind(net.udp.book["c"])
    sent = 0
    try:
        begun = time.monotonic()

        def done() -> bool:
            nonlocal sent
            for opened in (stranger, forger):
                for _ in range(50):
                    garbage = rng.choice((b"\1", b"")) + rng.randbytes(rng.choice((0, 30, 200)))
                    opened.sendto(garbage, net.udp.book["b"])
            if sent < 100:
                net.transport.send("a", "b", sent.to_bytes(2, "big"))
                sent += 1
            return len(net.got) == 100

        net.run(done)
        assert time.monotonic() - begun < 30
    finally:
        stranger.close()
        forger.close()
    assert net.got == [("a", "b", i.to_bytes(2, "big")) for i in range(100)]
    assert net.udp.strangers > 500
    assert net.sealed.seal.forged > 500


def test_replayed_datagrams_change_nothing(net: Net) -> None:
    recorded: list[tuple[str, str, bytes]] = []
    send = net.udp.send

    def spy(source: str, target: str, payload: bytes) -> None:
        recorded.append((source, target, payload))
        send(source, target, payload)

    net.udp.send = spy  # type: ignore[method-assign]
    net.transport.send("a", "b", b"once")
    net.run(lambda: len(net.got) == 1 and net.transport.idle())
    for source, target, payload in recorded * 5:
        send(source, target, payload)
    end = time.monotonic() + 0.3
    run(net.clock, net.udp, lambda: time.monotonic() > end)
    assert net.got == [("a", "b", b"once")]
    assert net.sealed.seal.replayed >= len(recorded)


def test_a_place_that_is_taken_is_told() -> None:
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("127.0.0.1", 0))
    transport = UdpTransport({"a": taken.getsockname()})
    try:
        with pytest.raises(DataError) as raised:
            transport.attach("a", lambda source, payload: None)
        assert raised.value.diagnostics[0].code == "W1410"
    finally:
        transport.close()
        taken.close()


def test_what_cannot_be_sent_is_lost_and_counted() -> None:
    transport = UdpTransport({"a": ("127.0.0.1", 0)})
    try:
        transport.send("a", "b", b"from nobody")
        transport.attach("a", lambda source, payload: None)
        transport.send("a", "b", b"to nobody")
        transport.know("b", ("no.such.host.invalid", 9))
        transport.send("a", "b", b"to nowhere")
        transport.know("b", ("127.0.0.1", 9))
        transport.send("a", "b", b"x" * 70_000)
        assert transport.counters.dropped == 4
    finally:
        transport.close()
