"""A command of several sections, each measured in a process of its own, that ends with bars."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks import report
from benchmarks.bars import Bar
from benchmarks.process import Failed, python, run
from benchmarks.told import Told

BUSY: Final = 0.7
"""A load average above which two threads do not have two cores."""

DEADLINE: Final = 900.0
"""Seconds after which a section is stopped and counts as failed."""


@dataclass(frozen=True, slots=True)
class Section:
    """A module that is given options as JSON and prints what it found, and who tells of that."""

    module: str
    tell: Callable[[Any], Told]


Sections = Mapping[str, Section]


def parser(name: str, about: str | None, sections: Sections) -> argparse.ArgumentParser:
    """Return a parser of the options that every such command has."""
    found = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=about)
    add = found.add_argument
    add(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"of {', '.join(sections)}; all if none is named",
    )
    add("--quick", action="store_true", help="small sizes: does it work at all?")
    add("--threads", type=int, default=2, metavar="N", help="threads (default 2)")
    add("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    return found


def parse(
    options: argparse.ArgumentParser, arguments: Sequence[str], sections: Sections
) -> argparse.Namespace:
    """Return the options, with sections filled in."""
    given = options.parse_args(arguments)
    for section in given.sections:
        if section not in sections:
            options.error(f"`{section}` is not one of {', '.join(sections)}")
    if given.threads < 1:
        options.error("--threads takes a number from 1")
    given.sections = given.sections or list(sections)
    return given


def narrator() -> Callable[[str], None]:
    """Return what prints a line with the seconds since now."""
    started = time.perf_counter()

    def say(line: str) -> None:
        print(f"[{time.perf_counter() - started:5.0f} s] {line}", file=sys.stderr, flush=True)

    return say


def measure(
    given: argparse.Namespace,
    sections: Sections,
    asked: Mapping[str, object],
    packages: Sequence[str] = report.PACKAGES,
) -> int:
    """Measure the sections; return 0 when everything ran and all answers are right.

    A section is given the number of threads, whether it is to be quick, and what else is `asked`.
    """
    say = narrator()
    machine = report.machine(packages)
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    if (load := os.getloadavg()[0]) > BUSY:
        say(f"the machine is busy (load {load:.1f}): times will be too long")
    everything: dict[str, object] = {"machine": machine}
    options = json.dumps({"threads": given.threads, "quick": given.quick, **asked})
    bars: list[Bar] = []
    failures: list[str] = []
    try:
        for name in given.sections:
            say(f"{name} …")
            try:
                command = python("-m", sections[name].module, options)
                found = json.loads(run(command, deadline=DEADLINE).stdout)
            except Failed as failure:
                failures.append(f"{name}: {failure}")
                continue
            everything[name] = found
            told = sections[name].tell(found)
            for table in told.tables:
                report.show(table)
            bars += told.bars
            failures += [f"{name}: {why}" for why in told.failures]
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    if given.quick:
        bars = [replace(bar, met=None) for bar in bars]
    if bars:
        report.show(report.bar_table(bars, None, quick=given.quick))
    everything["bars"] = [asdict(bar) for bar in bars]
    if given.json is not None:
        given.json.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    for line in failures:
        print(f"FAILED: {line}", file=sys.stderr)
    return 1 if failures else 0
