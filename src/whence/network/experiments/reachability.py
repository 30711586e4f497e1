"""Figures 7 and 8 of Liu et al. (2008): reachability while links come, and while they go."""

from __future__ import annotations

import random
from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.views import (
    ABSORPTION_EAGER,
    ABSORPTION_LAZY,
    DRED,
    RELATIVE_EAGER,
    RELATIVE_LAZY,
    Kept,
    View,
    last_points,
    panels,
)
from whence.network.model import Row
from whence.network.protocols.library import protocol
from whence.network.topology.model import Topology
from whence.network.topology.transit_stub import transit_stub
from whence.plotting import Picture

_ALL: Final = (DRED, RELATIVE_EAGER, RELATIVE_LAZY, ABSORPTION_EAGER, ABSORPTION_LAZY)


def topology_of(quick: bool) -> Topology:
    """Return the paper's network of 100 nodes and 400 links, or a small one."""
    return transit_stub(25, seed=1) if quick else transit_stub(seed=1)


def links_of(topology: Topology, seed: str = "links") -> list[Row]:
    """Return all links, one for each direction, in random order."""
    rows: list[Row] = [(arc.source, arc.target, arc.cost) for arc in topology.arcs()]
    random.Random(seed).shuffle(rows)
    return rows


def measure_insertions(quick: bool, say: Say) -> dict[str, Any]:
    """Insert links quarter by quarter."""
    topology = topology_of(quick)
    links = links_of(topology)
    parts = [0.25, 0.5, 0.75, 1.0]
    lines: dict[str, list[dict[str, Any]]] = {}
    for kept in _ALL:
        say(f"{len(links)} links inserted, {kept.label}")
        view = View(protocol("reachable"), topology.nodes, kept, limit=2.0 if quick else 60.0)
        lines[kept.label], before = [], 0
        for part in parts:
            upto = round(part * len(links))
            view.apply([(1, "link", row) for row in links[before:upto]])
            lines[kept.label].append(view.point("reachable"))
            before = upto
    return {"links": len(links), "places": parts, "lines": lines}


def measure_deletions(quick: bool, say: Say) -> dict[str, Any]:
    """Insert all links, then delete some one after the other."""
    topology = topology_of(quick)
    links = links_of(topology)
    parts = [0.04, 0.08] if quick else [0.05, 0.10, 0.15, 0.20]
    lines = {}
    for kept in (DRED, RELATIVE_LAZY, ABSORPTION_EAGER, ABSORPTION_LAZY):
        say(f"links of {len(links)} deleted one by one, {kept.label}")
        lines[kept.label] = deletions(topology, links, parts, kept, quick)
    return {"links": len(links), "places": parts, "lines": lines}


def deletions(
    topology: Topology, links: list[Row], parts: list[float], kept: Kept, quick: bool
) -> list[dict[str, Any]]:
    """Return what deletions cost, up to each part of the links."""
    view = View(protocol("reachable"), topology.nodes, kept, limit=2.0 if quick else 60.0)
    view.apply([(1, "link", row) for row in links])
    view.forget()
    view.limit = 2.0 if quick else 200.0
    gone = list(links)
    random.Random("gone").shuffle(gone)
    points, before = [], 0
    for part in parts:
        upto = max(before + 1, round(part * len(links)))
        for row in gone[before:upto]:
            view.apply([(-1, "link", row)])
        points.append(view.point("reachable"))
        before = upto
    return points


def _table(found: Found) -> Table:
    return last_points(found["places"], found["lines"], lambda part: f"{100 * part:.0f} %")


def _inserted(found: Found) -> Picture:
    return panels("7 inserted", "part of links", found["places"], found["lines"])


def _deleted(found: Found) -> Picture:
    return panels("8 deleted", "part of links", found["places"], found["lines"])


INSERTIONS = Experiment(
    "reachability while links come",
    ("7",),
    "DRed is cheapest, then absorption lazy; relative eager is not done with 75 % in 5 minutes",
    measure_insertions,
    _table,
    _inserted,
)
DELETIONS = Experiment(
    "reachability while links go",
    ("8",),
    "DRed costs ten times what absorption does, in traffic and time; relative lies between",
    measure_deletions,
    _table,
    _deleted,
)
