"""Path vector on overlays, as Loo's experiments on routing have it (sections 7.1 and 8.4).

Nodes sit in a transit-stub network and have picked four neighbours each. Links are weighed by one
of four metrics.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from whence.network.clock import SimulatedClock
from whence.network.model import Row
from whence.network.protocols.library import protocol
from whence.network.rewrite.options import Options
from whence.network.simulation import Network, Settings
from whence.network.topology.model import Topology
from whence.network.topology.overlay import overlay
from whence.network.topology.transit_stub import transit_stub
from whence.network.transport.quality import of_topology
from whence.network.transport.simulated import SimulatedTransport
from whence.syntax.nodes import Program

PERIOD: Final = 0.5
"""Seconds between the batches of periodic aggregate selections."""
METRICS: Final = ("hop count", "latency", "reliability", "random")
HEADERS: Final = 28
"""Bytes of IP and UDP that each datagram has on top of ours."""
BUCKET: Final = 0.25


@dataclass(slots=True)
class Routing:
    """A network that runs path vector."""

    topology: Topology
    network: Network
    transport: SimulatedTransport
    costs: dict[tuple[str, str], int]

    @property
    def clock(self) -> SimulatedClock:
        clock = self.network.clock
        assert isinstance(clock, SimulatedClock)
        return clock

    def rate(self) -> list[float]:
        """Return KB/s per node, stretch by stretch."""
        return self.transport.traffic.rate(len(self.topology.nodes), self.clock.now())


def overlay_of(nodes: int, seed: int) -> Topology:
    """Return an overlay on a transit-stub network of four domains."""
    return overlay(transit_stub(domains=4, transit=1, seed=seed), nodes, 4, seed)


def weighed(topology: Topology, metric: str, seed: int) -> dict[tuple[str, str], int]:
    """Return what each link costs, the same both ways."""
    rng = random.Random(f"{metric} {seed}")
    costs = {}
    for link in topology.links:
        milliseconds = max(1, round(link.latency * 1000))
        match metric:
            case "hop count":
                cost = 1
            case "latency":
                cost = milliseconds
            case "reliability":  # what is lost grows with the latency, with some scatter
                cost = max(1, round(milliseconds * rng.uniform(0.7, 1.3)))
            case _:
                cost = rng.randint(1, 1000)
        costs[link.source, link.target] = costs[link.target, link.source] = cost
    return costs


def rows_of(costs: dict[tuple[str, str], int]) -> list[Row]:
    """Return the links as tuples."""
    return [(source, target, cost) for (source, target), cost in costs.items()]


def routing(
    topology: Topology,
    metric: str,
    *,
    seed: int = 0,
    period: float | None = PERIOD,
    share: float | None = None,
    program: Program | None = None,
) -> Routing:
    """Return a network that is about to run path vector, with aggregate selections."""
    clock = SimulatedClock()
    transport = SimulatedTransport(
        clock, of_topology(topology), seed=seed, overhead=HEADERS, bucket=BUCKET
    )
    options = Options(
        without=frozenset({"reorder", "magic_sets"}), period=period, share=share, backward=True
    )
    network = Network(
        program or protocol("path_vector"),
        topology.nodes,
        settings=Settings(options=options, seed=seed, log=0),
        clock=clock,
        transport=transport,
    )
    return Routing(topology, network, transport, weighed(topology, metric, seed))


def begin(run: Routing, relation: str = "link") -> None:
    """Let all links come up."""
    run.network.update((1, relation, row) for row in rows_of(run.costs))


def renamed(program: Program, suffix: str) -> Program:
    """Return a program whose relations have names of their own."""
    from whence.syntax.nodes import Atom, Literal, Term, rebuild

    def name(relation: str) -> str:
        return f"{relation}{suffix}"

    def in_atoms(node: Term | Literal) -> Term | Literal:
        inner = rebuild(node, in_atoms)
        return replace(inner, relation=name(inner.relation)) if isinstance(inner, Atom) else inner

    return replace(
        program,
        tables=tuple(replace(t, relation=name(t.relation)) for t in program.tables),
        rules=tuple(
            replace(
                rule,
                name=f"{rule.name}{suffix}",
                heads=tuple(replace(h, relation=name(h.relation)) for h in rule.heads),
                body=tuple(in_atoms(part) for part in rule.body),  # type: ignore[misc]
            )
            for rule in program.rules
        ),
        queries=tuple(
            replace(q, atom=replace(q.atom, relation=name(q.atom.relation)))
            for q in program.queries
        ),
    )
