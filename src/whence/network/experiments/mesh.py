"""Figure 7.6 of Loo (2006): members of a Narada mesh come to know each other."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Final

from whence.network.clock import SimulatedClock
from whence.network.experiments.base import Experiment, Found, Say, Table, mean
from whence.network.experiments.routing import HEADERS
from whence.network.protocols.library import protocol
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport
from whence.plotting import Panel, Picture

_JOIN: Final = 10.0
"""Seconds in which all nodes join."""
_STEADY: Final = 20.0
"""Seconds at the end over which traffic is averaged."""


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Let nodes join that know two or four others, and watch how many members each knows."""
    nodes, seconds = (15, 60) if quick else (100, 100)
    runs = {}
    for each in (2, 4):
        say(f"Narada, {nodes} nodes with {each} neighbours")
        runs[str(each)] = _one(nodes, each, seconds)
    return {"nodes": nodes, "seconds": seconds, "runs": runs}


def _one(nodes: int, each: int, seconds: int) -> dict[str, Any]:
    # The experiment is about the list of members: neighbours stay as they were given.
    whole = protocol("narada")
    program = replace(whole, rules=tuple(rule for rule in whole.rules if rule.name[0] in "erl"))
    rng = random.Random(f"mesh {each}")
    names = [f"n{i}" for i in range(nodes)]
    clock = SimulatedClock()
    transport = SimulatedTransport(clock, uniform(Quality(latency=0.1)), overhead=HEADERS)
    network = Network(
        program,
        names,
        settings=Settings(log=0, seed=each),
        clock=clock,
        transport=transport,
        start=False,
    )
    for name in names:
        others = rng.sample([other for other in names if other != name], each)
        network.insert("env", *((name, "neighbor", other) for other in others))
        clock.call_at(rng.uniform(0, _JOIN), lambda name=name: network.host(name))  # type: ignore[misc]
    known = []
    for _ in range(seconds):
        network.run(1.0)
        known.append(
            mean([len({row[1] for row in node.rows("member")}) / nodes for node in network])
        )
    rate = transport.traffic.rate(nodes, clock.now())
    return {
        "known": known,
        "converged": next((i + 1 for i, part in enumerate(known) if part >= 1.0), None),
        "rate": mean(rate[-int(_STEADY) - 1 : -1]),
    }


def table(found: Found) -> Table:
    """Return one row for each number of neighbours."""
    rows = [
        (f"{each} neighbours", run["converged"], run["rate"], paper)
        for (each, run), paper in zip(
            found["runs"].items(), ("60 s, 13 KB/s", "40 s, 33 KB/s"), strict=True
        )
    ]
    headers = ("each has", "all know all after s", "KB/s per node", "the paper, at most")
    return Table(headers, rows, (f"{found['nodes']} nodes join within {_JOIN:.0f} s",))


def picture(found: Found) -> Picture:
    """Return the part of members that a node knows, over time."""
    places = [i + 1.0 for i in range(found["seconds"])]
    lines = {f"{each} neighbours": run["known"] for each, run in found["runs"].items()}
    panel = Panel("7.6 members known", "s", places, lines)
    return Picture("part of all members", (panel,))


EXPERIMENT = Experiment(
    "members of a Narada mesh come to know each other",
    ("7.6",),
    "100 nodes converge within 60 s with 2 neighbours each, 40 s with 4, at 13 and 33 KB/s",
    measure,
    table,
    picture,
)
