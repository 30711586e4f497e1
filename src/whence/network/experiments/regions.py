"""Figures 9 and 10 of Liu et al. (2008): regions of sensors that are triggered, and go quiet."""

from __future__ import annotations

import math
import random
from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.views import (
    ABSORPTION_EAGER,
    ABSORPTION_LAZY,
    DRED,
    RELATIVE_LAZY,
    Change,
    Kept,
    View,
    last_points,
    panels,
)
from whence.network.protocols.library import protocol
from whence.network.topology.sensors import sensor_grid
from whence.plotting import Picture

_ALL: Final = (DRED, RELATIVE_LAZY, ABSORPTION_EAGER, ABSORPTION_LAZY)
_SEEDS: Final = 5
_NEAR: Final = 20.0
_BASE: Final = "base"


def _measure(quick: bool, say: Say, going: bool) -> dict[str, Any]:
    sensors = 36 if quick else 100
    grid = sensor_grid(sensors)
    rng = random.Random("regions")
    seeds = rng.sample(grid.nodes, _SEEDS)
    others = [node for node in grid.nodes if node not in seeds]
    triggered = rng.sample(others, sensors // 2)
    places = [0.25, 0.5, 0.75, 1.0]
    where = dict(zip(grid.nodes, grid.positions, strict=True))
    fixed: list[Change] = [
        (1, "near", (a, b, math.dist(where[a], where[b])))
        for a in grid.nodes
        for b in grid.nodes
        if a != b and math.dist(where[a], where[b]) < _NEAR
    ]
    fixed += [(1, "mainSensorInRegion", (s, f"r{i}", _BASE)) for i, s in enumerate(seeds)]
    fixed += [(1, "isTriggered", (s,)) for s in seeds]
    lines = {}
    for kept in _ALL:
        say(f"regions of {sensors} sensors {'going' if going else 'coming'}, {kept.label}")
        limit = 2.0 if quick else 60.0
        lines[kept.label] = _one(grid.nodes, fixed, triggered, places, kept, going, limit)
    return {"sensors": sensors, "places": places, "lines": lines}


def _one(
    nodes: tuple[str, ...],
    fixed: list[Change],
    triggered: list[str],
    places: list[float],
    kept: Kept,
    going: bool,
    limit: float,
) -> list[dict[str, Any]]:
    view = View(protocol("regions"), (*nodes, _BASE), kept, limit=limit)
    view.apply(fixed)
    if going:
        view.apply([(1, "isTriggered", (s,)) for s in triggered])
    view.forget()
    points, before = [], 0
    for part in places:
        upto = round(part * len(triggered))
        for sensor in triggered[before:upto]:
            view.apply([(-1 if going else 1, "isTriggered", (sensor,))])
        points.append(view.point("inRegion"))
        before = upto
    return points


def _table(found: Found) -> Table:
    return last_points(found["places"], found["lines"], lambda part: f"{100 * part:.0f} %")


COMING = Experiment(
    "regions of sensors that are triggered",
    ("9",),
    "as for reachability, at lower costs",
    lambda quick, say: _measure(quick, say, False),
    _table,
    lambda found: _picture("9 triggered", found),
)
GOING = Experiment(
    "regions of sensors that go quiet",
    ("10",),
    "as for reachability, at lower costs",
    lambda quick, say: _measure(quick, say, True),
    _table,
    lambda found: _picture("10 gone quiet", found),
)


def _picture(title: str, found: Found) -> Picture:
    return panels(title, "part of sensors", found["places"], found["lines"])
