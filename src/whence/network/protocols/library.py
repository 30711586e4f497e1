"""The protocols that come with the package, by name; each is a file `<name>.ndlog` beside this."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

PROTOCOLS: Final[dict[str, str]] = {
    # Routes, over links that go both ways
    "best_path": "the cheapest paths between all nodes",
    "widest_path": "best paths by another metric: the widest at their narrowest link",
    "all_paths": "all paths without a cycle",
    "any_path": "one path from each node to each other",
    "best_k_paths": "the three best paths, each with its rank",
    "qos_path": "best paths below a bound",
    "path_vector": "shortest paths, each with the nodes on its way",
    "shortest_path_hop": "the next hop on shortest paths, without the paths",
    "distance_vector": "best next hops, from what neighbours say of their costs",
    "distance_vector_poison": "distance vector with split horizon and poison reverse",
    "policy_routing": "best paths over nodes that the source does not exclude",
    "dynamic_source_routing": "paths to targets that are asked for, found by flooding a request",
    "link_state": "links flooded to all nodes, and best paths computed at each",
    # Trees of multicast
    "multicast_source": "a tree from the source of a group to its members",
    "multicast_core": "a tree from the core of a group to its members, shared by all senders",
    # Overlays
    "ping_pong": "round-trip times to neighbours, and neighbours that do not answer expire",
    "narada": "a mesh whose members know each other and choose their neighbours",
    "chord": "a distributed hash table on a ring",
    # Questions about a network or about what is in it
    "reachable": "which nodes a node can reach",
    "within_radius": "which nodes a node can reach at a bounded cost",
    "horizon": "what the nodes within some hops read",
    "cycles": "the cycles of a network, and the nodes on them",
    "shortest_cheapest_path": "the cheapest paths and those of the fewest hops",
    "resilience": "how many paths lead from a node to another",
    "regions": "regions of triggered sensors with their neighbours, and the largest",
    "regions_triggered": "regions of triggered sensors only, and the largest",
    "tree_height": "the height of each subtree",
    "tree_imbalance": "between the highest and the lowest leaf of each subtree",
    "same_generation": "nodes at the same level of a tree",
}


def protocol_path(name: str) -> Path:
    """Return the file of a protocol.

    >>> protocol_path("chord").name
    'chord.ndlog'
    """
    if name not in PROTOCOLS:
        near = nearest(name, PROTOCOLS)
        hint = f"did you mean `{near}`?" if near else f"known are {', '.join(PROTOCOLS)}"
        raise UsageError(Diagnostic("W1460", f"there is no protocol `{name}`", hint=hint))
    return Path(__file__).with_name(f"{name}.ndlog")


def protocol(name: str) -> Program:
    """Return the program of a protocol.

    >>> [rule.name for rule in protocol("reachable").rules]
    ['re1', 're2']
    """
    path = protocol_path(name)
    return parse_ndlog(path.read_text(encoding="utf-8"), str(path))
