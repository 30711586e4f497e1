"""Heights, imbalances and generations of a tree are those of a recursion over it, as nodes move."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from network.protocols import oracles
from network.protocols.running import Running, running

NODES = [f"t{i}" for i in range(16)]


def moving(network: Running) -> Iterator[dict[str, str]]:
    """Yield a random tree as it is, then as nodes move to other parents or leave."""
    dice = random.Random(11)
    parents = {NODES[i]: NODES[dice.randrange(i)] for i in range(1, len(NODES))}
    network.insert("parent", *parents.items())
    yield parents
    for _ in range(5):
        child = dice.choice(sorted(parents))
        network.delete("parent", (child, parents.pop(child)))
        others = [n for n in NODES if n != child and not is_below(parents, n, child)]
        if dice.random() < 0.7:
            parents[child] = dice.choice(others)
            network.insert("parent", (child, parents[child]))
        yield parents


def is_below(parents: dict[str, str], node: str, top: str) -> bool:
    while node in parents:
        node = parents[node]
        if node == top:
            return True
    return False


def members(parents: dict[str, str]) -> set[str]:
    return {*parents, *parents.values()}


def test_heights_are_the_depths_of_the_lowest_leaves() -> None:
    with running("tree_height", NODES) as network:
        for parents in moving(network):
            assert network.rows("height") == {
                (x, max(oracles.leaf_depths(parents, x))) for x in members(parents)
            }


def test_imbalance_is_between_the_highest_and_the_lowest_leaf() -> None:
    with running("tree_imbalance", NODES) as network:
        for parents in moving(network):
            leaves = {x: oracles.leaf_depths(parents, x) for x in members(parents)}
            assert network.rows("imbalance") == {(x, max(d) - min(d)) for x, d in leaves.items()}


def test_nodes_of_a_generation_are_equally_far_from_their_root() -> None:
    with running("same_generation", NODES) as network:
        for parents in moving(network):
            depth = {x: oracles.depth(parents, x) for x in members(parents)}
            root = {x: oracles.root(parents, x) for x in members(parents)}
            assert network.rows("sameGeneration") == {
                (x, y)
                for x in parents
                for y in parents
                if depth[x] == depth[y] and root[x] == root[y]
            }
            assert network.rows("level") == {(root[x], x, depth[x]) for x in parents}


@pytest.mark.parametrize("name", ["tree_height", "tree_imbalance", "same_generation"])
def test_parents_in_a_circle_come_to_rest(name: str) -> None:
    with running(name, NODES[:4]) as network:
        network.insert("parent", ("t0", "t1"), ("t1", "t2"), ("t2", "t0"), ("t3", "t0"))
        network.delete("parent", ("t2", "t0"))
        if name == "tree_height":
            assert network.rows("height") == {("t3", 0), ("t0", 1), ("t1", 2), ("t2", 3)}
