"""Transit-stub topologies in the manner of GT-ITM (Zegura, Calvert and Bhattacharjee 1996).

Transit domains are meshes of transit nodes; each of these has some stubs, small networks of their
own. Links inside stubs are quick, those between transit nodes slow. Costs are milliseconds.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import Final

from whence.network.topology.model import Link, Topology, spanning_tree

TRANSIT_LATENCY: Final = 0.050
ACCESS_LATENCY: Final = 0.010
STUB_LATENCY: Final = 0.002
BANDWIDTH: Final = 10e6

DENSE: Final = 4.0
"""Links of a node, on the average; sparse topologies have half."""

PER_TRANSIT: Final = 25
"""Nodes for each transit node, itself among them, with three stubs of eight."""


def transit_stub(
    nodes: int | None = None,
    *,
    domains: int = 1,
    transit: int = 4,
    stubs: int = 3,
    stub_nodes: int = 8,
    degree: float = DENSE,
    seed: int = 0,
) -> Topology:
    """Return a connected transit-stub topology with `degree` / 2 links for each node.

    `transit` is the number of transit nodes of a domain. When the number of `nodes` is given, there
    are as many transit nodes as it takes for stubs of about `stub_nodes`, in `domains` domains.

    >>> len(transit_stub().nodes), len(transit_stub().links)
    (100, 200)
    """
    rng = random.Random(f"transit-stub {seed}")
    if nodes is None:
        cores = domains * transit
        sizes = [stub_nodes] * (cores * stubs)
    else:
        cores = max(1, round(nodes / (1 + stubs * stub_nodes)))
        domains = min(domains, cores)
        sizes = _spread(max(nodes - cores, 0), cores * stubs)
        cores = min(cores, nodes)
    called = [f"t{i}" for i in range(cores)]
    backbone = [called[i::domains] for i in range(domains)]
    stub_names = [[f"s{i}.{j}" for j in range(size)] for i, size in enumerate(sizes) if size]
    links = _backbone(backbone, rng)
    for i, members in enumerate(stub_names):
        links.append(_link(called[i % cores], rng.choice(members), ACCESS_LATENCY))
        links += (_link(a, b, STUB_LATENCY) for a, b in spanning_tree(members, rng))
    every = (*called, *(name for members in stub_names for name in members))
    _thicken(links, backbone, stub_names, round(len(every) * degree / 2), rng)
    return Topology("transit-stub", every, tuple(links))


def _backbone(domains: list[list[str]], rng: random.Random) -> list[Link]:
    """Return trees of transit nodes, and a tree that connects the domains."""
    pairs = [pair for members in domains for pair in spanning_tree(members, rng)]
    by_name = {str(i): members for i, members in enumerate(domains)}
    for a, b in spanning_tree(list(by_name), rng):
        pairs.append((rng.choice(by_name[a]), rng.choice(by_name[b])))
    return [_link(a, b, TRANSIT_LATENCY) for a, b in pairs]


def _thicken(
    links: list[Link],
    backbone: list[list[str]],
    stubs: list[list[str]],
    wanted: int,
    rng: random.Random,
) -> None:
    """Add random links within domains and stubs until there are as many as are wanted.

    Where stubs are full, random pairs of stubs get links, as GT-ITM's extra ones.
    """
    there = {frozenset((link.source, link.target)) for link in links}
    free = [(a, b, TRANSIT_LATENCY) for m in backbone for a, b in combinations(m, 2)]
    free += [(a, b, STUB_LATENCY) for m in stubs for a, b in combinations(m, 2)]
    free = [choice for choice in free if frozenset(choice[:2]) not in there]
    for a, b, latency in rng.sample(free, max(0, min(wanted - len(links), len(free)))):
        links.append(_link(a, b, latency))
        there.add(frozenset((a, b)))
    if len(links) < wanted:
        rest = [(a, b) for m, n in combinations(stubs, 2) for a in m for b in n]
        for a, b in rng.sample(rest, min(wanted - len(links), len(rest))):
            links.append(_link(a, b, ACCESS_LATENCY))


def _spread(total: int, parts: int) -> list[int]:
    """Return sizes that differ by one at most.

    >>> _spread(7, 3)
    [3, 2, 2]
    """
    return [total // parts + (i < total % parts) for i in range(parts)]


def _link(a: str, b: str, latency: float) -> Link:
    return Link(a, b, round(latency * 1000), latency, BANDWIDTH)
