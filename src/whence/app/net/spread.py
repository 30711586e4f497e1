"""A run with a process for each node: started, watched until it is quiet, and asked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from whence.app.net.asked import asked_for, check_facts, shown_relations
from whence.app.net.outcome import Outcome, Point, in_order
from whence.app.net.run import Observe, Wanted
from whence.network.processes import Processes
from whence.network.program import node_program
from whence.network.rewrite.passes import prepare


def run_processes(
    path: Path,
    wanted: Wanted,
    show: Sequence[str],
    options: Iterable[str],
    observe: Observe,
) -> Outcome:
    """Run a network of processes; return what came of it."""
    begun = time.monotonic()
    program = node_program(prepare(wanted.program, wanted.settings.options))
    relations = shown_relations(program, show)
    check_facts(wanted.facts, program, wanted.topology)
    points = [Point(0.0, 0, 0, 0)]
    moved, last = 0.0, -1
    with Processes(path, wanted.topology, options=options) as nodes:
        for relation, facts in wanted.facts.items():
            for row in facts:
                home = str(row[program.relations[relation].shape.location])
                nodes.ask({"do": "insert", "relation": relation, "row": row}, home)

        def look() -> None:
            nonlocal moved, last
            stats = nodes.stats().values()
            now = time.monotonic() - begun
            tuples = sum(one["rows"].get(r, 0) for one in stats for r in relations)
            sent = sum(one["datagrams"]["sent"] for one in stats)
            size = sum(one["datagrams"]["sent_bytes"] for one in stats)
            if tuples != last:
                moved, last = now, tuples
            points.append(Point(now, tuples, sent, size))
            observe(points[-1])

        nodes.wait(look=look, until=wanted.until)
        look()
        rows = {
            relation: in_order(asked_for(wanted.program, relation, nodes.rows(relation)))
            for relation in relations
        }
        firings: dict[str, int] = {}
        for one in nodes.stats().values():
            for rule, count in one["firings"].items():
                firings[rule] = firings.get(rule, 0) + count
    total = time.monotonic() - begun
    return Outcome(
        program=wanted.name,
        topology=wanted.topology.name,
        nodes=len(wanted.topology.nodes),
        links=len(wanted.topology.links),
        processors=len(wanted.topology.nodes),
        clock="real",
        time=total,
        converged=moved,
        wall=total,
        messages=points[-1].messages,
        bytes=points[-1].bytes,
        rows=rows,
        firings=dict(sorted(firings.items())),
        traffic=_rates(points, len(wanted.topology.nodes)),
        points=points,
    )


def _rates(points: list[Point], nodes: int) -> list[float]:
    """Return KB/s per node, second by second, from bytes that were counted now and then."""
    found = [0.0] * (int(points[-1].time) + 1)
    for before, after in pairwise(points):
        found[int(after.time)] += (after.bytes - before.bytes) / 1000 / max(nodes, 1)
    return found
