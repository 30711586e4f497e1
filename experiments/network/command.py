"""`python -m experiments network`: measure or redraw the figures of networks, and fill their page.

The experiments are those of `whence net experiment`; here several run after each other, and the
page that shows them is filled from what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.report import Table
from benchmarks.sections import BUSY, narrator
from experiments import pages
from whence.app.net.experiments import redrawn, run
from whence.network.experiments.base import Experiment, shown
from whence.network.experiments.listed import LISTED

RESULTS: Final = Path("experiments", "network", "results")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options, with the names filled in."""
    parser = argparse.ArgumentParser(prog="python -m experiments network", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(LISTED)}; all if none is named")
    add("--quick", action="store_true", help="small sizes: does it work at all?")
    add("--out", type=Path, default=RESULTS, metavar="DIR", help=f"where to write ({RESULTS})")
    add("--redraw", action="store_true", help="measure nothing; draw what DIR holds as JSON")
    add("--page", type=Path, metavar="FILE", help="put the tables into a page, at their marks")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in LISTED:
            parser.error(f"`{name}` is not one of {', '.join(LISTED)}")
    given.names = given.names or list(LISTED)
    return given


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran."""
    given = parse_arguments(arguments)
    say = narrator()
    load = os.getloadavg()[0]
    if load > BUSY and not given.redraw:
        say(f"the machine is busy (load {load:.1f}): times will be too long")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        experiment = LISTED[name]
        if given.redraw:
            lines = redrawn(name, experiment, given.out)
        else:
            lines = run(name, experiment, given.out, given.quick, say)
        print(f"\n{name}: {experiment.title}", *lines, sep="\n", flush=True)
        if given.page is not None:
            page = given.page.read_text(encoding="utf-8")
            found = json.loads((given.out / f"{name}.json").read_text(encoding="utf-8"))
            filled = pages.filled(page, name, (table_of(experiment, found),))
            given.page.write_text(filled, encoding="utf-8")
    return 0


def table_of(experiment: Experiment, found: dict[str, Any]) -> Table:
    """Return the table of an experiment as pages show it."""
    made = experiment.table(found)
    rows = tuple(tuple(shown(cell) for cell in row) for row in made.rows)
    title = f"{experiment.title[0].upper()}{experiment.title[1:]}"
    return Table(title, tuple(made.headers), rows, notes=tuple(made.notes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
