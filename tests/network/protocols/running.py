"""A protocol of the library on a simulated network, whose links tests change in bursts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import networkx as nx

from network.protocols import oracles
from network.protocols.changes import Changes
from whence.network.clock import SimulatedClock
from whence.network.protocols.library import protocol
from whence.network.rewrite.passes import Options
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport
from whence.syntax.nodes import Watch

SELECTING = Options(without=frozenset({"reorder", "magic_sets"}))
"""Programs are localized, and only the best tuples of a group go on where that is enough."""

Row = tuple[Any, ...]


class Running:
    """A network that runs a protocol, and the links that it was told of."""

    def __init__(self, network: Network, nodes: list[str], directed: bool) -> None:
        self.network = network
        self.nodes = nodes
        self.directed = directed
        self.links: dict[tuple[str, str], int] = {}
        self.timed = bool(network.program.ticks)

    def change(self, burst: Changes) -> None:
        """Let links come, go and change their cost, all at once, and wait until it is settled."""
        updates: list[tuple[int, str, Row]] = []
        for ends, cost in burst.items():
            for way in [ends] if self.directed else [ends, ends[::-1]]:
                if way in self.links:
                    updates.append((-1, "link", (*way, self.links.pop(way))))
                if cost is not None:
                    updates.append((1, "link", (*way, cost)))
                    self.links[way] = cost
        self.network.update(updates)
        self.settle()

    def insert(self, relation: str, *rows: Row) -> None:
        """Insert tuples, or let events happen, and wait until it is settled."""
        self.network.insert(relation, *rows)
        self.settle()

    def delete(self, relation: str, *rows: Row) -> None:
        self.network.delete(relation, *rows)
        self.settle()

    def send(self, event: str, row: Row) -> None:
        """Let an event happen, and wait until it is settled."""
        self.insert(event, row)

    def kill(self, node: str) -> None:
        """Let a node be gone, with all it held."""
        self.network.fail(node)

    def settle(self) -> None:
        """Wait until nothing happens, where there is no timer that always makes something happen."""
        if not self.timed:
            self.network.settle()

    def advance(self, seconds: float) -> None:
        self.network.run(seconds)

    def rows(self, relation: str) -> set[Row]:
        return self.network.rows(relation)

    def at(self, node: str, relation: str) -> set[Row]:
        return set(self.network.node(node).rows(relation))

    def seen(self, relation: str) -> Iterator[tuple[float, str, Row]]:
        """Yield when and where tuples came to a relation that is watched."""
        for node in self.network:
            for entry in node.log.entries:
                if (entry.what, entry.subject) == ("+", relation):
                    assert isinstance(entry.detail, tuple)
                    yield entry.time, node.name, entry.detail

    def graph(self) -> nx.DiGraph:
        graph = oracles.graph(self.links)
        graph.add_nodes_from(self.nodes)
        return graph

    def messages(self) -> int:
        transport = self.network.transport
        assert isinstance(transport, SimulatedTransport)
        return transport.counters.sent


@contextmanager
def running(
    name: str,
    nodes: Iterable[str],
    *,
    directed: bool = False,
    latency: float = 0.01,
    start: bool = True,
    watch: Iterable[str] = (),
    options: Options = SELECTING,
    scheme: str = "auto",
    ship: str = "plain",
    seed: int = 0,
) -> Iterator[Running]:
    """Yield a protocol on a network without links."""
    program = replace(protocol(name), watches=tuple(Watch(relation) for relation in watch))
    clock = SimulatedClock()
    transport = SimulatedTransport(clock, uniform(Quality(latency=latency)), seed=seed)
    settings = Settings(scheme=scheme, ship=ship, options=options, seed=seed, log=100_000)
    addresses = list(nodes)
    network = Network(
        program, addresses, settings=settings, clock=clock, transport=transport, start=start
    )
    yield Running(network, addresses, directed)
    faults = {rule: count for node in network for rule, count in node.log.faults.items()}
    assert not faults, f"functions without a value in {faults}"
