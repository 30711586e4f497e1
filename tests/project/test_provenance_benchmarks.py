"""The benchmarks of annotations and explanations run, and do not believe wrong answers."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from benchmarks.measured import in_turns
from benchmarks.provenance import tables
from benchmarks.provenance.networks import Network, road_like, rome, weighted
from benchmarks.provenance.proofs import Judge
from whence import Database
from whence.explain.model import Derived

ROOT = Path(__file__).parents[2]


# ── inputs ──


def test_networks_are_the_same_on_every_machine() -> None:
    found = repr([road_like(3353), weighted(1000, 5000, 1)])
    assert hashlib.sha256(found.encode()).hexdigest()[:12] == "c278aa53c035"


@pytest.mark.parametrize("nodes", [100, 3353])
def test_every_crossing_of_the_made_up_roads_reaches_every_other(nodes: int) -> None:
    network = road_like(nodes)
    assert len(network.arcs) == round(8870 / 3353 * nodes)
    assert len({arc[:2] for arc in network.arcs}) == len(network.arcs)
    graph = nx.DiGraph([arc[:2] for arc in network.arcs])
    assert len(graph) == network.nodes == nodes
    assert nx.is_strongly_connected(graph)
    assert not nx.is_bipartite(graph.to_undirected())


def test_roads_are_read_where_they_are_present(tmp_path: Path) -> None:
    file = tmp_path / "rome99.gr"
    assert rome(file) == road_like(3353)
    file.write_text("c Rome\np sp 3 2\na 1 2 70\na 3 1 5\n")
    assert rome(file) == Network("Rome", 3, [(0, 1, 70), (2, 0, 5)])


def test_changes_keep_to_their_factor_and_can_be_taken_back() -> None:
    pytest.importorskip("scipy")
    from benchmarks.provenance.repair import DELETED, turns_of

    network = road_like(100)
    parallel = Network("twice", 100, [*network.arcs, (*network.arcs[0][:2], 1)])
    turns = turns_of(parallel, 100)
    assert len({turn.before for turn in turns}) == 100
    assert network.arcs[0] not in {turn.before for turn in turns}
    assert [turn.kind == DELETED for turn in turns] == [True, False] * 50
    for turn in turns:
        update, back = turn.there()["edge"], turn.back()["edge"]
        assert (update.inserted, update.deleted) == (back.deleted, back.inserted)
        for _, _, weight in turn.after:
            assert 0.5 <= round(weight / turn.before[2], 1) <= 2
            assert weight != turn.before[2]


def test_turns_are_taken_one_after_the_other() -> None:
    seen: list[str] = []
    found = in_turns({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")}, 2)
    assert seen == ["a", "b", "a", "b"]
    assert [len(times) for times in found.values()] == [2, 2]


# ── judges ──


def test_wrong_ways_are_not_believed() -> None:
    pytest.importorskip("scipy")
    from benchmarks.provenance.shortest import GENERAL, PATH, compiled, right_paths, table
    from whence import session

    network = road_like(30)
    (x, y, weight), *others = network.arcs
    longer = Network("longer", 30, [(x, y, weight + 1000), *others])
    for text, right in ((PATH, right_paths), *((case.text, case.right) for case in GENERAL)):
        found = session.evaluate(compiled(text), {"edge": table(network.arcs)})
        assert right(found, network)
        assert not right(found, longer)


def test_other_tuples_are_not_the_same_support() -> None:
    pytest.importorskip("scipy")
    from benchmarks.provenance.patterns import PATTERNS, support
    from benchmarks.provenance.shortest import table
    from whence import session

    for pattern in PATTERNS:
        graphs = pattern.tiny
        found = []
        for seed in (1, 1, 3):
            edges = {
                "edge_a": table(weighted(graphs.nodes, graphs.a, seed)),
                "edge_b": table(weighted(graphs.nodes, graphs.b, 2)),
            }
            program = session.parse(pattern.text)
            semiring = "plain" if len(found) == 1 else "tropical"
            result = session.evaluate(program, edges, semiring=semiring)
            found.append(support(result, pattern).tolist())
            assert len(set(found[-1])) == result.size(pattern.name) > 1000
        assert found[0] == found[1]
        if pattern.name != "r":  # where nearly every pair is there
            assert found[0] != found[2]


def database(edges: list[tuple[int, int]]) -> Database:
    from benchmarks.views.stopwatch import CLOSURE

    made = Database()
    made.load(CLOSURE)
    made.insert("edge", edges)
    return made


EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 0)]


def test_only_proofs_of_what_was_asked_are_believed() -> None:
    judge = Judge(5, EDGES)
    proof = database(EDGES).why("path(4, 3)")
    assert judge.is_proof(proof, (4, 3), lowest=True)
    assert not judge.is_proof(proof, (4, 2), lowest=True)
    without = Judge(5, [edge for edge in EDGES if edge != (4, 0)])
    assert not without.is_proof(proof, (4, 3), lowest=True)
    assert isinstance(proof, Derived)
    assert not judge.is_proof(proof.premises[0], (4, 3), lowest=True)  # type: ignore[arg-type]


def test_a_proof_that_is_too_high_is_no_lowest_one() -> None:
    longer = database([edge for edge in EDGES if edge != (0, 3)]).why("path(0, 3)")
    assert Judge(5, EDGES).is_proof(longer, (0, 3), lowest=False)
    assert not Judge(5, EDGES).is_proof(longer, (0, 3), lowest=True)


def test_what_is_there_is_not_missing() -> None:
    answer = database(EDGES).why_not("path(3, 1)")
    assert Judge(5, EDGES).is_absence(answer, (3, 1))
    assert not Judge(5, EDGES).is_absence(answer, (3, 0))
    assert not Judge(5, [*EDGES, (3, 1)]).is_absence(answer, (3, 1))
    assert not Judge(5, [*EDGES, (3, 4)]).is_absence(answer, (3, 1))


# ── bars ──


def ways(threads: float, one: float, exact: bool = True) -> dict[str, Any]:
    return {
        "network": "Rome",
        "nodes": 3,
        "arcs": 4,
        "tuples": 9,
        "threads": 2,
        "seconds": {"threads": threads, "one": one, "scipy": 1.0},
        "exact": exact,
    }


def test_roads_are_judged_beside_scipy() -> None:
    other = {"program": "p", "nodes": 1, "arcs": 1, "tuples": 1, "seconds": 1.0, "exact": True}
    sizes = {"rows": [ways(9.0, 9.0)], "exponent": None}
    found = {"all_pairs": ways(1.5, 2.6), "general": [other], "sizes": sizes}
    told = tables.roads(found)
    assert [bar.met for bar in told.bars] == [True, False]
    assert told.failures == ()
    found = {
        "all_pairs": ways(1.5, 2.6, False),
        "general": [other | {"exact": False}],
        "sizes": {"rows": [ways(1.0, 1.0, False)], "exponent": 1.0},
    }
    assert len(tables.roads(found).failures) == 3


def test_patterns_are_judged_one_by_one() -> None:
    def row(tropical: float, exact: bool = True) -> dict[str, Any]:
        seconds = {"plain": 1.0, "tropical": tropical}
        base = {"pattern": "r", "nodes": 2, "edges": [1, 1], "tuples": 9}
        return {**base, "seconds": seconds, "exact": exact}

    told = tables.patterns([row(1.9), row(2.1), row(1.0, False)])
    assert [bar.met for bar in told.bars] == [True, False, True]
    assert told.failures == ("r, 2 nodes: other tuples annotated",)


def test_repairs_are_judged_by_kind() -> None:
    times = {"count": 2, "p99": 9.0, "max": 9.0, "mean": 5.0}
    found = {
        "network": "Rome",
        "nodes": 3,
        "arcs": 4,
        "tuples": 9,
        "made_seconds": 1.0,
        "recompute_seconds": 1.0,
        "kinds": {
            "gone": {**times, "median": 5.0, "read": 7.0},
            "changed": {**times, "median": 20.0, "read": 7.5},
        },
        "all": {**times, "median": 10.0},
        "by_tuples": {"rows": [[10, 2, 7.0, 0.01]], "exponent": 0.5},
        "exact": True,
    }
    told = tables.repair(found)
    verdicts = [(bar.measured, bar.met) for bar in told.bars]
    assert verdicts == [("200.0 ×", True), ("50.0 ×", False), ("100.0 ×", True)]
    assert told.failures == ()
    assert len(tables.repair(found | {"exact": False}).failures) == 1


def test_explanations_are_judged_by_time_and_memory_above_idle() -> None:
    def cost(seconds: float, mib: int) -> dict[str, Any]:
        peak = mib * 2**20
        return {"seconds": seconds, "tuples": 9, "peak_bytes": peak, "later_bytes": peak}

    def asked(median: float, wrong: int = 0) -> dict[str, Any]:
        others = {"count": 3, "median": median, "p99": 9.0, "max": 9.0}
        return {"first_ms": 50.0, "others": others, "wrong": wrong}

    found = {
        "nodes": 3,
        "tuples": 9,
        "kept": {"idle": cost(0.0, 100), "plain": cost(1.0, 200), "explained": cost(1.1, 240)},
        "evaluated": {"why": asked(4.0), "why_not": asked(8.0)},
        "view": {"why": asked(6.0), "why_not": asked(8.0)},
    }
    told = tables.explain(found)
    assert [bar.met for bar in told.bars] == [True, False, True, False]
    assert told.failures == ()
    found["view"] = {"why": asked(6.0, 1), "why_not": asked(8.0, 2)}
    assert len(tables.explain(found).failures) == 2


# ── the command ──


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "provenance", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_all_sections_run_quickly(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    file = tmp_path / "out.json"
    done = benchmarks("--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    assert "not judged" in done.stdout
    found = json.loads(file.read_text())
    assert found.keys() == {"machine", "roads", "patterns", "repair", "explain", "bars"}
    assert {bar["met"] for bar in found["bars"]} == {None}
    assert found["repair"]["exact"]


def test_a_section_that_is_not_there_is_refused() -> None:
    done = benchmarks("speed")
    assert done.returncode == 2
    assert "`speed` is not one of roads, patterns, repair, explain" in done.stderr
