"""The worked example on the nodes of the runtime, over simulated links of one latency."""

from __future__ import annotations

from typing import cast

import pytest

from whence.network.definition import central
from whence.network.model import DEAD, Control, Message, Scheme
from whence.network.provenance.absorption import Absorption
from whence.network.provenance.definition import EXAMPLE, Link, Rounds
from whence.network.simulation import Network, Settings
from whence.syntax.ndlog import parse_ndlog

# Links have one direction: what localization would do for links that have both is written out.
REACHABLE = """
materialize(link, infinity, infinity, keys(1, 2)).
materialize(toHere, infinity, infinity, keys(1, 2)).
materialize(reachable, infinity, infinity, keys(1, 2)).
r0 toHere(@Z, X) :- link(@X, Z).
r1 reachable(@X, Y) :- link(@X, Y).
r2 reachable(@X, Y) :- toHere(@Z, X), reachable(@Z, Y).
"""


class Recorded(Network):
    """A network that remembers its messages, tuple by tuple."""

    def __init__(self, settings: Settings) -> None:
        self.shipped: list[tuple[str, str, str, str]] = []
        super().__init__(parse_ndlog(REACHABLE), "ABC", settings=settings)
        for node in self:
            self._record(node.name)

    def _record(self, name: str) -> None:
        node = self.nodes[name]
        send, broadcast = node.send, node.broadcast

        def sent(target: str, message: Message) -> None:
            if not isinstance(message, Control):
                for sign, relation, row, _ in message:
                    mark = "+" if sign > 0 else "-"
                    self.shipped.append((mark, name, target, relation + "".join(map(str, row))))
            send(target, message)

        def told(message: Control) -> None:
            if message.kind == DEAD:
                self.shipped += [("0", name, peer, "") for peer in node.peers]
            broadcast(message)

        node.send, node.broadcast = sent, told  # type: ignore[method-assign]


def _derived(scheme: str, ship: str) -> Recorded:
    network = Recorded(Settings(scheme=scheme, ship=ship))
    network.insert("link", *EXAMPLE)
    network.settle()
    return network


COUNTS = [
    ("dred", "plain", 16, 22),
    ("absorption", "plain", 20, 2),
    ("absorption", "eager", 19, 2),
    ("absorption", "lazy", 16, 5),
    ("relative", "lazy", 16, 5),
]


@pytest.mark.parametrize(("scheme", "ship", "derived", "deleted"), COUNTS)
def test_nodes_ship_as_many_tuples_as_the_rounds(
    scheme: str, ship: str, derived: int, deleted: int
) -> None:
    network = _derived(scheme, ship)
    assert len(network.shipped) == derived
    everything = {(x, y) for x in "ABC" for y in "ABC"}
    assert network.rows("reachable") == everything
    network.delete("link", ("C", "B"))
    network.settle()
    assert len(network.shipped) == derived + deleted
    assert network.rows("reachable") == everything


def test_a_lazy_deletion_takes_four_messages_for_its_five_tuples() -> None:
    network = _derived("absorption", "lazy")
    before = sum(node.messages_received for node in network)
    network.shipped.clear()
    network.delete("link", ("C", "B"))
    network.settle()
    assert sorted(network.shipped) == [
        ("+", "B", "A", "reachableAB"),
        ("+", "C", "B", "reachableBB"),
        ("+", "C", "B", "reachableBC"),
        ("0", "C", "A", ""),
        ("0", "C", "B", ""),
    ]
    # BB and BC travel together.
    assert sum(node.messages_received for node in network) - before == 4


@pytest.mark.parametrize("ship", ["plain", "eager", "lazy"])
def test_nodes_hold_the_annotations_of_the_rounds(ship: str) -> None:
    network = _derived("absorption", ship)
    names: dict[object, str] = {}
    held: dict[Link, frozenset[frozenset[str]]] = {}
    for node in network:
        scheme = cast("Absorption", node.scheme)
        for row, note in node.rows("link").items():
            names[scheme.variable(note)] = EXAMPLE[cast("Link", row)]
    for node in network:
        scheme = cast("Absorption", node.scheme)
        for row, note in node.rows("reachable").items():
            held[cast("Link", row)] = frozenset(
                frozenset(names[number] for number in product) for product in scheme.products(note)
            )
    assert held == Rounds(EXAMPLE, ship).view


def test_a_tuple_that_comes_again_has_another_variable_and_a_refresh_keeps_it() -> None:
    network = _derived("absorption", "lazy")
    node = network.nodes["C"]
    scheme: Scheme = node.scheme
    first = scheme.variable(node.rows("link")["C", "B"])
    network.insert("link", ("C", "B"))
    network.settle()
    assert scheme.variable(node.rows("link")["C", "B"]) == first
    network.delete("link", ("C", "B"))
    network.insert("link", ("C", "B"))
    network.settle()
    assert scheme.variable(node.rows("link")["C", "B"]) != first
    assert network.rows("reachable") == {(x, y) for x in "ABC" for y in "ABC"}


WINDOW = REACHABLE.replace("link, infinity, infinity", "link, 10, infinity")


@pytest.mark.parametrize(
    ("scheme", "ship"),
    [("absorption", "plain"), ("absorption", "lazy"), ("relative", "lazy"), ("dred", "plain")],
)
def test_a_base_tuple_that_expires_takes_with_it_what_needed_it(scheme: str, ship: str) -> None:
    settings = Settings(scheme=scheme, ship=ship, windows={"link"})
    network = Network(parse_ndlog(WINDOW), "ABC", settings=settings)
    network.insert("link", *EXAMPLE)
    network.run(6)
    kept = [link for link in EXAMPLE if link != ("B", "C")]
    network.insert("link", *kept)  # a refresh
    network.run(6)
    judge = central(parse_ndlog(REACHABLE), {"link": set(kept)})
    assert network.rows("reachable") == judge["reachable"]
    network.run(10)
    assert not network.rows("reachable")


@pytest.mark.parametrize("ship", ["eager", "lazy"])
def test_counts_cannot_be_shipped_once(ship: str) -> None:
    with pytest.raises(ValueError, match="must ship every derivation"):
        Network(parse_ndlog(REACHABLE), "A", settings=Settings(scheme="dred", ship=ship))
