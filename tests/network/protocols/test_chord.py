"""A ring of Chord comes to stand, answers every lookup rightly, and heals when nodes are killed."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from network.protocols.running import Running, running

LATENCY = 0.05


class Ring:
    """A network that runs Chord, with identifiers known to the test."""

    def __init__(self, network: Running, seed: int) -> None:
        self.network = network
        self.dice = random.Random(seed)
        self.identifiers = {node: self.dice.getrandbits(160) for node in network.nodes}

    def join(self, gap: float) -> None:
        """Let one node after the other join, the first as the landmark of all."""
        first = self.network.nodes[0]
        for node in self.network.nodes:
            landmark = "NIL" if node == first else first
            self.network.insert(
                "env", (node, "node", self.identifiers[node]), (node, "landmark", landmark)
            )
            self.network.network.host(node)
            self.network.advance(gap)

    def alive(self) -> list[str]:
        """Return the nodes that were not killed, once round the ring."""
        return sorted(self.network.network.nodes, key=lambda node: self.identifiers[node])

    def owner(self, key: int) -> str:
        """Return the first node at or after a key, by looking at all."""
        alive = self.alive()
        return next((node for node in alive if self.identifiers[node] >= key), alive[0])

    def neighbours(self, relation: str) -> dict[str, str]:
        return {row[0]: row[2] for row in self.network.rows(relation)}

    def check(self) -> None:
        """Assert that everybody knows who is next and who was before."""
        alive = self.alive()
        after = {node: alive[(i + 1) % len(alive)] for i, node in enumerate(alive)}
        assert self.neighbours("bestSucc") == after
        assert self.neighbours("pred") == {right: left for left, right in after.items()}

    def lookups(self, count: int) -> dict[int, tuple[str, set[str], int]]:
        """Ask for random keys at random nodes; return the owner, the answers and the hops of each."""
        asked = {}
        for _ in range(count):
            key, node = self.dice.getrandbits(160), self.dice.choice(self.alive())
            event = self.dice.getrandbits(62)
            asked[event] = key
            self.network.insert("lookup", (node, key, node, event))
        self.network.advance(100 * LATENCY)
        answers = [(row[4], row[3]) for _, _, row in self.network.seen("lookupResults")]
        steps = Counter(row[3] for _, _, row in self.network.seen("lookup"))
        return {
            event: (self.owner(key), {who for e, who in answers if e == event}, steps[event] - 1)
            for event, key in asked.items()
        }


def standing(count: int, *, seconds: float, seed: int = 1) -> Iterator[Ring]:
    """Yield a ring some time after its nodes have joined."""
    nodes = [f"c{i}" for i in range(count)]
    watched = ("lookup", "lookupResults")
    with running("chord", nodes, start=False, latency=LATENCY, watch=watched, seed=seed) as network:
        ring = Ring(network, seed)
        ring.join(2.0)
        network.advance(seconds)
        yield ring


@pytest.fixture(scope="module")
def ring() -> Iterator[Ring]:
    yield from standing(16, seconds=150)


def test_everybody_knows_who_is_next(ring: Ring) -> None:
    ring.check()


def test_fingers_point_to_the_owners_of_their_keys(ring: Ring) -> None:
    fingers = ring.network.rows("finger")
    assert {index for _, index, _, _ in fingers} == set(range(160))
    right = sum(
        owner == ring.owner((ring.identifiers[node] + (1 << index)) % (1 << 160))
        for node, index, _, owner in fingers
    )
    assert right == len(fingers)


def test_every_lookup_is_answered_by_the_owner_of_its_key_alone(ring: Ring) -> None:
    found = ring.lookups(100)
    assert all(answers == {owner} for owner, answers, _ in found.values())
    hops = sum(hops for _, _, hops in found.values()) / len(found)
    assert hops == pytest.approx(math.log2(16) / 2, abs=0.7)


def test_a_ring_heals_when_nodes_are_killed() -> None:
    for ring in standing(12, seconds=120, seed=2):
        ring.check()
        for victim in ("c7", "c0"):  # the landmark too
            ring.network.kill(victim)
            ring.network.advance(120)
            ring.check()
            assert all(answers == {owner} for owner, answers, _ in ring.lookups(30).values())


def test_nodes_find_a_landmark_that_starts_later() -> None:
    with running("chord", ["l", "a", "b"], start=False, latency=LATENCY) as network:
        ring = Ring(network, seed=3)
        for node in ("a", "b", "l"):
            landmark = "NIL" if node == "l" else "l"
            network.insert(
                "env", (node, "node", ring.identifiers[node]), (node, "landmark", landmark)
            )
            network.network.host(node)
            network.advance(20)
        network.advance(80)
        ring.check()


@pytest.mark.slow
def test_hops_are_half_the_logarithm_of_the_number_of_nodes() -> None:
    for ring in standing(48, seconds=150, seed=4):
        ring.check()
        found = ring.lookups(200)
        assert all(answers == {owner} for owner, answers, _ in found.values())
        hops = sum(hops for _, _, hops in found.values()) / len(found)
        assert hops == pytest.approx(math.log2(48) / 2, abs=0.5)
