"""Capture: the demo's two jobs traced, sampled and switched off, beside the same jobs untraced.

Run as a process of its own: `python -m benchmarks.lineage.capture '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks import measured
from benchmarks.report import Table
from benchmarks.told import Told, at_most

ROWS: Final = 1_000_000
LIMITS: Final = {"frames": 2.5, "rdds": 3.0}
SAMPLED: Final = 1.2
OFF: Final = 1.05
SHARE: Final = 0.01


def measure(quick: bool) -> dict[str, Any]:
    """Run all ways in turns; return seconds and edges."""
    from whence.engine.spark.session import session

    rows = 20_000 if quick else ROWS
    spark = session("local[2]", **{"spark.driver.memory": "2g"})
    folder = Path(tempfile.mkdtemp(prefix="whence-bench-"))
    try:
        found = {api: _turns(spark, folder, api, rows, quick) for api in ("frames", "rdds")}
    finally:
        spark.stop()
        shutil.rmtree(folder)
    return {"rows": rows, **found}


def _turns(spark: Any, folder: Path, api: str, rows: int, quick: bool) -> dict[str, Any]:
    from whence.lineage import demo

    tweets = folder / "tweets"
    if not tweets.exists():
        demo.write_tweets(tweets, rows)
        demo.write_categories(folder / "categories.csv", rows)
    count, add = (
        (demo.count_tags, demo.count_categories)
        if api == "frames"
        else (demo.count_tags_rdd, demo.count_categories_rdd)
    )
    topics: list[tuple[Any, str]] = []

    def jobs(wrap: Callable[[str], Any]) -> None:
        counts, totals = folder / "counts", folder / "totals"
        for out in (counts, totals):
            shutil.rmtree(out, ignore_errors=True)
        count(wrap("hashtags"), str(tweets), str(counts))
        add(wrap("categories"), str(counts), str(folder / "categories.csv"), str(totals))

    def traced(**options: Any) -> Callable[[], None]:
        from whence.lineage.capture import trace

        def wrap(job: str) -> Any:
            log = folder / "log"
            tracer = trace(spark, workflow="tweets", job=job, log=log, **options)
            if tracer.topic is not None:
                topics.append((tracer.log, tracer.topic))
            return tracer

        return lambda: jobs(wrap)

    ways = {
        "untraced": lambda: jobs(lambda job: spark),
        "full": traced(),
        "sampled": traced(sample=SHARE),
        "off": traced(enabled=False),
    }
    measured.in_turns(ways, 1)
    topics.clear()
    seconds = measured.in_turns(ways, 1 if quick else 5)
    edges = [sum(log.end_offsets(topic)) for log, topic in topics[:4]]
    return {"seconds": seconds, "edges": {"full": sum(edges[:2]), "sampled": sum(edges[2:])}}


def tell(found: dict[str, Any]) -> Told:
    """Ratios to the same jobs untraced."""
    lines, bars = [], []
    for api in ("frames", "rdds"):
        seconds = {way: statistics.median(times) for way, times in found[api]["seconds"].items()}
        for way, median in seconds.items():
            edges = found[api]["edges"].get(way, 0)
            ratio = median / seconds["untraced"]
            lines.append((api, way, f"{median:.2f}", f"{ratio:.2f}", f"{edges:,}"))
            limit = {"full": LIMITS[api], "sampled": SAMPLED, "off": OFF}.get(way)
            if limit is not None:
                bars.append(at_most(f"capture, {api}, {way}", limit, ratio, "×"))
    table = Table(
        f"Capture: the demo's two jobs on {found['rows']:,} tweets, local[2]",
        ("API", "capture", "seconds", "ratio", "edges"),
        tuple(lines),
        notes=(f"medians, in turns, warm; sampled: {SHARE:.0%} of the input rows",),
    )
    wrong = [api for api in ("frames", "rdds") if not found[api]["edges"]["full"]]
    return Told((table,), tuple(bars), tuple(f"{api}: no edges" for api in wrong))


if __name__ == "__main__":
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
