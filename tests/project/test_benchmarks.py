"""The benchmark harness runs, and its inputs are the same on every machine."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import bars, process, report
from benchmarks.cases import CASES, PROGRAMS, Case
from benchmarks.comparison import Result
from benchmarks.inputs import node_count
from benchmarks.ours import Cost, Idle
from benchmarks.peers import PeerCost, has_souffle, measure_souffle
from benchmarks.planning import many_rules
from benchmarks.sizes import exponent
from benchmarks.spelling import SPELLINGS, Spelling, names, prepare, program_text
from benchmarks.startup import EXAMPLE
from benchmarks.views.graphs import SHAPES, updates_of
from benchmarks.views.tables import strategies
from whence import session
from whence.syntax.format import format_source

ROOT = Path(__file__).parents[2]

INPUTS = {
    "tc_random": (10_000, "355a940f4456"),
    "tc_grid": (7080, "ffb358adefde"),
    "tc_chain": (2999, "b9ea2be0b79e"),
    "tc_scalefree": (59_960, "05e4987179c9"),
    "sg": (7929, "d022a4d5f2e8"),
    "andersen": (3666, "4eae9a7f183f"),
    "cspa": (33_455, "c55ae62f1ba2"),
    "apsp": (1600, "588427f18646"),
}
"""Rows and digest of the input at full size: figures are comparable only while these hold."""

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_inputs_are_the_same_on_every_machine(case: Case) -> None:
    facts = case.facts(case.full)
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()
    assert (sum(map(len, facts.values())), digest[:12]) == INPUTS[case.name]


@every_case
def test_a_larger_size_has_more_rows(case: Case) -> None:
    sizes = (case.tiny, case.tiny * 2, case.tiny * 4)
    counts = [sum(map(len, case.facts(size).values())) for size in sizes]
    assert counts == sorted(set(counts))
    assert case.tiny < case.smaller < case.full < case.larger


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_node_has_a_name_of_its_own(spelling: Spelling) -> None:
    found = names(5000, spelling)
    assert len(set(found)) == 5000
    assert found == names(5000, spelling)
    if spelling == "sparse":
        assert max(map(int, found)) >= 2**62
        assert all(0 <= int(name) < 2**63 for name in found)


def test_weights_stay_numbers_when_nodes_become_symbols(tmp_path: Path) -> None:
    (apsp,) = (case for case in CASES if case.name == "apsp")
    workload = prepare(apsp, apsp.tiny, "symbols", tmp_path)
    rows = (workload.facts / "edge.facts").read_text().splitlines()
    plain = apsp.facts(apsp.tiny)
    assert node_count(plain.values()) == apsp.tiny
    assert [row.split("\t")[2] for row in rows] == [str(w) for _, _, w in plain["edge"]]
    assert rows[0].startswith("node-000000\t")


@every_case
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_program_is_planned_in_every_spelling(case: Case, spelling: Spelling) -> None:
    compiled = session.compile(session.parse(program_text(case, spelling, write=True)))
    written = {d.relation for d in compiled.source.directives if d.action == "output"}
    assert written == set(case.outputs)


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.dl")), ids=lambda path: path.stem)
def test_programs_are_laid_out_as_fmt_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(text) == text


@pytest.mark.parametrize("rules", [41, 1000])
def test_the_generated_program_has_as_many_rules_as_asked_for(rules: int) -> None:
    assert len(session.parse(many_rules(rules)).rules) == rules


def test_the_generated_program_can_be_planned() -> None:
    assert len(session.compile(session.parse(many_rules(41))).plan.strata) > 10


def test_the_exponent_is_the_power_of_growth() -> None:
    assert exponent([(x, 3 * x**1.5) for x in (10, 100, 1000)]) == pytest.approx(1.5)
    assert exponent([(10, 1.0)]) is None
    assert exponent([(10, 1.0), (10, 2.0)]) is None


def result(case: str, seconds: float, duckdb: float | None) -> Result:
    cost = Cost(1_000_000, seconds + 1, 0.1, 0.2, seconds, 0.0, 90_000_000)
    peer = None if duckdb is None else PeerCost(1_000_000, duckdb, 10**8)
    return Result(case, 1, "dense", Idle(10**7, 6 * 10**7), cost, peer, None, ())


def test_a_bar_is_met_or_not_by_the_ratio() -> None:
    verdicts = {
        bar.name: bar.met
        for bar in bars.judge([result("tc_grid", 0.2, 1.0), result("sg", 0.6, 1.0)], None, None)
    }
    assert verdicts == {
        "tc_grid dense, times DuckDB": True,
        "sg dense, times DuckDB": False,
        "tc_grid dense, bytes per tuple above idle": True,
        "sg dense, bytes per tuple above idle": True,
    }


def test_bars_beside_souffle_follow_the_clock_of_the_machine() -> None:
    def met(seconds: float, clock: float | None) -> bool | None:
        (bar,) = bars.judge([result("andersen", seconds, None)], clock, None)
        return bar.met

    assert met(2.6, 1.03) is True
    assert met(2.6, 0.52) is False
    assert met(5.0, 2.06) is True
    assert met(2.6, None) is None


def test_tables_are_aligned() -> None:
    table = report.Table("Title", ("name", "s"), (("a", "1.5"), ("long name", "10.25")))
    assert report.plain(table).splitlines() == [
        "Title",
        "",
        "name           s",
        "---------  -----",
        "a            1.5",
        "long name  10.25",
    ]


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(process.Failed, match="exit code 1: ValueError: too small"):
        process.run(process.python("-c", "raise ValueError('too small')"))


def test_a_command_that_does_not_end_is_stopped() -> None:
    with pytest.raises(process.Failed, match=r"longer than 0\.2 s"):
        process.run(process.python("-c", "import time; time.sleep(60)"), deadline=0.2)


@pytest.mark.parametrize("compiles", [True, False])
def test_souffle_is_measured_compiled_or_else_interpreted(
    compiles: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_script(name: str, text: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    write_script("compiled", r"printf 'path\t405\n'")
    compiler = f"cp {tmp_path}/compiled $2" if compiles else "exit 1"
    write_script("souffle", rf"if [ $1 = -o ]; then {compiler}; else printf 'path\t407\n'; fi")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (grid,) = (case for case in CASES if case.name == "tc_grid")
    workload = prepare(grid, grid.tiny, "dense", tmp_path)
    assert has_souffle()
    cost = measure_souffle(workload, runs=2, threads=2)
    assert cost.tuples == (405 if compiles else 407)


def test_the_start_up_example_is_there() -> None:
    assert (EXAMPLE / "reachability.dl").exists()


def test_one_quick_case_runs_beside_duckdb(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    file = tmp_path / "out.json"
    command = [sys.executable, "-m", "benchmarks", "cases", "--quick", "--no-souffle"]
    command += ["--only", "tc_grid", "--spelling", "symbols", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "not judged" in done.stdout
    (case,) = json.loads(file.read_text())["cases"]
    assert case["whence"]["tuples"] == case["duckdb"]["tuples"] == 405


def test_shapes_of_graphs_are_the_same_on_every_machine() -> None:
    shapes = [make(1) for make in SHAPES.values()]
    digest = hashlib.sha256(repr([(s, updates_of(s)) for s in shapes]).encode()).hexdigest()
    assert digest[:12] == "a99bc3f956e6"
    for shape in shapes:
        assert len(set(shape.edges)) == len(shape.edges)
        for updates in updates_of(shape):
            assert set(updates.goes) <= set(shape.edges)
            assert not set(updates.comes) & set(shape.edges)


def test_the_auto_bar_names_the_worst_cell() -> None:
    work = {"asked": 1, "removed": 2, "restored": 0, "deleted": 2, "chosen": "ranked"}
    cells = [
        {
            "graph": g,
            "batch": "1 goes",
            "strategy": s,
            "seconds": c,
            "stopped": False,
            "exact": True,
        }
        for g, costs in (("ring", (1.0, 2.0, 1.5)), ("grid", (4.0, 2.0, 2.0)))
        for s, c in zip(("ranked", "dred", "auto"), costs, strict=True)
    ]
    told = strategies([cell | work for cell in cells])
    assert [(bar.measured, bar.met) for bar in told.bars] == [("1.50 × (ring, 1 goes)", False)]
    assert told.failures == ()
    told = strategies([cell | work | {"exact": cell["graph"] == "ring"} for cell in cells])
    assert len(told.failures) == 3


def test_views_are_measured_quickly_and_without_pathway(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "views",
        "closure",
        "pathway",
        "links",
        "--quick",
    ]
    command += ["--pathway", str(tmp_path / "nowhere"), "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Pathway is left out" in done.stdout
    found = json.loads(file.read_text())
    assert found["closure"]["exact"]
    assert found["links"]["stream"]["exact"]
    assert {bar["met"] for bar in found["bars"]} == {None}


def test_a_section_of_views_that_is_not_there_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks", "views", "speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "`speed` is not one of closure, steady, pathway" in done.stderr


def test_a_section_that_is_not_there_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks", "speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "`speed` is not one of cases, sizes, startup" in done.stderr
