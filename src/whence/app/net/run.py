"""Run a program on a topology until it is quiet or the time is over: simulated, or over UDP."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from whence.app.net.asked import Facts, asked_for, topology_facts
from whence.app.net.outcome import Outcome, Point, in_order
from whence.network.clock import RealClock, SimulatedClock
from whence.network.model import Clock, Row, Transport
from whence.network.placement import OneToOne, hashed
from whence.network.simulation import Network, Settings
from whence.network.topology.model import Topology
from whence.network.transport.auth import AuthenticatedTransport
from whence.network.transport.base import Traffic
from whence.network.transport.quality import Quality, of_topology, uniform
from whence.network.transport.reliable import ReliableTransport
from whence.network.transport.simulated import SimulatedTransport
from whence.network.transport.udp import UdpTransport
from whence.network.transport.udp import run as live
from whence.syntax.nodes import Program

DEFAULT_UNTIL: Final = 60.0
"""Seconds for programs with timers, which are never quiet."""
QUIET: Final = 0.5
"""Seconds without a tuple after which nodes on a real clock are taken to be done."""
_STEPS: Final = 50
"""Things that happen between two looks at a simulated network."""
_POINTS: Final = 400

Observe = Callable[[Point], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A program, where it runs, and how."""

    name: str
    program: Program
    topology: Topology
    settings: Settings
    facts: Facts = field(default_factory=dict)
    links: str = "link"
    processors: int | None = None
    quality: Quality = field(default_factory=Quality)
    until: float | None = None
    real: bool = False


class _Meter:
    """Counts the tuples that are shown, and when the last one moved."""

    def __init__(self, clock: Clock, network: Network, shown: tuple[str, ...]) -> None:
        self.tuples = 0
        self.moved = 0.0
        self.points: list[Point] = [Point(0.0, 0, 0, 0)]
        self._clock = clock
        self._every = 0.0
        for node in network:
            for relation in shown:
                self.tuples += len(node.rows(relation))
                node.relations[relation].watchers.append(self._told)

    def _told(self, sign: int, relation: str, row: Row) -> None:
        self.tuples += sign
        self.moved = self._clock.now()

    def point(self, messages: int, size: int) -> Point:
        """Return how far the run is, and remember it; of many points only some are kept."""
        point = Point(self._clock.now(), self.tuples, messages, size)
        if point.time - self.points[-1].time >= self._every:
            self.points.append(point)
            if len(self.points) > _POINTS:
                self.points = self.points[::2]
                self._every = 2 * point.time / _POINTS
        return point


def run_network(
    wanted: Wanted, shown: Callable[[Network], tuple[str, ...]], observe: Observe | None = None
) -> Outcome:
    """Run a network; return what came of it."""
    begun = time.perf_counter()
    return (_real if wanted.real else _simulated)(wanted, shown, observe, begun)


def _network(wanted: Wanted, clock: Clock, transport: Transport) -> Network:
    count = wanted.processors
    return Network(
        wanted.program,
        wanted.topology.nodes,
        settings=wanted.settings,
        clock=clock,
        transport=transport,
        placement=OneToOne() if count is None else hashed(count),
    )


def _begin(wanted: Wanted, network: Network) -> None:
    """Insert all facts at once."""
    facts = topology_facts(wanted.topology, network.program, wanted.links)
    for relation, rows in wanted.facts.items():
        facts.setdefault(relation, []).extend(rows)
    network.update((1, relation, row) for relation, rows in facts.items() for row in rows)


def _simulated(
    wanted: Wanted,
    shown: Callable[[Network], tuple[str, ...]],
    observe: Observe | None,
    begun: float,
) -> Outcome:
    clock = SimulatedClock()
    if wanted.processors is None:
        qualities = of_topology(wanted.topology, wanted.quality)
    else:
        qualities = uniform(wanted.quality)
    links = SimulatedTransport(clock, qualities, seed=wanted.settings.seed)
    lossy = wanted.quality.random or wanted.quality.queue is not None
    network = _network(wanted, clock, ReliableTransport(links, clock) if lossy else links)
    relations = shown(network)
    meter = _Meter(clock, network, relations)
    _begin(wanted, network)
    until = wanted.until
    if until is None and network.program.ticks:
        until = DEFAULT_UNTIL
    while True:
        for _ in range(_STEPS):
            due = clock.next_time()
            if due is None or (until is not None and due > until):
                break
            clock.step()
        point = meter.point(links.counters.sent, links.counters.sent_bytes)
        if observe is not None:
            observe(point)
        due = clock.next_time()
        if due is None or (until is not None and due > until):
            break
    if until is not None:
        clock.run_until(until)
    meter.points.append(point)
    return _outcome(wanted, network, relations, meter, begun, links.counters.sent, links.traffic)


def _real(
    wanted: Wanted,
    shown: Callable[[Network], tuple[str, ...]],
    observe: Observe | None,
    begun: float,
) -> Outcome:
    clock = RealClock()
    count = wanted.processors
    names = wanted.topology.nodes if count is None else hashed(count).processors
    udp = UdpTransport(dict.fromkeys(names, ("127.0.0.1", 0)))
    sealed = AuthenticatedTransport(udp, secrets.token_bytes(32), time.time_ns)
    transport = ReliableTransport(sealed, clock, epochs=time.time_ns)
    traffic = Traffic()
    sent = traffic.of("all")
    try:
        network = _network(wanted, clock, transport)
        relations = shown(network)
        meter = _Meter(clock, network, relations)
        _begin(wanted, network)
        until = wanted.until
        if until is None and network.program.ticks:
            until = DEFAULT_UNTIL
        before = [(-1, 0.0), (0, 0.0)]  # tuples received and when that was; bytes sent

        def over() -> bool:
            now = clock.now()
            received = sum(node.updates_received for node in network)
            if received != before[0][0] or not transport.idle():
                before[0] = (received, now)
            sent[int(now)] += udp.counters.sent_bytes - before[1][0]
            before[1] = (udp.counters.sent_bytes, now)
            point = meter.point(udp.counters.sent, udp.counters.sent_bytes)
            if observe is not None:
                observe(point)
            return now >= until if until is not None else now - before[0][1] > QUIET

        live(clock, udp, over)
        meter.points.append(
            Point(clock.now(), meter.tuples, udp.counters.sent, udp.counters.sent_bytes)
        )
        return _outcome(wanted, network, relations, meter, begun, udp.counters.sent, traffic)
    finally:
        transport.close()


def _outcome(
    wanted: Wanted,
    network: Network,
    relations: tuple[str, ...],
    meter: _Meter,
    begun: float,
    messages: int,
    traffic: Traffic,
) -> Outcome:
    return Outcome(
        program=wanted.name,
        topology=wanted.topology.name,
        nodes=len(wanted.topology.nodes),
        links=len(wanted.topology.links),
        processors=len(network.nodes),
        clock="real" if wanted.real else "simulated",
        time=network.clock.now(),
        converged=meter.moved,
        wall=time.perf_counter() - begun,
        messages=messages,
        bytes=traffic.total(),
        rows={
            relation: in_order(asked_for(wanted.program, relation, network.rows(relation)))
            for relation in relations
        },
        firings=dict(sorted(network.firings().items())),
        traffic=traffic.rate(len(network.nodes)),
        points=meter.points,
    )
