"""Sensors in a field: those within a number of metres of each other are neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from whence.diagnostics import DataError, Diagnostic, Source, Span
from whence.network.topology.model import DEFAULT_LATENCY, Link, Topology, components, names


def sensor_grid(nodes: int = 100, side: float = 100.0, radius: float = 20.0) -> Topology:
    """Return sensors in the middles of the squares of a field, linked within `radius` metres.

    >>> len(sensor_grid().nodes), len(sensor_grid(9, side=30, radius=10).links)
    (100, 12)
    """
    wide = max(1, math.ceil(nodes**0.5))
    step = side / wide
    places = [((i % wide + 0.5) * step, (i // wide + 0.5) * step) for i in range(nodes)]
    return within("sensors", names(nodes), places, radius)


def read_positions(text: str, name: str = "sensors", radius: float = 20.0) -> Topology:
    """Read sensors from lines `name x y` below a line of headings; the radius says who is near.

    >>> read_positions("mote x y\\n1 0 0\\n2 3 4").links[0].cost
    5
    """
    places: dict[str, tuple[float, float]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if number == 1 or not words:
            continue
        try:
            node, x, y = words[0], float(words[1]), float(words[2])
        except (IndexError, ValueError):
            node, x, y = "", math.nan, math.nan
        if not (node and math.isfinite(x) and math.isfinite(y)) or node in places:
            source = Source(name, text)
            span = Span(number, 1, number, len(line) + 1, source)
            why = "a line has a name of its own and two numbers"
            raise DataError(Diagnostic("W1403", f"`{name}` has no positions", span, why))
        places[node] = (x, y)
    if not places:
        raise DataError(Diagnostic("W1403", f"`{name}` holds no sensor"))
    return within(Path(name).stem, list(places), list(places.values()), radius)


def within(
    name: str, nodes: Sequence[str], places: Sequence[tuple[float, float]], radius: float
) -> Topology:
    """Return the nodes with links within `radius`; parts too far apart are linked where nearest.

    The cost of a link is its length in whole metres, 1 at least.
    """
    where = dict(zip(nodes, places, strict=True))
    links = [
        _link(a, b, where)
        for i, a in enumerate(nodes)
        for b in nodes[i + 1 :]
        if math.dist(where[a], where[b]) <= radius * (1 + 1e-9)
    ]
    while len(parts := components(nodes, links)) > 1:
        first = set(parts[0])
        pairs = [(a, b) for a in parts[0] for b in nodes if b not in first]
        links.append(_link(*min(pairs, key=lambda p: math.dist(where[p[0]], where[p[1]])), where))
    return Topology(name, tuple(nodes), tuple(links), positions=tuple(places))


def _link(a: str, b: str, where: dict[str, tuple[float, float]]) -> Link:
    return Link(a, b, max(1, round(math.dist(where[a], where[b]))), DEFAULT_LATENCY)
