"""`python -m benchmarks views`: how fast views follow changes, and which bars that meets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from benchmarks import sections
from benchmarks.sections import Section
from benchmarks.views import tables
from benchmarks.views.graphs import SHAPES

SECTIONS: Final = {
    "closure": Section("benchmarks.views.closure", tables.closure),
    "steady": Section("benchmarks.views.steady", tables.steady),
    "pathway": Section("benchmarks.views.beside_pathway", tables.pathway),
    "strategies": Section("benchmarks.views.strategies", tables.strategies),
    "links": Section("benchmarks.views.links", tables.links),
}


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options, with sections filled in."""
    parser = sections.parser("views", __doc__, SECTIONS)
    add = parser.add_argument
    add("--shapes", nargs="+", choices=SHAPES, default=[], help="graphs of `strategies`; all")
    add(
        "--pathway",
        default=sys.executable,
        metavar="PYTHON",
        help="a Python that has the package `pathway`; without it the section is left out",
    )
    return sections.parse(parser, arguments, SECTIONS)


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right, whether or not the bars are met."""
    given = parse_arguments(arguments)
    asked = {
        "pathway": given.pathway,
        "shapes": given.shapes,
        # What a cell of the table and the stream of links may take at most.
        "seconds": 0.5 if given.quick else 5.0,
        "stream_seconds": 5.0 if given.quick else 150.0,
    }
    return sections.measure(given, SECTIONS, asked)
