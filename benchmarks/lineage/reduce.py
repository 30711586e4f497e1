"""The exact reducer, embedded, on one core: from segments, from JSON lines, at three sizes.

Run as a process of its own: `python -m benchmarks.lineage.reduce '{…}'` prints JSON.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
from typing import Any, Final

import pyarrow as pa

from benchmarks import measured
from benchmarks.bars import Bar
from benchmarks.lineage.traces import hashtag_trace
from benchmarks.report import Table
from benchmarks.told import Told

SEGMENTS_PER_SECOND: Final = 2e6
LINES_PER_SECOND: Final = 250e3
_PAPER: Final = 7.46
"""Edges for one reduced edge, in the paper's table I."""


def measure(quick: bool) -> dict[str, Any]:
    """Reduce traces of three sizes from a log, and one of them from JSON lines, in every mode."""
    from whence.lineage.jsonl import read_lines, write_lines
    from whence.lineage.log import Topic, open_log
    from whence.lineage.reduce import reduce
    from whence.lineage.reduce.local_global import Settings
    from whence.lineage.reduce.resumed import LogReduction

    sizes = (1_000, 4_000) if quick else (100_000, 400_000, 2_000_000)
    reduce(hashtag_trace(3_000))  # kernels are loaded
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as folder:
        log = open_log(folder, sync=False)
        for tweets in sizes:
            log.create(Topic(f"job{tweets}", 1, attempts=True))
            for batch in hashtag_trace(tweets):
                log.append(f"job{tweets}", 0, batch)
        for tweets in sizes:
            for watermark in (None, 1.0):
                job = LogReduction(log, f"job{tweets}", Settings(watermark=watermark))
                started, cpu = time.perf_counter(), time.process_time()
                links = sum(batch.num_rows for batch in job.at_once())
                found.append(
                    {
                        "edges": job.flow.edges,
                        "watermark": watermark,
                        "links": links,
                        "seconds": time.perf_counter() - started,
                        "cpu": time.process_time() - cpu,
                    }
                )
    lines = io.BytesIO()
    write_lines(hashtag_trace(sizes[0]), lines)
    list(read_lines(io.BytesIO(lines.getvalue()[:400_000].rpartition(b"\n")[0])))
    modes = {}
    for mode in ("exact", "grouping", "window", "ordered"):
        lines.seek(0)
        started, cpu = time.perf_counter(), time.process_time()
        made = reduce(read_lines(lines), mode=mode, attempts=True)
        modes[mode] = {
            "seconds": time.perf_counter() - started,
            "cpu": time.process_time() - cpu,
            "edges": made.flow.edges,
            "links": made.table.num_rows,
        }
    right = {row["links"] for row in found[:2]} == {modes["exact"]["links"]}
    return {
        "segments": found,
        "modes": modes,
        "bytes": len(lines.getvalue()) / modes["exact"]["edges"],
        "exact": right,
    }


def tell(found: dict[str, Any]) -> Told:
    """Edges a second, and how many of them become one link."""
    rows = tuple(
        (
            f"{row['edges']:,}",
            "no" if row["watermark"] is None else f"{row['watermark']:g} s",
            f"{row['seconds']:.2f}",
            f"{row['edges'] / row['seconds'] / 1e6:.2f}",
            f"{row['edges'] / row['cpu'] / 1e6:.2f}",
            f"{row['edges'] / row['links']:.2f}",
        )
        for row in found["segments"]
    )
    sizes = Table(
        "Exact reduction of hashtag counts, from segments",
        ("edges", "watermark", "s", "M edges/s", "M edges/CPU s", "edges a link"),
        rows,
        notes=(f"the paper has {_PAPER} edges a link on its own data; end markers not counted",),
    )
    modes = Table(
        f"The modes, from JSON lines of {found['bytes']:.0f} bytes an edge",
        ("mode", "edges", "s", "k edges/s", "k edges/CPU s", "links"),
        tuple(
            (
                mode,
                f"{row['edges']:,}",
                f"{row['seconds']:.2f}",
                f"{row['edges'] / row['seconds'] / 1e3:.0f}",
                f"{row['edges'] / row['cpu'] / 1e3:.0f}",
                f"{row['links']:,}",
            )
            for mode, row in found["modes"].items()
        ),
        notes=("the paper has 27 k edges/s and partition",),
    )
    segments = max(row["edges"] / row["seconds"] for row in found["segments"][-2:])
    exact = found["modes"]["exact"]
    lines = exact["edges"] / exact["seconds"]
    bars = (
        Bar(
            "from segments, edges a second",
            f"≥ {SEGMENTS_PER_SECOND / 1e6:g} M",
            f"{segments / 1e6:.2f} M",
            segments >= SEGMENTS_PER_SECOND,
        ),
        Bar(
            "from JSON lines, edges a second",
            f"≥ {LINES_PER_SECOND / 1e3:g} k",
            f"{lines / 1e3:.0f} k",
            lines >= LINES_PER_SECOND,
        ),
    )
    return Told((sizes, modes), bars, () if found["exact"] else ("links differ",))


if __name__ == "__main__":
    pa.set_cpu_count(1)
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
