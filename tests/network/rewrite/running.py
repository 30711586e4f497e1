"""Programs on simulated networks, after the rewrites that a test asks for."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import networkx as nx

from whence.network.protocols.library import protocol, protocol_path
from whence.network.rewrite.passes import Options
from whence.network.simulation import Network, Settings
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

Links = set[tuple[str, str, int]]


def hop_count() -> Program:
    """Path vector by the number of links."""
    text = protocol_path("path_vector").read_text(encoding="utf-8")
    text = text.replace("#link(@S,D,C)", "#link(@S,D,_), C = 1")
    return parse_ndlog(text.replace("#link(@S,Z,C1)", "#link(@S,Z,_)").replace("C1 + C2", "1 + C2"))


def path_vector() -> Program:
    return protocol("path_vector")


def asking(program: Program, source: str, destination: str) -> Program:
    """A program of shortest paths whose query names nodes; a capital letter names none."""
    query = parse_ndlog(f"Query shortestPath(@{source},{destination},P,C).").queries
    return replace(program, queries=query)


def network(nodes: int, more: int, seed: int) -> Links:
    """A ring with some chords, each way at the same cost."""
    dice = random.Random(seed)
    links: dict[tuple[str, str], int] = {}
    pairs = [(i, (i + 1) % nodes) for i in range(nodes)]
    pairs += [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(more)]
    for one, other in pairs:
        if one != other:
            cost = dice.randint(1, 9)
            links[f"n{one}", f"n{other}"] = links[f"n{other}", f"n{one}"] = cost
    return {(one, other, cost) for (one, other), cost in links.items()}


def running(
    program: Program,
    links: Iterable[tuple[object, ...]],
    options: Options,
    scheme: str = "auto",
) -> Network:
    """A network that holds the links, before anything else happens."""
    rows = sorted(links)
    made = Network(
        program,
        sorted({str(node) for row in rows for node in row[:2]} or {"n0"}),
        settings=Settings(options=options, scheme=scheme),
    )
    made.insert("link", *rows)  # type: ignore[arg-type]
    return made


def settled(program: Program, links: Iterable[tuple[object, ...]], options: Options) -> Network:
    made = running(program, links, options)
    made.settle()
    return made


def distances(links: Links, *, hops: bool = False) -> dict[tuple[str, str], int]:
    """The cost of the best path between any two nodes, by networkx."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((a, b, 1 if hops else c) for a, b, c in links)
    lengths = nx.all_pairs_dijkstra_path_length(graph)
    return {(a, b): cost for a, found in lengths for b, cost in found.items() if a != b}


def costs(made: Network) -> dict[tuple[object, object], object]:
    """The cost of what was found for each pair."""
    return {(row[0], row[1]): row[3] for row in made.rows("shortestPath") if row[0] != row[1]}
