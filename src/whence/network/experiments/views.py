"""Distributed views with provenance, as the experiments of Liu et al. (2008) have them.

Network nodes are hashed onto query processors, and only what passes between processors is traffic.
All processors' work is done on one core here, so two times are given: the seconds that this took
the core, and the simulated ones of the network, in which computing takes none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from whence.diagnostics import LimitError
from whence.network.clock import SimulatedClock
from whence.network.experiments.base import Table
from whence.network.model import Row
from whence.network.placement import hashed
from whence.network.provenance.measures import measured
from whence.network.provenance.minship import MinShip
from whence.network.rewrite.options import Options
from whence.network.schemes import ShipperMaker
from whence.network.simulation import PLAIN, Network, Settings
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport
from whence.plotting import Panel, Picture
from whence.syntax.nodes import Program

PROCESSORS: Final = 12
LATENCY: Final = 0.001
BANDWIDTH: Final = 100e6

Change = tuple[int, str, Row]


@dataclass(frozen=True, slots=True)
class Kept:
    """A way to keep a view: a scheme, and how derivations are shipped."""

    label: str
    scheme: str
    ship: str | ShipperMaker


DRED: Final = Kept("DRed", "dred", "plain")
RELATIVE_LAZY: Final = Kept("relative lazy", "relative", "lazy")
RELATIVE_EAGER: Final = Kept("relative eager", "relative", lambda: MinShip(every=1.0))
ABSORPTION_EAGER: Final = Kept("absorption eager", "absorption", lambda: MinShip(every=1.0))
ABSORPTION_LAZY: Final = Kept("absorption lazy", "absorption", "lazy")

METRICS: Final = (
    ("provenance", "bytes per tuple"),
    ("traffic", "MB per processor"),
    ("state", "MB per processor"),
    ("seconds", "s on one core"),
)


class View:
    """A view that is kept by processors of a simulated cluster, and what it has cost."""

    def __init__(
        self,
        program: Program,
        addresses: Iterable[str],
        kept: Kept,
        *,
        processors: int = PROCESSORS,
        options: Options = PLAIN,
        limit: float,
    ) -> None:
        """Take what is to be kept; after `limit` seconds of work it is given up."""
        self.clock = SimulatedClock()
        quality = Quality(latency=LATENCY, bandwidth=BANDWIDTH)
        self.transport = SimulatedTransport(self.clock, uniform(quality))
        self.network = Network(
            program,
            addresses,
            settings=Settings(scheme=kept.scheme, ship=kept.ship, options=options, log=0),
            clock=self.clock,
            transport=self.transport,
            placement=hashed(processors),
        )
        self.processors = processors
        self.seconds = 0.0
        self.simulated = 0.0
        self.finished = True
        self.why = ""
        """What it was given up for."""
        self.limit = limit
        """Seconds of work after which it is given up; they count from `forget` on."""

    def apply(self, changes: Iterable[Change]) -> bool:
        """Apply changes together, and wait until all has settled; say whether it has in time."""
        if not self.finished:
            return False
        begun, before = time.process_time(), self.clock.now()
        end = begun + self.limit - self.seconds
        try:
            self.network.update(changes)
            while self.clock.step():
                if time.process_time() > end:
                    self.finished, self.why = False, f"not done after {self.limit:.0f} s"
                    break
        except LimitError:
            self.finished, self.why = False, "decision diagrams beyond their budget"
        self.seconds += time.process_time() - begun
        self.simulated += self.clock.now() - before
        return self.finished

    def point(self, view: str) -> dict[str, Any]:
        """Return what has been measured so far, None for what was given up."""
        if not self.finished:
            nothing: dict[str, Any] = {name: None for name, _ in METRICS}
            return nothing | {"simulated": None, "tuples": None, "why": self.why}
        found = measured(self.network, view)
        return {
            "provenance": found.provenance_per_tuple,
            "traffic": self.transport.counters.sent_bytes / self.processors / 1e6,
            "state": found.state_bytes / self.processors / 1e6,
            "seconds": self.seconds,
            "simulated": self.simulated,
            "tuples": found.tuples,
        }

    def forget(self) -> None:
        """Count from here on."""
        self.seconds = self.simulated = 0.0
        self.transport.counters.sent_bytes = self.transport.counters.sent = 0


def panels(
    title: str, below: str, places: list[float], lines: dict[str, list[dict[str, Any]]]
) -> Picture:
    """Return the four metrics side by side; a line ends where it was given up."""
    made = []
    for name, unit in METRICS:
        drawn = {}
        for label, points in lines.items():
            values = [point[name] for point in points]
            cut = values.index(None) if None in values else len(values)
            drawn[label] = values[:cut]
        made.append(Panel(f"{title}: {name}", below, places, drawn, beside=unit))
    return Picture("", tuple(made), shared=False)


def last_points(
    places: list[float], lines: dict[str, list[dict[str, Any]]], where: Callable[[float], str]
) -> Table:
    """Return the last figures of each line, and where it was given up."""
    rows: list[tuple[object, ...]] = []
    notes = []
    for label, points in lines.items():
        failed = next((point for point in points if point["seconds"] is None), None)
        if failed is not None:
            notes.append(f"{label}: {failed['why']}")
        done = [i for i, point in enumerate(points) if point["seconds"] is not None]
        if not done:
            rows.append((label, "–", *(None for _ in range(6))))
            continue
        last = points[done[-1]]
        cells = (last[name] for name in ("tuples", *(m for m, _ in METRICS), "simulated"))
        rows.append((label, where(places[done[-1]]), *cells))
    headers = (
        "kept by",
        "up to",
        "tuples",
        "provenance B",
        "traffic MB",
        "state MB",
        "s on one core",
        "s of the network",
    )
    return Table(headers, rows, notes)
