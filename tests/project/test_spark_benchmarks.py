"""The benchmarks of the engine on Spark: inputs, judges, bars, and that all of them run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.spark import tables
from benchmarks.spark.command import SECTIONS
from benchmarks.spark.graphs import drawn
from benchmarks.spark.streaming import Links, write_batches

ROOT = Path(__file__).parents[2]


# ── inputs ──


@pytest.mark.parametrize("degree", [1, 5])
def test_a_drawn_graph_is_the_same_everywhere(degree: int) -> None:
    edges = drawn(400, degree)
    assert len(edges) == len(set(edges)) == 400 * degree
    assert all(x != y for x, y in edges)
    assert edges == drawn(400, degree)


def test_every_update_of_the_network_is_a_real_one(tmp_path: Path) -> None:
    left = write_batches(tmp_path, nodes=30, batches=5, updates=20)
    held: set[tuple[int, int]] = set()
    files = sorted(tmp_path.iterdir())
    assert [len(file.read_text().splitlines()) for file in files] == [20] * 5
    assert [file.stat().st_mtime for file in files] == sorted({f.stat().st_mtime for f in files})
    for file in files:
        for line in file.read_text().splitlines():
            update = json.loads(line)
            x, y = map(int, update["values"])
            if update["op"] == "+":
                assert (x, y) not in held
                held.add((x, y))
            else:
                held.remove((x, y))
    assert held == set(left)
    assert 30 <= len(held) <= 32


def test_links_keep_their_number() -> None:
    links = Links(10)
    for _ in range(10):
        links.comes()
    gone = links.goes()
    assert gone not in links.there
    assert len(links.there) == 9


# ── bars ──


def beside(embedded: float, spark: float, exact: bool = True) -> dict[str, Any]:
    group = {"group": 0, "strategy": "gang", "tuples": [4, 5], "seconds": [0.1, 0.2]}
    return {
        "case": "cspa",
        "facts": 3,
        "tuples": 9,
        "exact": exact,
        "seconds": {"embedded": embedded, "tasks": spark, "spark": spark},
        "strategies": ["gang"],
        "groups": [group],
    }


def test_whole_jobs_are_judged_by_what_they_take_above_the_embedded_time() -> None:
    for section in (tables.closure, tables.samegen):
        assert [bar.met for bar in section(beside(1.0, 2.4)).bars] == [True]
        assert [bar.met for bar in section(beside(1.0, 2.6)).bars] == [False]
    assert [bar.met for bar in tables.cspa(beside(2.0, 4.9)).bars] == [True, True]
    assert [bar.met for bar in tables.cspa(beside(2.0, 5.1)).bars] == [False, True]
    other = {**beside(2.0, 4.0), "strategies": ["alone"]}
    assert [bar.met for bar in tables.cspa(other).bars] == [True, False]
    assert tables.cspa(beside(2.0, 4.0, exact=False)).failures


def scaled(one: float, two: float, tuples: int = 9) -> dict[str, Any]:
    first = {"seconds": one + 1, "fixpoint": one, "tuples": 9}
    second = {"seconds": two + 1, "fixpoint": two, "tuples": tuples}
    return {"long": 5.0, "rows": [{"size": 10, "runs": {"1": first, "2": second}}]}


def test_two_partitions_are_judged_where_one_takes_long() -> None:
    assert [bar.met for bar in tables.scaling(scaled(6.0, 4.0)).bars] == [True]
    assert [bar.met for bar in tables.scaling(scaled(6.0, 5.0)).bars] == [False]
    assert [bar.met for bar in tables.scaling(scaled(3.0, 2.0)).bars] == [None]
    assert tables.scaling(scaled(6.0, 4.0, tuples=8)).failures


def test_rounds_are_judged_one_by_one() -> None:
    def row(ours: float, exact: bool = True) -> dict[str, Any]:
        one = {"seconds": 1.0, "rounds": 3, "per_round": 0.2, "tuples": 9}
        return {
            "nodes": 5,
            "tuples": 9,
            "exact": exact,
            "embedded": 0.1,
            "hand": one,
            "rounds": {**one, "per_round": ours},
        }

    told = tables.rounds({"rows": [row(0.29), row(0.31), row(0.1, exact=False)]})
    assert [bar.met for bar in told.bars] == [True, False, True]
    assert len(told.failures) == 1


def test_graphs_are_judged_beside_every_other_system() -> None:
    one = {
        "seconds": {"embedded": 0.1, "spark": 1.0, "GraphX": 2.0, "GraphFrames": 0.5},
        "tuples": 9,
        "agree": {"GraphX": True, "GraphFrames": False},
    }
    told = tables.graphs({"nodes": 4, "graphs": [{"edges": 5, "problems": {"components": one}}]})
    assert [bar.met for bar in told.bars] == [True, False]
    assert told.failures == ("components, 5 edges: GraphFrames differs",)


def test_growth_tells_what_is_wrong() -> None:
    group = {
        "rounds": 3,
        "sent_rows": 7,
        "sent_bytes": 2**20,
        "seconds": [0.5],
        "tuples": [9],
        "strategy": "gang",
    }
    row = {
        "case": "sg",
        "size": 10,
        "tuples": 9,
        "embedded": 0.1,
        "runs": {"1": {"seconds": 1.0, "groups": [group]}},
        "exact": False,
    }
    told = tables.growth({"rows": [row]})
    assert told.failures == ("sg 10: not the same tuples",)
    assert told.tables[0].rows[0][-4:] == ("3", "7", "1.0", "0.100")


def streamed(sizes: list[int], exact: bool = True) -> dict[str, Any]:
    times = {"count": 2, "median": 5.0, "p99": 9.0, "max": 9.0, "mean": 5.0}
    return {
        "nodes": 4,
        "batches": 4,
        "updates": 2,
        "empty": times,
        "ours": {**times, "median": 25.0},
        "state": list(enumerate(sizes)),
        "exact": exact,
    }


def test_the_state_of_a_stream_may_not_grow_with_its_batches() -> None:
    assert [b.met for b in tables.streaming(streamed([100, 90, 110, 100])).bars] == [True]
    assert [b.met for b in tables.streaming(streamed([100, 110, 130, 150])).bars] == [False]
    assert tables.streaming(streamed([1, 1], exact=False)).failures


# ── the command ──


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "spark", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)


def test_a_section_that_is_not_there_is_refused() -> None:
    done = benchmarks("speed")
    assert done.returncode == 2
    assert f"`speed` is not one of {', '.join(SECTIONS)}" in done.stderr


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.cluster
@pytest.mark.timeout(1300)
def test_all_sections_run_quickly(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = benchmarks("--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert found.keys() == {"machine", *SECTIONS, "bars"}
    assert {bar["met"] for bar in found["bars"]} == {None}
