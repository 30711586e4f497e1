"""Figure 14 of Liu et al. (2008): shortest and cheapest paths with aggregate selections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.reachability import links_of
from whence.network.experiments.views import ABSORPTION_LAZY, View, last_points, panels
from whence.network.protocols.library import protocol
from whence.network.rewrite.options import Options
from whence.network.simulation import PLAIN
from whence.network.topology.transit_stub import DENSE, transit_stub
from whence.plotting import Picture
from whence.syntax.nodes import Program

_SELECTING: Final = Options(without=frozenset({"reorder", "magic_sets"}))
_KINDS: Final = ("multi", "single", "none")


def program_of(kind: str) -> tuple[Program, Options]:
    """Return the shortest-path query with two aggregates, or with the cost alone."""
    whole = protocol("shortest_cheapest_path")
    if kind == "multi":
        return whole, _SELECTING
    # Without the rules about hops, only the cost says which paths go on.
    costs = tuple(rule for rule in whole.rules if rule.name in ("sc1", "sc2", "sc3", "sc5"))
    query = replace(whole.queries[0].atom, relation="cheapestPath")
    query = replace(query, args=tuple(query.args[i] for i in (0, 1, 2, 3)))
    less = replace(whole, rules=costs, queries=(replace(whole.queries[0], atom=query),))
    kept = {head.relation for rule in costs for head in rule.heads} | {"link"}
    less = replace(less, tables=tuple(t for t in less.tables if t.relation in kept))
    return less, (_SELECTING if kind == "single" else PLAIN)


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Compute paths on sparse and dense networks with two, one and no aggregate selections."""
    nodes = 16 if quick else 100
    places = [DENSE / 2, DENSE]
    lines: dict[str, list[dict[str, Any]]] = {}
    for kind in _KINDS:
        for degree in places:
            topology = transit_stub(nodes, degree=degree, seed=1)
            say(f"paths on {nodes} nodes with {degree:.0f} links each, selections: {kind}")
            program, options = program_of(kind)
            limit = 2.0 if quick else 60.0
            view = View(program, topology.nodes, ABSORPTION_LAZY, options=options, limit=limit)
            view.apply([(1, "link", row) for row in links_of(topology)])
            lines.setdefault(f"selections: {kind}", []).append(view.point("path"))
    return {"nodes": nodes, "places": places, "lines": lines}


def table(found: Found) -> Table:
    """Return the figures of the densest network that was done."""
    return last_points(found["places"], found["lines"], lambda degree: f"{degree:.0f} links a node")


def picture(found: Found) -> Picture:
    """Return the four metrics."""
    return panels("14 paths", "links of a node", found["places"], found["lines"])


EXPERIMENT = Experiment(
    "shortest and cheapest paths with aggregate selections",
    ("14",),
    "two selections cost half of one; without any, dense networks do not finish in 5 minutes",
    measure,
    table,
    picture,
)
