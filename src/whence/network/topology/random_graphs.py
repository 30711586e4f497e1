"""Random graphs that are connected: any links (Erdős and Rényi), or preferred ones (Barabási)."""

from __future__ import annotations

import random

from whence.network.topology.model import Link, Topology, names, spanning_tree


def gnm(nodes: int, links: int | None = None, seed: int = 0, costs: int = 1) -> Topology:
    """Return a random tree and as many other random links as are missing, costs from 1 up.

    There are twice as many links as nodes if nothing is said, and never fewer than a tree has.
    """
    rng = random.Random(f"gnm {seed}")
    called = names(nodes)
    most = nodes * (nodes - 1) // 2
    wanted = max(min(2 * nodes if links is None else links, most), nodes - 1)
    pairs = {_pair(a, b): None for a, b in spanning_tree(called, rng)}
    if wanted > most // 2:  # so many that drawing would mostly find what is there
        rest = [(a, b) for i, a in enumerate(called) for b in called[i + 1 :]]
        rest = [p for p in (_pair(a, b) for a, b in rest) if p not in pairs]
        pairs |= dict.fromkeys(rng.sample(rest, wanted - len(pairs)))
    while len(pairs) < wanted:
        a, b = rng.sample(called, 2)
        pairs[_pair(a, b)] = None
    return Topology("gnm", called, tuple(Link(a, b, rng.randint(1, costs)) for a, b in pairs))


def barabasi(nodes: int, each: int = 2, seed: int = 0, costs: int = 1) -> Topology:
    """Return a graph that grows: a new node has links with `each` others, preferably known ones.

    Barabási and Albert, 1999; the first nodes form a star.
    """
    rng = random.Random(f"barabasi {seed}")
    called = names(nodes)
    first = min(nodes, each + 1)
    pairs = [(0, i) for i in range(1, first)]
    ends = [end for pair in pairs for end in pair]
    for new in range(first, nodes):
        chosen: dict[int, None] = {}
        while len(chosen) < each:
            chosen[rng.choice(ends)] = None
        for old in chosen:
            pairs.append((old, new))
            ends += (old, new)
    links = tuple(Link(called[a], called[b], rng.randint(1, costs)) for a, b in pairs)
    return Topology("barabasi", called, links)


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if (len(a), a) < (len(b), b) else (b, a)
