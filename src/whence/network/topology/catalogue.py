"""Topologies by name: what `--topology` may say, as `transit-stub`, `gnm:links=300` or a file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.network.topology.edge_list import read_edge_list
from whence.network.topology.gml import read_gml
from whence.network.topology.model import Topology, largest_component
from whence.network.topology.overlay import overlay
from whence.network.topology.random_graphs import barabasi, gnm
from whence.network.topology.sensors import read_positions, sensor_grid
from whence.network.topology.shapes import complete, grid, line, ring, star, tree
from whence.network.topology.transit_stub import DENSE, transit_stub

Maker = Callable[..., Topology]

MOST_NODES: Final = 10_000
_POSITIONS: Final = re.compile(r"\s*[^\W\d]\w*\s+x\w*\s+y\w*\s*\n", re.IGNORECASE)
"""The headings of a file of positions."""
_FRACTIONS: Final = frozenset(("degree", "side", "radius"))


def _overlay(nodes: int, each: int = 4, domains: int = 4, seed: int = 0) -> Topology:
    """Nodes with random neighbours on a transit-stub network with room for all of them."""
    per_domain = 4 * 25
    under = transit_stub(max(domains * per_domain, nodes), domains=domains, seed=seed)
    return overlay(under, nodes, each, seed)


def _transit_stub(
    nodes: int | None = None,
    transit: int = 4,
    domains: int = 1,
    degree: float = DENSE,
    seed: int = 0,
) -> Topology:
    return transit_stub(nodes, transit=transit, domains=domains, degree=degree, seed=seed)


def _sparse(
    nodes: int | None = None, transit: int = 4, domains: int = 1, seed: int = 0
) -> Topology:
    return transit_stub(nodes, transit=transit, domains=domains, degree=DENSE / 2, seed=seed)


TOPOLOGIES: Final[dict[str, Maker]] = {
    "line": line,
    "ring": ring,
    "star": star,
    "tree": tree,
    "grid": grid,
    "complete": complete,
    "gnm": gnm,
    "barabasi": barabasi,
    "transit-stub": _transit_stub,
    "transit-stub-sparse": _sparse,
    "overlay": _overlay,
    "sensors": sensor_grid,
}


def make(spec: str, nodes: int | None = None, seed: int = 0) -> Topology:
    """Return the topology that a text asks for: a name with parameters, or a file.

    >>> make("tree:fanout=3", nodes=4).links[-1].source
    'n0'
    """
    name, _, rest = spec.partition(":")
    maker = TOPOLOGIES.get(name)
    if maker is None:
        path = Path(spec)
        if path.suffix or path.exists():
            return read(path)
        hint = f"did you mean `{near}`?" if (near := nearest(name, TOPOLOGIES)) else ""
        known = f"known are {', '.join(TOPOLOGIES)}, and files (.gml or edge lists)"
        raise UsageError(Diagnostic("W1401", f"there is no topology `{name}`", hint=hint or known))
    takes = inspect.signature(maker).parameters
    given: dict[str, int | float] = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key not in takes:
            raise _wrong(f"`{name}` has no parameter `{key}`", f"it has {', '.join(takes)}")
        given[key] = _number(part, value, whole=key not in _FRACTIONS)
    if "seed" in takes:
        given.setdefault("seed", seed)
    if nodes is not None and "nodes" in takes:
        given.setdefault("nodes", nodes)
    if takes["nodes"].default is inspect.Parameter.empty and "nodes" not in given:
        raise _wrong(f"how many nodes `{name}` has is not said", "give `--nodes N`")
    for key, number in given.items():
        if key not in ("seed", "links") and not 1 <= number <= MOST_NODES:
            raise _wrong(f"`{key}` is {number}", f"it is between 1 and {MOST_NODES:,}")
    return maker(**given)


def read(path: Path) -> Topology:
    """Read a file, GML by its suffix or else an edge list; keep its largest connected part."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(Diagnostic("W1403", f"`{path}` is not text in UTF-8")) from None
    if path.suffix.lower() == ".gml":
        return largest_component(read_gml(text, str(path)))
    if _POSITIONS.match(text):
        return read_positions(text, str(path))
    directed = path.suffix.lower() == ".gr"
    return largest_component(read_edge_list(text, str(path), directed=directed))


def _number(part: str, value: str, *, whole: bool) -> int | float:
    try:
        return int(value) if whole else float(value)
    except ValueError:
        raise _wrong(f"`{part}` is no parameter", "write NAME=NUMBER, as `links=300`") from None


def _wrong(message: str, hint: str) -> UsageError:
    return UsageError(Diagnostic("W1402", message, hint=hint))
