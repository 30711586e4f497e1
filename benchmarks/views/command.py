"""`python -m benchmarks views`: how fast views follow changes, and which bars that meets."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from benchmarks import report
from benchmarks.bars import Bar
from benchmarks.process import Failed, python, run
from benchmarks.views import tables
from benchmarks.views.graphs import SHAPES

SECTIONS: Final = ("closure", "steady", "pathway", "strategies", "links")
DEADLINE: Final = 900.0
Found = dict[str, Any]


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options, with sections filled in."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks views", description=__doc__)
    add = parser.add_argument
    add(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"of {', '.join(SECTIONS)}; all if none is named",
    )
    add("--quick", action="store_true", help="small sizes: does it work at all?")
    add("--threads", type=int, default=2, metavar="N", help="threads (default 2)")
    add("--shapes", nargs="+", choices=SHAPES, default=[], help="graphs of `strategies`; all")
    add(
        "--pathway",
        default=sys.executable,
        metavar="PYTHON",
        help="a Python that has the package `pathway`; without it the section is left out",
    )
    add("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    given = parser.parse_args(arguments)
    for section in given.sections:
        if section not in SECTIONS:
            parser.error(f"`{section}` is not one of {', '.join(SECTIONS)}")
    if given.threads < 1:
        parser.error("--threads takes a number from 1")
    given.sections = given.sections or list(SECTIONS)
    return given


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right, whether or not the bars are met."""
    given = parse_arguments(arguments)
    started = time.perf_counter()

    def say(line: str) -> None:
        print(f"[{time.perf_counter() - started:5.0f} s] {line}", file=sys.stderr, flush=True)

    print(", ".join(f"{key} {value}" for key, value in report.machine().items()), flush=True)
    if (load := os.getloadavg()[0]) > 0.7:
        say(f"the machine is busy (load {load:.1f}): times will be too long")
    try:
        return _measure(given, say)
    except KeyboardInterrupt:
        say("interrupted")
        return 130


def _measure(given: argparse.Namespace, say: Callable[[str], None]) -> int:
    quick = given.quick
    asked = {
        "threads": given.threads,
        "quick": quick,
        "pathway": given.pathway,
        "shapes": given.shapes,
        # What a cell of the table and the stream of links may take at most.
        "seconds": 0.5 if quick else 5.0,
        "stream_seconds": 5.0 if quick else 150.0,
    }
    everything: Found = {"machine": report.machine()}
    bars: list[Bar] = []
    failures: list[str] = []
    for section in given.sections:
        say(f"{section} …")
        module = "beside_pathway" if section == "pathway" else section
        command = python("-m", f"benchmarks.views.{module}", json.dumps(asked))
        try:
            found = json.loads(run(command, deadline=DEADLINE).stdout)
        except Failed as failure:
            failures.append(f"{section}: {failure}")
            continue
        everything[section] = found
        told = tables.TELL[section](found)
        for table in told.tables:
            report.show(table)
        bars += told.bars
        failures += [f"{section}: {why}" for why in told.failures]
    if quick:
        bars = [replace(bar, met=None) for bar in bars]
    if bars:
        report.show(report.bar_table(bars, None, quick=quick))
    everything["bars"] = [asdict(bar) for bar in bars]
    if given.json is not None:
        given.json.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    for line in failures:
        print(f"FAILED: {line}", file=sys.stderr)
    return 1 if failures else 0
