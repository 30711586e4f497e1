"""`python -m benchmarks lineage`: what lineage costs, from capture to questions.

A section is a module that measures, run as a process of its own, and tells with its own `tell`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks import sections
from benchmarks.lineage import capture, log, partitions, queries, reduce
from benchmarks.report import PACKAGES
from benchmarks.sections import Section

SECTIONS: Final = {
    "capture": Section("benchmarks.lineage.capture", capture.tell),
    "log": Section("benchmarks.lineage.log", log.tell),
    "reduce": Section("benchmarks.lineage.reduce", reduce.tell),
    "partitions": Section("benchmarks.lineage.partitions", partitions.tell),
    "queries": Section("benchmarks.lineage.queries", queries.tell),
}


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right, whether or not the bars are met."""
    parser = sections.parser("lineage", __doc__, SECTIONS)
    given = sections.parse(parser, arguments, SECTIONS)
    return sections.measure(given, SECTIONS, {}, (*PACKAGES, "pyarrow"))
