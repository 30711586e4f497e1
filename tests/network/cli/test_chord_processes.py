"""Chord in processes on loopback: a ring forms, a node is killed, and the ring closes again."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from whence.network.processes import Processes
from whence.network.protocols.library import protocol_path
from whence.network.topology.catalogue import make
from whence.network.topology.edge_list import as_ndlog

pytestmark = [pytest.mark.network, pytest.mark.cluster]


def identifier(name: str) -> int:
    return int.from_bytes(hashlib.sha1(name.encode(), usedforsecurity=False).digest())


def program(folder: Path, nodes: tuple[str, ...]) -> Path:
    """Write Chord with what each node has to know: who it is, and whom to ask for the ring."""
    facts: list[tuple[object, ...]] = []
    for name in nodes:
        landmark = "NIL" if name == nodes[0] else nodes[0]
        facts += [(name, "node", identifier(name)), (name, "landmark", landmark)]
    text = protocol_path("chord").read_text(encoding="utf-8")
    path = folder / "chord.ndlog"
    path.write_text(text + "\n" + "\n".join(as_ndlog(facts, "env")) + "\n", encoding="utf-8")
    return path


def ring_of(nodes: list[str]) -> dict[str, str]:
    """Return who comes after whom."""
    order = sorted(nodes, key=identifier)
    return dict(zip(order, [*order[1:], order[0]], strict=True))


def wait_for_ring(nodes: Processes, seconds: float) -> float:
    """Wait until each node that runs knows who comes next; return how long that took."""
    right = ring_of(nodes.alive)
    begun = time.monotonic()
    while True:
        found = {str(row[0]): row[2] for row in nodes.rows("bestSucc")}
        if found == right:
            return time.monotonic() - begun
        wrong = {name: found.get(name) for name in right if found.get(name) != right[name]}
        assert time.monotonic() - begun < seconds, f"who comes next is wrong: {wrong}"
        time.sleep(1.0)


def test_twenty_nodes_form_a_ring_that_closes_when_one_is_killed(tmp_path: Path) -> None:
    topology = make("ring", 20)
    with Processes(program(tmp_path, topology.nodes), topology) as nodes:
        print(f"a ring after {wait_for_ring(nodes, 400):.0f} s")
        nodes.kill("n7")
        print(f"closed again after {wait_for_ring(nodes, 300):.0f} s")
        assert "n7" not in nodes.alive
        assert len(nodes.alive) == 19
