"""Chord rings to experiment with: nodes join one after the other, and lookups are watched."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from typing import Final

from whence.network.clock import SimulatedClock
from whence.network.experiments.routing import HEADERS
from whence.network.model import Row
from whence.network.protocols.library import protocol
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport

BITS: Final = 160
LATENCY: Final = 0.1
ASKERS: Final = 10
"""Nodes that ask for the same key at once."""
EVERY: Final = 15.0
"""Seconds between groups of lookups."""
GIVE_UP: Final = 14.0


def identifier(name: str) -> int:
    """Return the place of a node on the ring."""
    return int.from_bytes(hashlib.sha1(name.encode(), usedforsecurity=False).digest())


@dataclass(slots=True)
class Lookup:
    """A lookup: who answers, after how many hops and how long."""

    group: int
    key: int
    begun: float
    hops: int = -1
    answer: str | None = None
    seconds: float = 0.0


@dataclass(slots=True)
class Ring:
    """A Chord ring that runs."""

    network: Network
    transport: SimulatedTransport
    clock: SimulatedClock
    rng: random.Random
    alive: list[str] = field(default_factory=list)
    lookups: dict[int, Lookup] = field(default_factory=dict)
    groups: int = 0

    def join(self, name: str) -> None:
        """Let a node join the ring."""
        network = self.network
        first = not self.alive
        landmark = "NIL" if first else self.rng.choice(self.alive)
        network.insert("env", (name, "node", identifier(name)), (name, "landmark", landmark))
        node = network.node(name)
        node.relations["lookup"].watchers.append(self._hop)
        node.relations["lookupResults"].watchers.append(self._answered)
        network.host(name)
        self.alive.append(name)

    def fail(self, name: str) -> None:
        """Let a node be gone without a word."""
        self.alive.remove(name)
        self.network.fail(name)

    def ask(self) -> None:
        """Let some nodes ask for one key at the same time."""
        self.groups += 1
        key = self.rng.getrandbits(BITS)
        for name in self.rng.sample(self.alive, min(ASKERS, len(self.alive))):
            event = self.rng.getrandbits(62)
            self.lookups[event] = Lookup(self.groups, key, self.clock.now())
            self.network.insert("lookup", (name, key, name, event))

    def owner(self, key: int) -> str:
        """Return the node that is responsible for a key, as things are."""
        places = sorted((identifier(name), name) for name in self.alive)
        return next((name for place, name in places if place >= key), places[0][1])

    def _hop(self, _sign: int, _relation: str, row: Row) -> None:
        found = self.lookups.get(row[3])  # type: ignore[arg-type]
        if found is not None and found.answer is None:
            found.hops += 1

    def _answered(self, _sign: int, _relation: str, row: Row) -> None:
        found = self.lookups.get(row[4])  # type: ignore[arg-type]
        if found is not None and found.answer is None:
            found.answer = str(row[3])
            found.seconds = self.clock.now() - found.begun


def ring(
    names: list[str], *, later: list[str] | None = None, seed: int = 0, gap: float = 1.0
) -> Ring:
    """Return a ring that nodes have joined, one each `gap` seconds; others may join `later`."""
    clock = SimulatedClock()
    transport = SimulatedTransport(
        clock, uniform(Quality(latency=LATENCY)), overhead=HEADERS, bucket=5.0
    )
    network = Network(
        protocol("chord"),
        [*names, *(later or ())],
        settings=Settings(seed=seed, log=0),
        clock=clock,
        transport=transport,
        start=False,
    )
    made = Ring(network, transport, clock, random.Random(f"ring {seed}"))
    for name in names:
        made.join(name)
        network.run(gap)
    return made
