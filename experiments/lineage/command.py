"""`python -m experiments lineage`: accuracy, speedup, local reduction and sizes of the paper.

Each experiment is written as JSON, and as a picture where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from benchmarks import report
from benchmarks.process import Failed
from benchmarks.report import Table
from benchmarks.sections import BUSY, narrator
from experiments import pages
from whence import plotting as plots


class Experiment(Protocol):
    """What the module of an experiment has."""

    def measure(self, quick: bool, say: Callable[[str], None]) -> dict[str, Any]: ...

    def tables(self, found: dict[str, Any]) -> tuple[Table, ...]: ...

    def failures(self, found: dict[str, Any]) -> list[str]: ...

    def draw(self, found: dict[str, Any]) -> plots.Picture: ...


def experiments() -> Mapping[str, Experiment]:
    """Return all experiments by name."""
    from experiments.lineage import figure14, figure15, figure16, table1

    return {
        "figure14": figure14,
        "figure15": figure15,
        "figure16": figure16,
        "table1": table1,
    }


FOLDER: Final = Path("build", "experiments")
PACKAGES: Final = ("whence", "numba", "numpy", "pyarrow", "pyspark", "matplotlib")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options, with the names filled in."""
    known = list(experiments())
    parser = argparse.ArgumentParser(prog="python -m experiments lineage", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all if none is named")
    add("--quick", action="store_true", help="small sizes: does it work at all?")
    add("--no-spark", action="store_true", help="leave Structured Streaming out of figure 15")
    add("--out", type=Path, default=FOLDER, metavar="DIR", help=f"where to write ({FOLDER})")
    add("--redraw", action="store_true", help="measure nothing; draw what DIR holds as JSON")
    add("--page", type=Path, metavar="FILE", help="put the tables into a page, at their marks")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in known:
            parser.error(f"`{name}` is not one of {', '.join(known)}")
    given.names = given.names or known
    if given.page is not None and not given.page.is_file():
        parser.error(f"there is no page {given.page}")
    if given.redraw:
        for name in given.names:
            if not (given.out / f"{name}.json").is_file():
                parser.error(f"there is no {given.out / f'{name}.json'} to draw again")
    return given


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right."""
    given = parse_arguments(arguments)
    say = narrator()
    machine = report.machine(PACKAGES)
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    load = os.getloadavg()[0]
    if load > BUSY and not given.redraw:
        say(f"the machine is busy (load {load:.1f}): times will be too long")
    if not plots.available():
        say(plots.MISSING)
    try:
        given.out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        print(f"cannot write into `{given.out}`: {fault.strerror}", file=sys.stderr)
        return 2
    failed = False
    try:
        for name in given.names:
            failed |= _one(name, given, {"machine": machine, "load": round(load, 1)}, say)
    except Failed as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 1 if failed else 0


def _one(
    name: str, given: argparse.Namespace, where: dict[str, Any], say: Callable[[str], None]
) -> bool:
    """Do one experiment, or draw it again; say whether its answers are wrong."""
    experiment, path = experiments()[name], given.out / f"{name}.json"
    if given.redraw:
        found = json.loads(path.read_text(encoding="utf-8"))
    else:
        without = {"spark": False} if name == "figure15" and given.no_spark else {}
        found = {**where, **experiment.measure(given.quick, say, **without)}
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    tables = experiment.tables(found)
    for table in tables:
        report.show(table)
    if given.page is not None:
        page = given.page.read_text(encoding="utf-8")
        given.page.write_text(pages.filled(page, name, tables), encoding="utf-8")
    if plots.available():
        plots.save(experiment.draw(found), given.out / f"{name}.svg")
    failures = experiment.failures(found)
    for line in failures:
        print(f"FAILED: {name}: {line}", file=sys.stderr)
    return bool(failures)
