"""What tests of real nodes share: path vector in processes, and networkx as its judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import networkx as nx

from whence.network.processes import Processes
from whence.network.protocols.library import protocol_path
from whence.network.topology.model import Topology

QUICK = ("--silence=1.5s",)


def started(topology: Topology, *options: str, announce: bool = False) -> Processes:
    """Return the nodes of a topology, to be entered, with path vector."""
    path = protocol_path("path_vector")
    return Processes(path, topology, options=(*QUICK, *options), announce=announce)


def right(topology: Topology, gone: Iterable[str] = ()) -> Mapping[tuple[str, str], float]:
    """Return the costs of shortest paths without some nodes."""
    graph = nx.Graph()
    for link in topology.links:
        graph.add_edge(link.source, link.target, weight=link.cost)
    graph.remove_nodes_from(list(gone))
    return {
        (source, target): cost
        for source, row in nx.all_pairs_dijkstra_path_length(graph)
        for target, cost in row.items()
        if source != target
    }


def found(nodes: Processes) -> Mapping[tuple[str, str], float]:
    """Return the costs of the paths that nodes have found, which must be paths."""
    costs: dict[tuple[str, str], float] = {}
    link = {(arc.source, arc.target): arc.cost for arc in nodes.topology.arcs()}
    for source, target, path, cost in nodes.rows("shortestPath"):
        if source == target:
            continue
        assert isinstance(path, tuple)
        assert (path[0], path[-1]) == (source, target)
        steps = pairwise(path)
        assert sum(link[str(a), str(b)] for a, b in steps) == cost
        assert costs.setdefault((str(source), str(target)), cost) == cost  # type: ignore[arg-type]
    return costs
