"""Figures 11 to 13 of Liu et al. (2008): reachability with more links, and on more processors."""

from __future__ import annotations

import random
from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table
from whence.network.experiments.reachability import links_of
from whence.network.experiments.views import (
    ABSORPTION_EAGER,
    ABSORPTION_LAZY,
    DRED,
    Kept,
    View,
    last_points,
    panels,
)
from whence.network.protocols.library import protocol
from whence.network.topology.transit_stub import DENSE, transit_stub
from whence.plotting import Picture

_DEGREES: Final = {"dense": DENSE, "sparse": DENSE / 2}
_GONE: Final = 0.2


def _measure_links(quick: bool, say: Say, going: bool) -> dict[str, Any]:
    places = [40.0, 80.0] if quick else [100.0, 200.0, 400.0, 600.0, 800.0]
    lines: dict[str, list[dict[str, Any]]] = {}
    for kept, name in ((ABSORPTION_EAGER, "eager"), (ABSORPTION_LAZY, "lazy")):
        for kind, degree in _DEGREES.items():
            label = f"{name} {kind}"
            lines[label], given_up = [], False
            for count in places:
                if not given_up:
                    say(f"{count:.0f} links, {label}")
                point = _links(int(count), degree, kept, going, quick, skip=given_up)
                given_up = point["seconds"] is None
                lines[label].append(point)
    return {"places": places, "lines": lines}


def _links(
    count: int, degree: float, kept: Kept, going: bool, quick: bool, *, skip: bool
) -> dict[str, Any]:
    nodes = round(count / degree)
    topology = transit_stub(nodes, degree=degree, seed=1)
    view = View(protocol("reachable"), topology.nodes, kept, limit=2.0 if quick else 60.0)
    if skip:
        view.finished, view.why = False, "given up before"
        return view.point("reachable")
    links = links_of(topology)
    view.apply([(1, "link", row) for row in links])
    if going and view.finished:
        view.limit = 4.0 if quick else 300.0
        _delete(view, links)
    return view.point("reachable")


def _delete(view: View, links: list[Any]) -> None:
    view.forget()
    gone = random.Random("gone").sample(links, round(_GONE * len(links)))
    for row in gone:
        view.apply([(-1, "link", row)])


def measure_processors(quick: bool, say: Say) -> dict[str, Any]:
    """Insert links and delete a part of them, on more and more processors."""
    topology = transit_stub(25, seed=1) if quick else transit_stub(seed=1)
    links = links_of(topology)
    gone = random.Random("gone").sample(links, max(1, len(links) // 20))
    places = [2.0, 4.0] if quick else [4.0, 8.0, 12.0, 16.0, 24.0]
    lines: dict[str, list[dict[str, Any]]] = {}
    for kept in (DRED, ABSORPTION_LAZY):
        for count in places:
            say(f"{count:.0f} processors, {kept.label}")
            view = View(
                protocol("reachable"),
                topology.nodes,
                kept,
                processors=int(count),
                limit=4.0 if quick else 120.0,
            )
            view.apply([(1, "link", row) for row in links])
            for row in gone:
                view.apply([(-1, "link", row)])
            lines.setdefault(kept.label, []).append(view.point("reachable"))
    return {"links": len(links), "deleted": len(gone), "places": places, "lines": lines}


def _by_links(found: Found) -> Table:
    return last_points(found["places"], found["lines"], lambda count: f"{count:.0f} links")


def _by_processors(found: Found) -> Table:
    return last_points(found["places"], found["lines"], lambda count: f"{count:.0f} processors")


def _picture(title: str, below: str, found: Found) -> Picture:
    return panels(title, below, found["places"], found["lines"])


LINKS = Experiment(
    "reachability with more and more links",
    ("11",),
    "800 dense links: lazy in under 5 s on 12 machines, eager not in 5 minutes",
    lambda quick, say: _measure_links(quick, say, False),
    _by_links,
    lambda found: _picture("11 inserted", "links", found),
)
FEWER = Experiment(
    "a fifth of more and more links deleted",
    ("12",),
    "as for insertions",
    lambda quick, say: _measure_links(quick, say, True),
    _by_links,
    lambda found: _picture("12 deleted", "links", found),
)
PROCESSORS = Experiment(
    "reachability on more processors",
    ("13",),
    "less time, traffic and state for each processor; DRed costs more at every number",
    measure_processors,
    _by_processors,
    lambda found: _picture("13 processors", "processors", found),
)
