"""What `whence run` costs on a workload, each time in a fresh process."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cases import BY_NAME
from benchmarks.process import Failed, python, run
from benchmarks.spelling import Workload, prepare


@dataclass(frozen=True, slots=True)
class Cost:
    """The quickest evaluation of several runs, the shortest command, and the highest memory."""

    tuples: int
    wall_seconds: float
    load_seconds: float
    prepare_seconds: float
    """Loading Numba and the machine code of the kernels."""
    evaluate_seconds: float
    write_seconds: float
    peak_bytes: int

    @property
    def tuples_per_second(self) -> float:
        return self.tuples / max(self.evaluate_seconds, 1e-9)


def _once(program: Path, facts: Path, outputs: tuple[str, ...], threads: int) -> Cost:
    out = program.parent / "out"
    out.mkdir(exist_ok=True)
    stats_file = program.parent / "stats.json"
    command = ["-m", "whence", "run", str(program), "-F", str(facts), "-D", str(out)]
    command += ["--stats", str(stats_file), "--quiet", "--threads", str(threads)]
    done = run(python(*command))
    stats = json.loads(stats_file.read_text(encoding="utf-8"))
    return Cost(
        tuples=sum(stats["relations"][name]["tuples"] for name in outputs),
        wall_seconds=done.wall_seconds,
        load_seconds=stats["load_seconds"],
        prepare_seconds=stats["prepare_seconds"],
        evaluate_seconds=stats["evaluate_seconds"],
        write_seconds=stats["write_seconds"],
        peak_bytes=stats["peak_memory_bytes"],
    )


def measure(workload: Workload, *, runs: int, threads: int) -> Cost:
    """Return the cost of a workload over some runs; raise `Failed` when one of them fails."""
    costs = [
        _once(workload.program, workload.facts, workload.case.outputs, threads) for _ in range(runs)
    ]
    counts = {cost.tuples for cost in costs}
    expected = {workload.expected or costs[0].tuples}
    if counts != expected:
        raise Failed(f"gave {sorted(counts)} tuples, not {sorted(expected)}")
    best = min(costs, key=lambda cost: cost.evaluate_seconds)
    return replace(
        best,
        wall_seconds=min(cost.wall_seconds for cost in costs),
        peak_bytes=max(cost.peak_bytes for cost in costs),
    )


@dataclass(frozen=True, slots=True)
class Idle:
    """The peak memory of the command when there is next to nothing to keep."""

    bare_bytes: int
    """On a program that says nothing: small evaluations are interpreted, so no Numba is loaded."""
    loaded_bytes: int
    """On a closure just large enough that Numba and the kernels are loaded."""


def measure_idle(folder: Path, *, threads: int) -> Idle:
    """Return the memory of the idle command; kernels are in Numba's cache afterwards."""
    home = folder / "idle"
    home.mkdir(parents=True, exist_ok=True)
    bare = home / "idle.dl"
    bare.write_text("", encoding="utf-8")
    little = prepare(BY_NAME["tc_chain"], 100, "dense", folder)
    runs = range(2)  # the first may have to compile
    return Idle(
        min(_once(bare, home, (), threads).peak_bytes for _ in runs),
        min(_once(little.program, little.facts, (), threads).peak_bytes for _ in runs),
    )
