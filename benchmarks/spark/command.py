"""`python -m benchmarks spark`: what the engine on Spark costs, beside what else one could use."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from benchmarks import sections
from benchmarks.report import PACKAGES
from benchmarks.sections import Section
from benchmarks.spark import tables
from benchmarks.spark.jars import Missing, graphframes_jars

SECTIONS: Final = {
    "closure": Section("benchmarks.spark.closure", tables.closure),
    "samegen": Section("benchmarks.spark.samegen", tables.samegen),
    "cspa": Section("benchmarks.spark.cspa", tables.cspa),
    "scaling": Section("benchmarks.spark.scaling", tables.scaling),
    "rounds": Section("benchmarks.spark.rounds", tables.rounds),
    "graphs": Section("benchmarks.spark.graphs", tables.graphs),
    "growth": Section("benchmarks.spark.growth", tables.growth),
    "streaming": Section("benchmarks.spark.streaming", tables.streaming),
}


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right, whether or not the bars are met."""
    parser = sections.parser("spark", __doc__, SECTIONS)
    given = sections.parse(parser, arguments, SECTIONS)
    jars = ""
    if "graphs" in given.sections and not given.quick:
        try:
            jars = graphframes_jars()
        except Missing as why:
            print(f"GraphFrames is left out: {why}", file=sys.stderr)
    return sections.measure(given, SECTIONS, {"jars": jars}, (*PACKAGES, "pyspark"))
