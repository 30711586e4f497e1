"""Trees of multicast are trees, hold every member, and bring each message to exactly the members."""

from __future__ import annotations

import networkx as nx
import pytest

from network.protocols.changes import random_bursts
from network.protocols.running import Running, running

NODES = [f"n{i}" for i in range(16)]
GROUPS = {"g": {"n3", "n7", "n11", "n15"}, "h": {"n1", "n7", "n2"}}


def check_tree(network: Running, edges: set[tuple[str, str]], top: str, members: set[str]) -> None:
    """Assert that edges are a tree down from `top` whose leaves are members, along links."""
    assert edges <= set(network.links)
    reachable = nx.descendants(network.graph(), top)
    tree = nx.DiGraph(edges)
    wanted = members & reachable - {top}
    if not wanted:
        assert not edges
        return
    assert nx.is_arborescence(tree)
    assert next(node for node, degree in tree.in_degree() if degree == 0) == top
    assert wanted <= set(tree)
    assert {node for node, degree in tree.out_degree() if degree == 0} <= members


def test_a_source_reaches_the_members_of_its_group() -> None:
    with running("multicast_source", NODES) as network:
        network.insert("joinGroup", *((n, "n0", g) for g, ns in GROUPS.items() for n in ns))
        members = {group: set(nodes) for group, nodes in GROUPS.items()}
        for number, burst in enumerate(random_bursts(NODES, links=26, bursts=3, seed=7)):
            network.change(burst)
            if number == 2:
                members["g"] -= {"n7"}
                network.delete("joinGroup", ("n7", "n0", "g"))
            reachable = {"n0", *nx.descendants(network.graph(), "n0")}
            for group, nodes in members.items():
                state = {(i, j) for i, j, s, g in network.rows("forwardState") if g == group}
                check_tree(network, state, "n0", nodes)
                message = f"{group}{number}"
                network.send("send", ("n0", group, message))
                received = {n for n, s, g, m in network.rows("received") if m == message}
                assert received == nodes & reachable


@pytest.mark.parametrize("sender", ["n0", "n5", "n7"])
def test_a_core_hands_on_what_anybody_sends(sender: str) -> None:
    with running("multicast_core", NODES) as network:
        network.insert("coreOf", *((n, g, "n0") for g in GROUPS for n in NODES))
        network.insert("joinGroup", *((n, g) for g, ns in GROUPS.items() for n in ns))
        for number, burst in enumerate(random_bursts(NODES, links=26, bursts=2, seed=9)):
            network.change(burst)
            reachable = {"n0", *nx.descendants(network.graph(), "n0")}
            for group, nodes in GROUPS.items():
                state = {(i, j) for i, j, g in network.rows("forwardState") if g == group}
                check_tree(network, state, "n0", nodes)
                message = f"{group}{number}"
                network.send("send", (sender, group, message))
                received = {n for n, g, m in network.rows("received") if m == message}
                assert received == (nodes & reachable if sender in reachable else set())
