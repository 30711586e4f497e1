"""Over links that lose, repeat, delay and reorder: what is sent is delivered, in order, once."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.transport.auth import AuthenticatedTransport
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.reliable import ReliableTransport
from whence.network.transport.session import Session, Settings
from whence.network.transport.simulated import SimulatedTransport

SECRET = b"0123456789abcdef"
QUALITIES = st.builds(
    Quality,
    latency=st.floats(0.0, 0.2),
    jitter=st.floats(0.0, 0.3),
    loss=st.floats(0.0, 0.4),
    duplicate=st.floats(0.0, 0.4),
    fifo=st.booleans(),
    bandwidth=st.sampled_from((None, 1e5, 1e7)),
)
SMALL = Settings(packet=64, give_up=1e9)  # over such links an answer may take minutes


class Net:
    """Processors that talk reliably over bad links, sealed where asked for."""

    def __init__(
        self, quality: Quality, seed: int = 0, *, sealed: bool = False, settings: Settings = SMALL
    ) -> None:
        self.clock = SimulatedClock()
        self.links = SimulatedTransport(self.clock, uniform(quality), seed=seed)
        epochs = itertools.count(1).__next__
        below = AuthenticatedTransport(self.links, SECRET, epochs) if sealed else self.links
        self.restarts: list[tuple[str, str]] = []
        self.transport = ReliableTransport(
            below,
            self.clock,
            settings=settings,
            epochs=epochs,
            restarted=lambda here, peer: self.restarts.append((here, peer)),
        )
        self.got: dict[tuple[str, str], list[bytes]] = {}
        for node in "abc":
            self.attach(node)

    def attach(self, node: str) -> None:
        def receive(source: str, payload: bytes) -> None:
            self.got.setdefault((source, node), []).append(payload)

        self.transport.attach(node, receive)

    def run(self, seconds: float = 600.0) -> None:
        end = self.clock.now() + seconds
        while (due := self.clock.next_time()) is not None and due <= end:
            self.clock.step()
        self.clock.run_until(end)


@given(
    QUALITIES,
    st.integers(0, 99),
    st.booleans(),
    st.lists(
        st.tuples(st.sampled_from(("ab", "ba", "ac", "cb")), st.integers(0, 300), st.floats(0, 1)),
        max_size=25,
    ),
)
def test_what_is_sent_is_delivered_in_order_and_once(
    quality: Quality, seed: int, sealed: bool, sends: list[tuple[str, int, float]]
) -> None:
    net = Net(quality, seed, sealed=sealed)
    sent: dict[tuple[str, str], list[bytes]] = {}
    rng = random.Random(seed)
    for number, ((source, target), size, wait) in enumerate(sends):
        message = number.to_bytes(2, "big") + rng.randbytes(size)
        sent.setdefault((source, target), []).append(message)
        net.transport.send(source, target, message)
        if wait > 0.5:
            net.run(wait)
    net.run()
    assert net.got == sent
    assert net.transport.idle()
    assert net.clock.next_time() is None  # nobody goes on talking when all is said


def test_many_messages_pass_over_a_bad_link_as_well_as_large_ones() -> None:
    net = Net(Quality(0.02, loss=0.1, jitter=0.01, fifo=False), settings=Settings())
    messages = [i.to_bytes(3, "big") * (i % 50 + 1) for i in range(3000)] + [b"x" * 500_000]
    for message in messages:
        net.transport.send("a", "b", message)
    net.run(3000)
    assert net.got["a", "b"] == messages


def test_the_window_fills_a_long_fat_link_and_halves_when_its_queue_overflows() -> None:
    """AIMD keeps a bottleneck busy: at least 60 % of what it could carry arrives in the time."""
    quality = Quality(0.04, bandwidth=1e6, queue=20_000)
    net = Net(quality, settings=Settings())
    size = 500_000
    net.transport.send("a", "b", b"x" * size)
    while ("a", "b") not in net.got and net.clock.step():
        pass
    assert net.clock.now() < size * 8 / 1e6 / 0.6
    lost = net.links.link("a", "b").counters
    assert 0 < lost.dropped < 0.1 * lost.sent  # it found the limit without beating on it


def test_small_messages_share_packets_when_they_have_to_wait() -> None:
    net = Net(Quality(0.05), settings=Settings())
    for i in range(1000):
        net.transport.send("a", "b", i.to_bytes(4, "big"))
    net.run()
    assert len(net.got["a", "b"]) == 1000
    assert net.links.link("a", "b").counters.sent < 30


def test_lost_acknowledgements_do_not_repeat_messages() -> None:
    net = Net(Quality(0.01))
    net.transport.send("a", "b", b"hello")
    net.clock.run_until(0.025)  # the greeting is over
    net.links.link("b", "a").up = False
    net.transport.send("a", "b", b"again")
    net.run(30)
    assert not net.transport.idle()
    net.links.link("b", "a").up = True
    net.run(30)
    assert net.transport.idle()
    assert net.got == {("a", "b"): [b"hello", b"again"]}


def test_a_silent_peer_is_asked_ever_more_rarely() -> None:
    net = Net(Quality(0.01))
    net.links.fail_node("b")
    net.transport.send("a", "b", b"anybody?")
    net.run(50)
    assert 8 < net.links.link("a", "b").counters.sent < 16
    net.links.restore_node("b")
    net.run(10)
    assert net.got == {("a", "b"): [b"anybody?"]}


def test_after_a_long_silence_what_waits_is_dropped_and_the_conversation_begins_anew() -> None:
    net = Net(Quality(0.01), settings=Settings())
    net.transport.send("a", "b", b"1")
    net.transport.send("b", "a", b"2")
    net.run(1)
    net.links.partition("a")
    net.transport.send("a", "b", b"lost")
    net.run(100)
    assert net.clock.next_time() is None
    assert net.transport.idle()
    assert net.transport.counters.dropped == 1
    net.links.heal()
    net.transport.send("b", "a", b"3")  # it does not know that its peer has given up
    net.transport.send("a", "b", b"4")
    net.run(100)
    net.transport.send("b", "a", b"5")
    net.run(10)
    assert net.got["a", "b"] == [b"1", b"4"]
    assert net.got["b", "a"][0] == b"2"
    assert net.got["b", "a"][-1] == b"5"
    assert net.restarts == [("b", "a")]


def test_nothing_is_sent_to_who_does_not_exist() -> None:
    net = Net(Quality(0.01))
    net.transport._knows = "abc".__contains__
    net.transport.send("a", "nobody", b"x")
    net.transport.send("nobody", "a", b"x")
    assert net.clock.next_time() is None
    assert net.transport.counters.dropped == 2


def test_who_comes_back_is_a_new_one_and_gets_nothing_meant_for_the_old() -> None:
    net = Net(Quality(0.01))
    net.transport.send("a", "b", b"1")
    net.transport.send("b", "a", b"2")
    net.run(1)
    net.transport.detach("b")
    net.transport.send("a", "b", b"for the old b")
    net.run(1)
    net.attach("b")
    net.transport.send("b", "a", b"3")
    net.run(10)
    net.transport.send("a", "b", b"for the new b")
    net.run(10)
    assert net.got == {("a", "b"): [b"1", b"for the new b"], ("b", "a"): [b"2", b"3"]}
    assert net.restarts == [("a", "b")]


def test_datagrams_of_an_earlier_life_are_not_taken_for_new_ones() -> None:
    net = Net(Quality(0.01))
    recorded: list[tuple[str, str, bytes]] = []
    record(net, recorded)
    net.transport.send("a", "b", b"pay 100")
    net.run(1)
    assert net.got == {("a", "b"): [b"pay 100"]}
    net.got.clear()
    for who in "ab":
        net.attach(who)  # both restart and know nothing of the past
    for source, target, datagram in recorded * 3:
        net.links.send(source, target, datagram)
        net.run(1)
    assert net.got == {}
    net.transport.send("a", "b", b"still well")
    net.run(10)
    assert net.got == {("a", "b"): [b"still well"]}


def record(net: Net, into: list[tuple[str, str, bytes]]) -> None:
    send: Callable[[str, str, bytes], None] = net.links.send

    def spy(source: str, target: str, payload: bytes) -> None:
        into.append((source, target, payload))
        send(source, target, payload)

    net.links.send = spy  # type: ignore[method-assign]


def test_pings_are_answered_and_tell_who_is_there() -> None:
    net = Net(Quality(0.01))
    assert net.transport.heard("a", "b") == float("-inf")
    for _ in range(2):
        net.transport.ping("a", "b")
        net.run(1)
    assert net.transport.heard("a", "b") == pytest.approx(1.02)
    net.links.fail_node("b")
    net.transport.ping("a", "b")
    net.run(1)
    assert net.transport.heard("a", "b") == pytest.approx(1.02)


def test_a_queue_that_is_full_refuses_and_counts() -> None:
    net = Net(Quality(0.01), settings=Settings(queue=1000))
    net.links.fail_node("b")
    for _ in range(20):
        net.transport.send("a", "b", b"x" * 100)
    assert net.transport.counters.dropped == 10
    net.links.restore_node("b")
    net.run()
    assert net.got["a", "b"] == [b"x" * 100] * 10


@given(st.binary(max_size=120), st.integers(0, 3))
def test_any_datagram_leaves_a_session_able_to_talk(datagram: bytes, kind: int) -> None:
    """Without seals anyone can claim to be a peer; even so nothing breaks."""
    a, b = Session(5, SMALL), Session(6, SMALL)
    for hostile in (datagram, bytes((kind,)) + datagram):
        a.receive(0.0, hostile)
    talk(a, b, [b"one", b"two" * 100])


def talk(a: Session, b: Session, messages: list[bytes]) -> None:
    now = 1.0
    to_b, to_a = [p for m in messages for p in a.send(now, m) or []], list[bytes]()
    for _ in range(200):
        now += 0.05
        to_a += [p for packet in to_b for p in b.receive(now, packet)] + b.tick(now)
        to_b = [p for packet in to_a for p in a.receive(now, packet)] + a.tick(now)
        to_a = []
    if a.peer == b.epoch:
        assert b.inbox == messages


def test_a_session_may_be_told_to_use_other_sizes() -> None:
    net = Net(Quality(0.01), settings=replace(SMALL, packet=10, window=2))
    net.transport.send("a", "b", bytes(range(256)))
    net.run()
    assert net.got == {("a", "b"): [bytes(range(256))]}
