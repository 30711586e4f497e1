"""`python -m benchmarks network`: how fast nodes run their rules.

A section is a module that measures, run as a process of its own, and tells with its own `tell`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks import sections
from benchmarks.network import absorption, firings
from benchmarks.report import PACKAGES
from benchmarks.sections import Section

SECTIONS: Final = {
    "firings": Section("benchmarks.network.firings", firings.tell),
    "absorption": Section("benchmarks.network.absorption", absorption.tell),
}


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything ran and all answers are right, whether or not the bars are met."""
    parser = sections.parser("network", __doc__, SECTIONS)
    given = sections.parse(parser, arguments, SECTIONS)
    return sections.measure(given, SECTIONS, {}, (*PACKAGES, "msgspec"))
