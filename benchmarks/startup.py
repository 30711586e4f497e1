"""How soon the first answer comes: from an empty kernel cache, a full one, and many rules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.cases import BY_NAME
from benchmarks.comparison import Settings
from benchmarks.planning import many_rules
from benchmarks.process import ROOT, python, run
from benchmarks.spelling import prepare

EXAMPLE: Final = ROOT / "examples" / "reachability"
RULES: Final = 1000


@dataclass(frozen=True, slots=True)
class Startup:
    """Seconds, the best of several runs; `cold` is one run, as a cache is empty only once."""

    cold: float
    warm: float
    kernels_cold: float
    kernels_warm: float
    parse: float
    compile: float
    plan_command: float


def measure_startup(settings: Settings) -> Startup:
    """Measure all of it; raise `Failed` when a command fails."""
    cold, warm = _first_runs("example", EXAMPLE / "reachability.dl", EXAMPLE / "facts", settings)
    # The example is too small to need kernels, so a larger one shows what compiling them costs.
    closure = prepare(BY_NAME["tc_chain"], 200, "dense", settings.folder)
    kernels = _first_runs("closure", closure.program, closure.facts, settings)
    program = settings.folder / "many_rules.dl"
    program.write_text(many_rules(RULES), encoding="utf-8")
    parse, compile_ = min((_plan(program) for _ in range(settings.runs)), key=sum)
    commands = (run(python("-m", "whence", "plan", str(program))) for _ in range(settings.runs))
    wall = min(done.wall_seconds for done in commands)
    settings.say(
        f"{RULES:,} rules: parsed in {parse:.2f} s, checked and planned in {compile_:.2f} s"
    )
    return Startup(cold, warm, *kernels, parse, compile_, wall)


def _first_runs(name: str, program: Path, facts: Path, settings: Settings) -> tuple[float, float]:
    """Return the seconds of the command with an empty kernel cache, and with what that run left."""
    home = settings.folder / f"startup-{name}"
    out = home / "out"
    out.mkdir(parents=True)
    command = python("-m", "whence", "run", str(program), "-F", str(facts), "-D", str(out), "-q")
    env = {"NUMBA_CACHE_DIR": str(home / "kernels")}
    cold = run(command, env=env).wall_seconds
    warm = min(run(command, env=env).wall_seconds for _ in range(settings.runs))
    settings.say(f"{name}: {cold:.2f} s with an empty kernel cache, then {warm:.2f} s")
    return cold, warm


def _plan(program: Path) -> tuple[float, float]:
    told = json.loads(run(python("-m", "benchmarks.planning", str(program))).stdout)
    return told["parse_seconds"], told["compile_seconds"]
