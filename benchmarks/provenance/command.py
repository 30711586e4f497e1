"""`python -m benchmarks provenance`: what annotations and explanations cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks import sections
from benchmarks.provenance import tables
from benchmarks.report import PACKAGES
from benchmarks.sections import Section

SECTIONS: Final = {
    "roads": Section("benchmarks.provenance.roads", tables.roads),
    "patterns": Section("benchmarks.provenance.patterns", tables.patterns),
    "repair": Section("benchmarks.provenance.repair", tables.repair),
    "explain": Section("benchmarks.provenance.explain", tables.explain),
}


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right, whether or not the bars are met."""
    parser = sections.parser("provenance", __doc__, SECTIONS)
    given = sections.parse(parser, arguments, SECTIONS)
    return sections.measure(given, SECTIONS, {}, (*PACKAGES, "scipy"))
