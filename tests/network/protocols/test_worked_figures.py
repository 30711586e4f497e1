"""The worked examples of Loo 2006, figures 2.3, 3.9 and 5.7, round by round."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from network.protocols.running import SELECTING, Running, running
from whence.network.rewrite.passes import Options
from whence.network.simulation import PLAIN

ROUND = 1.0
LINKS = {("a", "b"): 5, ("a", "c"): 1, ("c", "b"): 1, ("b", "d"): 1, ("e", "a"): 1}
"""The solid lines of figures 2.3 and 5.7; there are links back, too."""


def forward(rows: set[tuple[Any, ...]]) -> dict[tuple[str, ...], object]:
    """Return the costs of the paths that run along the solid lines only."""
    return {path: cost for *_, path, cost in rows if all(step in LINKS for step in pairwise(path))}


def paths(network: Running) -> dict[tuple[str, ...], object]:
    return forward(network.rows("path"))


def begun(network: Running, links: dict[tuple[str, str], int]) -> None:
    """Let all links come at once; paths of one hop are there, those of more are under way."""
    network.network.insert(
        "link", *((s, t, c) for (x, y), c in links.items() for s, t in ((x, y), (y, x)))
    )
    network.links = {way: c for (x, y), c in links.items() for way in ((x, y), (y, x))}
    network.advance(ROUND / 2)


def test_figure_2_3_every_round_brings_the_paths_of_one_hop_more() -> None:
    rounds = [
        {"ab": 5, "ac": 1, "cb": 1, "bd": 1, "ea": 1},
        {"abd": 6, "acb": 2, "cbd": 2, "eab": 6, "eac": 2},
        {"acbd": 3, "eabd": 7, "eacb": 3},
        {"eacbd": 4},
    ]
    with running("path_vector", "abcde", latency=ROUND, options=PLAIN) as network:
        begun(network, LINKS)
        # Links are told to their other ends first, as the rewritten rule joins there.
        assert paths(network) == {tuple(p): cost for p, cost in rounds[0].items()}
        known = dict(rounds[0])
        network.advance(ROUND)
        for more in rounds[1:]:
            network.advance(ROUND)
            known |= more
            assert paths(network) == {tuple(p): cost for p, cost in known.items()}


def test_figure_2_3_a_cheaper_path_replaces_the_first() -> None:
    with running("shortest_path_hop", "abcde", latency=ROUND) as network:
        begun(network, LINKS)
        assert ("a", "b", 5) in network.rows("spCost")
        assert ("a", "b", "b", 5) in network.rows("shortestPathHop")
        network.advance(2 * ROUND)
        assert ("a", "d", "b", 6) in network.rows("path")
        hops = {row for row in network.rows("shortestPathHop") if row[:2] == ("a", "b")}
        assert hops == {("a", "b", "c", 2)}
        assert {row for row in network.rows("spCost") if row[:2] == ("a", "b")} == {("a", "b", 2)}


@pytest.mark.parametrize("options", [PLAIN, SELECTING], ids=["all paths", "selected"])
def test_figure_3_9_another_path_is_found_when_a_link_fails(options: Options) -> None:
    links = {("a", "b"): 1, ("a", "c"): 1, ("c", "d"): 1, ("b", "d"): 2}
    with running("path_vector", "abcd", latency=ROUND, options=options) as network:
        network.change(links)
        assert best(network) == {("a", "d", ("a", "c", "d"), 2)}
        network.network.update([(-1, "link", ("c", "d", 1)), (-1, "link", ("d", "c", 1))])
        assert not [row for row in network.at("c", "path") if row[3] == ("c", "d")]
        assert best(network) == {("a", "d", ("a", "c", "d"), 2)}  # a has not heard of it
        network.advance(1.5 * ROUND)
        assert best(network) == {("a", "d", ("a", "b", "d"), 3)}
        network.settle()
        assert best(network) == {("a", "d", ("a", "b", "d"), 3)}


def best(network: Running) -> set[tuple[object, ...]]:
    return {row for row in network.rows("shortestPath") if row[:2] == ("a", "d")}


def test_figure_5_7_changes_go_up_the_tree_of_a_derivation() -> None:
    with running("path_vector", "abde", options=PLAIN) as network:
        network.change({("e", "a"): 1, ("a", "b"): 5, ("b", "d"): 1})
        tree = [("b", "d"), ("a", "b", "d"), ("e", "a", "b", "d")]
        assert [paths(network)[p] for p in tree] == [1, 6, 7]
        network.change({("a", "b"): 1})
        assert [paths(network)[p] for p in tree] == [1, 2, 3]
        assert ("e", "d", "a", ("e", "a", "b", "d"), 3) in network.rows("path")
        network.change({("b", "d"): None})
        assert not set(tree) & set(paths(network))
        assert paths(network)["e", "a", "b"] == 2
