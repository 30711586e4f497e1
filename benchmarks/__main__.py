"""`python -m benchmarks`: measure, print tables, and say which bars are met.

`python -m benchmarks views` measures live views, `python -m benchmarks provenance` annotations and
explanations, `python -m benchmarks spark` the engine on Spark, `python -m benchmarks lineage` the
lineage of pipelines, `python -m benchmarks network` nodes that run rules; each has its own options.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks import peers, report
from benchmarks.bars import judge
from benchmarks.cases import BY_NAME
from benchmarks.comparison import Result, Settings, clock_seconds, compare
from benchmarks.lineage import command as lineage
from benchmarks.network import command as network
from benchmarks.process import Failed
from benchmarks.provenance import command as provenance
from benchmarks.sections import BUSY, narrator
from benchmarks.sizes import Growth, measure_growth
from benchmarks.spark import command as spark
from benchmarks.spelling import SPELLINGS
from benchmarks.startup import Startup, measure_startup
from benchmarks.views import command as views

SECTIONS: Final = ("cases", "sizes", "startup")


def _section(text: str) -> str:
    if text not in SECTIONS:
        raise argparse.ArgumentTypeError(f"`{text}` is not one of {', '.join(SECTIONS)}")
    return text


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options, with sections, cases and spellings filled in."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("sections", nargs="*", type=_section, help=f"{', '.join(SECTIONS)}; all if none is named")
    add("--only", nargs="+", choices=BY_NAME, metavar="CASE", help=f"of {', '.join(BY_NAME)}")
    add("--spelling", nargs="+", choices=SPELLINGS, help="how nodes are named; all three")
    add("--runs", type=int, default=3, metavar="N", help="the best of N counts (default 3)")
    add("--threads", type=int, default=2, metavar="N", help="threads for each system (default 2)")
    add("--sizes", action="store_true", help="the same as the section `sizes`")
    add("--quick", action="store_true", help="one run at small sizes: does it work at all?")
    add("--write", action="store_true", help="write the outputs too, not only their sizes")
    add("--no-duckdb", action="store_true", help="do not measure DuckDB")
    add("--no-souffle", action="store_true", help="do not measure Soufflé")
    add("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    given = parser.parse_args(arguments)
    if min(given.runs, given.threads) < 1:
        parser.error("--runs and --threads take a number from 1")
    if given.sizes:
        given.sections.append("sizes")
    given.sections = given.sections or list(SECTIONS)
    given.only = given.only or list(BY_NAME)
    given.spelling = given.spelling or list(SPELLINGS)
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when everything ran and all systems agree, whether or not the bars are met."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["views"]:
        return views.main(words[1:])
    if words[:1] == ["provenance"]:
        return provenance.main(words[1:])
    if words[:1] == ["spark"]:
        return spark.main(words[1:])
    if words[:1] == ["lineage"]:
        return lineage.main(words[1:])
    if words[:1] == ["network"]:
        return network.main(words[1:])
    given = parse_arguments(words)
    say = narrator()
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as folder:
        settings = Settings(
            folder=Path(folder),
            runs=1 if given.quick else given.runs,
            threads=given.threads,
            quick=given.quick,
            duckdb=not given.no_duckdb and peers.has_duckdb(),
            souffle=not given.no_souffle and peers.has_souffle(),
            write=given.write,
            say=say,
        )
        try:
            return _measure(given, settings)
        except KeyboardInterrupt:
            say("interrupted")
            return 130


def _measure(given: argparse.Namespace, settings: Settings) -> int:
    print(", ".join(f"{key} {value}" for key, value in report.machine().items()), flush=True)
    if (load := os.getloadavg()[0]) > BUSY:
        settings.say(f"the machine is busy (load {load:.1f}): times will be too long")
    cases = [BY_NAME[name] for name in given.only]
    results: list[Result] = []
    growths: list[Growth] = []
    startup: Startup | None = None
    clock: float | None = None
    failures: list[str] = []
    try:
        if "cases" in given.sections:
            results = compare(cases, given.spelling, settings)
            report.show(report.case_table(results))
            clock = clock_seconds(results, settings)
        if "sizes" in given.sections:
            growths = measure_growth(cases, settings)
            report.show(report.growth_table(growths))
        if "startup" in given.sections:
            startup = measure_startup(settings)
            report.show(report.startup_table(startup))
    except Failed as failure:
        failures.append(str(failure))
    failures += [f"{r.case} {r.spelling}: {why}" for r in results for why in r.failures]
    failures += [f"{growth.case}: {why}" for growth in growths for why in growth.failures]
    bars = judge(results, clock, startup)
    if settings.quick:
        bars = [replace(bar, met=None) for bar in bars]
    if bars:
        report.show(report.bar_table(bars, clock, quick=settings.quick))
    if given.json is not None:
        found = report.as_json(results, growths, startup, bars, clock)
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for line in failures:
        print(f"FAILED: {line}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
