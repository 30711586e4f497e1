"""Programs spread along links or ahead of tuples, once, and only under the right seal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import Diagnostic, ProgramError
from whence.network.clock import SimulatedClock
from whence.network.dissemination import Announcement, Disseminator, RidingTransport
from whence.network.model import Control
from whence.network.topology.catalogue import make
from whence.network.topology.model import Topology, neighbours
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport
from whence.network.transport.wire import WireCodec

KEY = b"those who may send programs"


class Net:
    """Nodes that only take programs; each writes down what it starts and cancels."""

    def __init__(self, topology: Topology, keys: dict[str, bytes] | None = None) -> None:
        self.clock = SimulatedClock()
        self.links = SimulatedTransport(self.clock, uniform(Quality(0.01)))
        self.codec = WireCodec()
        self.done: dict[str, list[str]] = {node: [] for node in topology.nodes}
        self.nodes: dict[str, Disseminator] = {}
        around = neighbours(topology)
        for node in topology.nodes:
            peers = [arc.target for arc in around[node]]
            self.nodes[node] = self.make(node, peers, (keys or {}).get(node, KEY))
            self.links.attach(node, self.receiver(node))

    def make(self, node: str, peers: list[str], key: bytes) -> Disseminator:
        def prepare(name: str, text: str) -> Callable[[], None]:
            if "wrong" in text:
                raise ProgramError(Diagnostic("W0101", "wrong"))
            return lambda: self.done[node].append(f"+{name} {text}")

        return Disseminator(
            lambda target, message: self.links.send(node, target, self.codec.encode(message)),
            lambda: peers,
            prepare,
            lambda name: self.done[node].append(f"-{name}"),
            key=key,
        )

    def receiver(self, node: str) -> Callable[[str, bytes], None]:
        def receive(source: str, payload: bytes) -> None:
            message = self.codec.decode(payload)
            assert isinstance(message, Control)
            self.nodes[node].receive(source, message)

        return receive

    def run(self) -> None:
        while self.clock.step():
            pass


@given(st.integers(1, 15), st.integers(0, 5), st.data())
def test_a_program_reaches_every_node_once(nodes: int, seed: int, data: Any) -> None:
    net = Net(make("gnm", nodes, seed))
    origin = data.draw(st.sampled_from(sorted(net.nodes)))
    net.nodes[origin].announce("routes", "v1")
    net.run()
    assert set(map(tuple, net.done.values())) == {("+routes v1",)}
    links = 2 * len(make("gnm", nodes, seed).links)
    assert net.links.counters.sent <= links  # once over each link in each direction, at most


def test_a_newer_version_replaces_and_a_withdrawal_cancels_everywhere() -> None:
    net = Net(make("ring", 6))
    net.nodes["n0"].announce("routes", "v1")
    net.run()
    net.nodes["n3"].announce("routes", "v2")
    net.run()
    net.nodes["n5"].withdraw("routes")
    net.run()
    assert set(map(tuple, net.done.values())) == {
        ("+routes v1", "-routes", "+routes v2", "-routes"),
    }
    assert not net.nodes["n0"].active()


def test_what_is_known_is_not_installed_again_and_old_versions_are_nothing() -> None:
    net = Net(make("line", 2))
    net.nodes["n0"].announce("p", "v1")
    net.run()
    old = net.nodes["n0"].message(net.nodes["n0"].known["p"])
    net.nodes["n0"].withdraw("p")
    net.run()
    for _ in range(3):
        net.nodes["n1"].receive("n0", old)  # replayed
    net.run()
    assert net.done["n1"] == ["+p v1", "-p"]


def test_a_wrong_program_goes_no_further_than_where_it_came() -> None:
    net = Net(make("line", 3))
    with pytest.raises(ProgramError):
        net.nodes["n0"].announce("p", "wrong")
    message = Control("program", ("p", 1, "wrong", Announcement("p", 1, "wrong").tag(KEY)))
    net.nodes["n1"].receive("n0", message)
    net.run()
    assert net.done == {"n0": [], "n1": [], "n2": []}
    assert net.nodes["n1"].refused == 1
    net.nodes["n1"].announce("p", "right")
    net.run()
    assert net.done["n2"] == ["+p right"]


@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.tuples(st.text(), st.integers(), st.text(), st.binary(max_size=16)),
        st.tuples(st.just("p"), st.integers(2, 9), st.none(), st.none()),
        st.tuples(st.just("p"), st.just(True), st.just("x"), st.just(b"")),
    )
)
def test_what_is_not_sealed_by_the_key_changes_nothing(body: object) -> None:
    net = Net(make("line", 2))
    net.nodes["n0"].announce("p", "v1")
    net.run()
    net.nodes["n1"].receive("n0", Control("program", body))
    net.run()
    assert net.done["n1"] == ["+p v1"]
    assert net.nodes["n1"].refused == 1


def test_who_has_another_key_neither_tells_nor_is_told() -> None:
    net = Net(make("line", 3), {"n1": b"the key of others"})
    net.nodes["n0"].announce("p", "v1")
    net.run()
    assert net.done == {"n0": ["+p v1"], "n1": [], "n2": []}


def test_who_comes_late_is_greeted_with_all_that_runs_and_all_that_does_not() -> None:
    net = Net(make("line", 2))
    net.links.fail_node("n1")
    net.nodes["n0"].announce("p", "v1")
    net.nodes["n0"].announce("q", "v1")
    net.nodes["n0"].withdraw("q")
    net.run()
    net.links.restore_node("n1")
    net.nodes["n0"].greet("n1")
    net.run()
    assert net.done["n1"] == ["+p v1"]
    assert net.nodes["n1"].known.keys() == {"p", "q"}


def test_who_has_restarted_still_announces_newer_versions() -> None:
    told: list[Control] = []
    for now in (5, 9):  # the second has forgotten what the first said
        node = Disseminator(
            lambda peer, message: told.append(message),
            lambda: ["peer"],
            lambda name, text: lambda: None,
            lambda name: None,
            now=lambda now=now: now,  # type: ignore[misc]
        )
        node.announce("p", "v1")
        node.announce("p", "v2")
    versions = [body[1] for message in told if isinstance(body := message.body, tuple)]
    assert versions == [5, 6, 9, 10]


def test_a_program_rides_ahead_of_the_first_tuple_to_each_peer() -> None:
    net = Net(make("line", 2))
    riding = RidingTransport(net.links, net.codec)
    teller = net.nodes["n0"]
    riding.programs = teller
    got: list[object] = []
    riding.attach("n1", lambda source, payload: got.append(net.codec.decode(payload)))
    teller.known["p"] = Announcement("p", 1, "text")
    tuples = net.codec.encode([(1, "path", ("n1",), None)])
    for _ in range(2):
        riding.send("n0", "n1", tuples)
    net.run()
    assert [type(message) for message in got] == [Control, list, list]
    riding.forget("n1")
    riding.send("n0", "n1", tuples)
    net.run()
    assert [type(message) for message in got[3:]] == [Control, list]
    riding.forget("n1")
    riding.heard("n1", Announcement("p", 1, "text"))
    riding.send("n0", "n1", tuples)
    net.run()
    assert [type(message) for message in got[5:]] == [list]
    riding.detach("n1")
    riding.close()
