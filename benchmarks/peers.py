"""The same workloads on other systems, where they are installed and can express them.

DuckDB: the time of the query, with the tables loaded. Soufflé: the time of the command, with
loading, as it does not tell the two apart; compiling the program is not counted.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.process import Failed, python, run
from benchmarks.spelling import Workload


@dataclass(frozen=True, slots=True)
class PeerCost:
    """The quickest of several runs."""

    tuples: int
    seconds: float
    peak_bytes: int


def has_duckdb() -> bool:
    return find_spec("duckdb") is not None


def has_souffle() -> bool:
    return shutil.which("souffle") is not None


def measure_duckdb(workload: Workload, *, runs: int, threads: int) -> PeerCost | None:
    """Return DuckDB's cost, or None where `WITH RECURSIVE` cannot ask the question."""
    if not workload.case.sql:
        return None
    node = "VARCHAR" if workload.spelling == "symbols" else "BIGINT"
    tables = {
        relation: [node, node, *["BIGINT"] * (columns - 2)]
        for relation, columns in workload.columns
    }
    command = python(
        *("-m", "benchmarks.duck", "--threads", str(threads)),
        *(str(workload.facts), json.dumps(tables), workload.case.sql),
    )
    costs: list[PeerCost] = []
    for _ in range(runs):
        done = run(command)
        told = json.loads(done.stdout)
        costs.append(PeerCost(told["tuples"], told["seconds"], done.peak_bytes))
    return min(costs, key=lambda cost: cost.seconds)


def measure_souffle(workload: Workload, *, runs: int, threads: int) -> PeerCost:
    """Return Soufflé's cost: of the compiled program, or interpreted where it does not compile."""
    out = workload.program.parent / "souffle"
    out.mkdir(exist_ok=True)
    program = _souffle_program(workload.program)
    command = (*program, f"-j{threads}", "-F", str(workload.facts), "-D", str(out))
    costs: list[PeerCost] = []
    for _ in range(runs):
        done = run(command)
        sizes = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
        tuples = sum(int(size) for _, size in sizes)
        costs.append(PeerCost(tuples, done.wall_seconds, done.peak_bytes))
    return min(costs, key=lambda cost: cost.seconds)


def _souffle_program(program: Path) -> tuple[str, ...]:
    """Return what runs the program; equal texts are compiled once, as that takes many seconds."""
    text = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
    executable = program.parent.parent / f"souffle-{text}"
    if not executable.exists():
        try:
            run(("souffle", "-o", str(executable), str(program)))
        except Failed:
            return ("souffle", str(program))
    return (str(executable),)
