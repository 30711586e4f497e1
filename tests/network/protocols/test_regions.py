"""Regions of sensors are those of a search, after sensors are triggered and calm down."""

from __future__ import annotations

import math
import random

import networkx as nx
import pytest

from network.protocols import oracles
from network.protocols.running import running

SIDE = 5
SENSORS = {f"s{x}{y}": (10 * x, 10 * y) for x in range(SIDE) for y in range(SIDE)}
NEAR = {
    (one, other): round(math.dist(SENSORS[one], SENSORS[other]))
    for one in SENSORS
    for other in SENSORS
    if one != other and math.dist(SENSORS[one], SENSORS[other]) <= 25
}
SEEDS = {"r0": {"s00"}, "r1": {"s44", "s40"}, "r2": {"s22"}}


@pytest.mark.parametrize("name", ["regions", "regions_triggered"])
def test_regions_and_the_largest_are_those_of_a_search(name: str) -> None:
    dice = random.Random(5)
    edge = name == "regions"
    triggered: set[str] = set()
    with running(name, [*SENSORS, "base"], ship="lazy") as network:
        network.insert("near", *((*ends, metres) for ends, metres in NEAR.items()))
        network.insert(
            "mainSensorInRegion", *((x, r, "base") for r, xs in SEEDS.items() for x in xs)
        )
        for flips in (["s00", "s22", "s44"], *(dice.sample(sorted(SENSORS), 6) for _ in range(6))):
            for sensor in flips:
                (network.delete if sensor in triggered else network.insert)(
                    "isTriggered", (sensor,)
                )
                triggered ^= {sensor}
            regions = {
                r: oracles.grown(seeds, NEAR, triggered, edge=edge) for r, seeds in SEEDS.items()
            }
            sizes = {r: len(xs) for r, xs in regions.items() if xs}
            assert network.rows("activeRegion") == {
                ("base", r, x) for r, xs in regions.items() for x in xs
            }
            assert network.rows("regionSizes") == {("base", r, n) for r, n in sizes.items()}
            largest = max(sizes.values(), default=None)
            assert network.rows("largestRegions") == {
                ("base", r) for r, n in sizes.items() if n == largest
            }


def test_a_triggered_region_is_a_component() -> None:
    triggered = {"s00", "s01", "s11", "s33", "s34", "s44"}
    with running("regions_triggered", [*SENSORS, "base"], ship="lazy") as network:
        network.insert("near", *((*ends, metres) for ends, metres in NEAR.items()))
        network.insert("mainSensorInRegion", ("s00", "r0", "base"), ("s44", "r1", "base"))
        network.insert("isTriggered", *((x,) for x in triggered))
        close = oracles.graph({ends: metres for ends, metres in NEAR.items() if metres < 20})
        parts = list(nx.connected_components(close.to_undirected().subgraph(triggered)))
        found = network.rows("activeRegion")
        assert sorted(sorted(x for _, r, x in found if r == region) for region in ("r0", "r1")) == (
            sorted(sorted(part) for part in parts)
        )
