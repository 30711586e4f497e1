"""Weighted graphs, the same on every machine: Rome's roads, made-up roads, random edges."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from benchmarks.process import ROOT
from benchmarks.views.graphs import random_edges

Arc: TypeAlias = tuple[int, int, int]
"""From, to, weight."""

ROME: Final = ROOT.parent / "shared" / "data" / "roads" / "rome99.gr"
"""The road network of the ninth DIMACS challenge, where it is present."""

ROME_NODES: Final = 3353
ARCS_PER_NODE: Final = 8870 / ROME_NODES


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes from 0, and arcs between them."""

    name: str
    nodes: int
    arcs: list[Arc]


def rome(file: Path = ROME) -> Network:
    """Return Rome's roads, or as many that are made up."""
    if not file.exists():
        return road_like(ROME_NODES)
    arcs = []
    for line in file.read_text(encoding="ascii").splitlines():
        if line.startswith("a "):
            source, target, weight = map(int, line.split()[1:])
            arcs.append((source - 1, target - 1, weight))
    return Network("Rome", 1 + max(max(arc[:2]) for arc in arcs), arcs)


def road_like(nodes: int) -> Network:
    """Return crossings in a grid: two-way streets that reach all of them, and some one-way ones;
    few are diagonal, so that ways between two crossings may be of odd and of even length.

    There are as many arcs per node as in Rome, and like there every crossing reaches every other.
    """
    rng = Random(99)
    width = round(sqrt(nodes))
    streets = [(v, v + 1) for v in range(nodes - 1) if (v + 1) % width]
    streets += [(v, v + width) for v in range(nodes - width)]
    streets += [(x, y + 1) for x, y in streets[-nodes // 20 :] if (x + 1) % width and y + 1 < nodes]
    rng.shuffle(streets)
    root = list(range(nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    arcs: list[Arc] = []
    others: list[tuple[int, int]] = []
    for x, y in streets:
        if find(x) == find(y):
            others.append((x, y) if rng.random() < 0.5 else (y, x))
            continue
        root[find(x)] = find(y)
        length = rng.randint(20, 400)
        arcs += [(x, y, length), (y, x, length)]
    missing = round(ARCS_PER_NODE * nodes) - len(arcs)
    arcs += [(x, y, rng.randint(20, 400)) for x, y in others[:missing]]
    return Network("roads made up", nodes, sorted(arcs))


def weighted(nodes: int, count: int, seed: int) -> list[Arc]:
    """Return random arcs with weights from 1 to 100."""
    rng = Random(seed)
    return [(x, y, rng.randint(1, 100)) for x, y in random_edges(nodes, count, seed)]
