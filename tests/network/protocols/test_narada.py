"""Members of Narada come to know each other, notice who is dead, and take neighbours worth having."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from network.protocols.running import Running, running

NODES = [f"m{i}" for i in range(10)]


@pytest.fixture(scope="module")
def mesh() -> Iterator[Running]:
    """Yield a mesh that began as a line, after a minute and a half."""
    watched = ("ping", "member")
    with running("narada", NODES, start=False, latency=0.1, watch=watched) as network:
        begin(network, {node: [NODES[i - 1]] for i, node in enumerate(NODES) if i})
        network.advance(90)
        yield network


def begin(network: Running, first: dict[str, list[str]]) -> None:
    """Start all nodes with the neighbours that they are told of."""
    network.insert("env", *((x, "neighbor", y) for x, ys in first.items() for y in ys))
    for node in network.nodes:
        network.network.host(node)


def living(network: Running, node: str) -> set[str]:
    return {row[1] for row in network.at(node, "member") if row[4] == 1}


def test_everybody_comes_to_know_everybody(mesh: Running) -> None:
    assert all(living(mesh, node) == set(NODES) for node in NODES)


def test_nobody_who_lives_was_ever_thought_dead(mesh: Running) -> None:
    assert all(row[4] == 1 for _, _, row in mesh.seen("member"))


def test_neighbours_are_mutual(mesh: Running) -> None:
    pairs = mesh.rows("neighbor")
    assert {(y, x) for x, y in pairs} == pairs
    assert {(NODES[i], NODES[i - 1]) for i in range(1, len(NODES))} <= pairs


def test_one_member_is_pinged_at_a_time(mesh: Running) -> None:
    asked: dict[object, set[str]] = {}
    for _, node, (_, _, event, _) in mesh.seen("ping"):
        asked.setdefault(event, set()).add(node)
    assert all(len(nodes) == 1 for nodes in asked.values())
    assert {node for nodes in asked.values() for node in nodes} == set(NODES)


def test_round_trips_are_twice_the_latency(mesh: Running) -> None:
    trips = [trip for _, _, trip in mesh.rows("latency")]
    assert trips == pytest.approx([0.2] * len(trips))


def test_routes_lead_to_everybody_at_the_cost_of_their_mesh(mesh: Running) -> None:
    routes = {(x, y): (z, cost) for x, y, z, cost in mesh.rows("bestPathHop")}
    assert set(routes) == {(x, y) for x in NODES for y in NODES if x != y}
    neighbours = mesh.rows("neighbor")
    for (x, y), (z, cost) in routes.items():
        assert (x, z) in neighbours
        rest = 0.0 if z == y else routes[z, y][1]
        assert cost == pytest.approx(0.2 + rest)


def test_a_member_that_is_killed_is_dead_for_all() -> None:
    with running("narada", NODES[:7], start=False, latency=0.1) as network:
        begin(network, {x: [NODES[(i + 1) % 7]] for i, x in enumerate(NODES[:7])})
        network.advance(60)
        assert all(living(network, node) == set(NODES[:7]) for node in NODES[:7])
        network.kill("m3")
        network.advance(60)
        left = [node for node in NODES[:7] if node != "m3"]
        assert all(living(network, node) == set(left) for node in left)
        assert not any("m3" in pair for pair in network.rows("neighbor"))


def test_who_shortens_many_routes_becomes_a_neighbour(mesh: Running) -> None:
    begun = {frozenset((NODES[i], NODES[i - 1])) for i in range(1, len(NODES))}
    added = {frozenset(pair) for pair in mesh.rows("neighbor")} - begun
    assert added  # a line of ten has routes that are worth shortening
    longest = max(cost for *_, cost in mesh.rows("bestPathHop"))
    assert longest < 9 * 0.2 - 0.1


def test_who_shortens_few_routes_does_not() -> None:
    with running("narada", "abc", start=False, latency=0.1) as network:
        begin(network, {"a": ["b"], "b": ["c"]})
        network.advance(90)
        # From a, c is half as far directly: a gain of 0.5 for one route, where 1.0 is asked for.
        assert network.rows("neighbor") == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
