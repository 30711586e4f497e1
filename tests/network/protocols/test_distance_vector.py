"""Distance vectors converge to the shortest paths, before and after links fail."""

from __future__ import annotations

import pytest

from network.protocols import oracles
from network.protocols.changes import random_bursts
from network.protocols.running import Running, running

BOTH = ["distance_vector", "distance_vector_poison"]
PERIOD = 2.0


def routes(network: Running) -> set[tuple[object, ...]]:
    return network.rows("bestPathHop")


def expected(network: Running) -> set[tuple[object, ...]]:
    return {row for row in oracles.next_hops(network.links) if row[0] != row[1]}


@pytest.mark.parametrize("name", BOTH)
def test_next_hops_begin_shortest_paths_after_failures(name: str) -> None:
    with running(name, [f"n{i}" for i in range(12)]) as network:
        for burst in random_bursts(network.nodes, links=20, bursts=2, seed=3):
            network.change(burst)
            network.advance(40 * PERIOD)  # whatever counts to infinity has come there
            assert routes(network) == expected(network)


def test_two_nodes_that_are_cut_off_count_to_infinity_and_stop_there() -> None:
    costs = costs_after_a_failure("distance_vector")
    assert costs == sorted(costs)
    assert len(set(costs)) > 3


def test_poison_reverse_keeps_two_nodes_from_counting() -> None:
    assert set(costs_after_a_failure("distance_vector_poison")) <= {2}


def costs_after_a_failure(name: str) -> list[int]:
    """Return the costs that b believes in, round by round, once c is cut off from a - b - c."""
    with running(name, "abc") as network:
        network.change({("a", "b"): 1, ("b", "c"): 1})
        network.advance(5 * PERIOD)
        assert routes(network) == expected(network)
        network.change({("b", "c"): None})
        costs = []
        for _ in range(80):
            network.advance(PERIOD)
            costs += [c for s, d, _, c in routes(network) if (s, d) == ("a", "c")]
        assert routes(network) == expected(network)
        return costs
