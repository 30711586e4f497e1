"""What protocols should come to, by networkx or by brute force; links are {(source, target): cost}."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import networkx as nx

Links = Mapping[tuple[str, str], int]
Path = tuple[str, ...]


def both_ways(links: Links) -> dict[tuple[str, str], int]:
    """Return the links with their reverse, at the same cost."""
    return {**{(t, s): cost for (s, t), cost in links.items()}, **links}


def graph(links: Links) -> nx.DiGraph:
    """Return the links as a graph with weights."""
    made = nx.DiGraph()
    made.add_weighted_edges_from((s, t, cost) for (s, t), cost in links.items())
    return made


def cost_of(links: Links, path: Path) -> int:
    return sum(links[step] for step in pairwise(path))


def shortest_paths(
    links: Links, *, by_hops: bool = False, sources: Iterable[str] | None = None
) -> set[tuple[str, str, Path, int]]:
    """Return (source, target, path, cost) of all cheapest paths, ties included."""
    network = graph(links)
    if by_hops:
        links = dict.fromkeys(links, 1)
    found = set()
    for source in network if sources is None else [s for s in sources if s in network]:
        for target in nx.descendants(network, source):
            weight = None if by_hops else "weight"
            for path in nx.all_shortest_paths(network, source, target, weight=weight):
                found.add((source, target, tuple(path), cost_of(links, tuple(path))))
    return found


def distances(links: Links) -> dict[tuple[str, str], int]:
    """Return the least cost between all pairs; that of a node and itself is its cheapest cycle."""
    network = graph(links)
    least = dict(nx.all_pairs_dijkstra_path_length(network))
    found = {(s, t): c for s, row in least.items() for t, c in row.items() if s != t}
    for (source, hop), cost in links.items():
        back = least[hop].get(source)
        if back is not None:
            found[source, source] = min(cost + back, found.get((source, source), cost + back))
    return found


def next_hops(links: Links) -> set[tuple[str, str, str, int]]:
    """Return (source, target, hop, cost) of all hops that begin a cheapest path."""
    least = distances(links)
    found = set()
    for (source, hop), cost in links.items():
        for target in {t for _, t in least}:
            rest = 0 if hop == target else least.get((hop, target))
            if rest is not None and cost + rest == least.get((source, target)):
                found.add((source, target, hop, cost + rest))
    return found


def simple_paths(links: Links) -> set[tuple[str, str, Path, int]]:
    """Return (source, target, path, cost) of all paths without a cycle."""
    network = graph(links)
    return {
        (source, target, tuple(path), cost_of(links, tuple(path)))
        for source in network
        for target in network
        if source != target
        for path in nx.all_simple_paths(network, source, target)
    }


def cycles(links: Links) -> set[tuple[str, Path]]:
    """Return every cycle from each of its nodes, as (node, path back to it)."""
    found = set()
    for cycle in nx.simple_cycles(graph(links)):
        for turn in range(len(cycle)):
            turned = (*cycle[turn:], *cycle[:turn])
            found.add((turned[0], (*turned, turned[0])))
    return found


def grown(seeds: Iterable[str], near: Links, triggered: set[str], *, edge: bool) -> set[str]:
    """Return the sensors of a region that begins at seeds; with `edge` also untriggered ones."""
    region = set(seeds) & triggered
    while True:
        more = {
            y
            for (x, y), metres in near.items()
            if metres < 20 and x in region & triggered and (edge or y in triggered)
        }
        if more <= region:
            return region
        region |= more


def leaf_depths(parents: Mapping[str, str], node: str) -> list[int]:
    """Return how far each leaf below a node is below it."""
    children = [child for child, parent in parents.items() if parent == node]
    return [1 + depth for child in children for depth in leaf_depths(parents, child)] or [0]


def depth(parents: Mapping[str, str], node: str) -> int:
    return 1 + depth(parents, parents[node]) if node in parents else 0


def root(parents: Mapping[str, str], node: str) -> str:
    return root(parents, parents[node]) if node in parents else node
