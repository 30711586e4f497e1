"""The log of edges: how fast segments and JSON lines are written and read, on one core.

Run as a process of its own: `python -m benchmarks.lineage.log '{…}'` prints JSON.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from typing import Any, Final

import pyarrow as pa

from benchmarks import measured
from benchmarks.bars import Bar
from benchmarks.lineage.streams import hashtag_counts
from benchmarks.report import Table
from benchmarks.told import Told, at_most

SEGMENTS_PER_SECOND: Final = 10e6
LINE_MICROSECONDS: Final = 2.0


def measure(quick: bool) -> dict[str, Any]:
    """Write and read the same edges in both forms."""
    from whence.lineage.jsonl import read_lines, write_lines
    from whence.lineage.log import Topic, open_log

    batch = hashtag_counts(30_000 if quick else 2_000_000)
    lines = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as folder:
        log = open_log(folder)
        log.create(Topic("job"))

        def read_segments() -> int:
            return sum(part.num_rows for _, part in log.read("job", 0))

        def read_json() -> int:
            lines.seek(0)
            return sum(part.num_rows for part in read_lines(lines))

        wrote = measured.in_turns(
            {
                "segments": lambda: log.append("job", 0, batch),
                "lines": lambda: write_lines([batch], lines),
            },
            1,
        )
        read_json()  # the kernel is loaded
        counts = [read_segments(), read_json()]
        read = measured.in_turns({"segments": read_segments, "lines": read_json}, 5)
    edges = batch.num_rows
    return {
        "edges": edges,
        "bytes_per_line": len(lines.getvalue()) / edges,
        "wrote": {name: seconds[0] / edges for name, seconds in wrote.items()},
        "read": {name: min(seconds) / edges for name, seconds in read.items()},
        "exact": counts == [edges, edges],
    }


def tell(found: dict[str, Any]) -> Told:
    """Microseconds an edge, and edges a second."""
    read, wrote = found["read"], found["wrote"]
    rows = tuple(
        (
            name,
            f"{wrote[key] * 1e6:.3f}",
            f"{read[key] * 1e6:.3f}",
            f"{1e-6 / read[key]:.2f}",
        )
        for name, key in (("segments of Arrow", "segments"), ("JSON lines", "lines"))
    )
    table = Table(
        f"The log: {found['edges']:,} edges, {found['bytes_per_line']:.0f} bytes a JSON line",
        ("form", "write µs/edge", "read µs/edge", "read M edges/s"),
        rows,
        notes=("one core, warm; reading: the best of five, in turns",),
    )
    speed = 1 / read["segments"]
    bars = (
        Bar(
            "segments, edges read in a second",
            f"≥ {SEGMENTS_PER_SECOND / 1e6:g} M",
            f"{speed / 1e6:.1f} M",
            speed >= SEGMENTS_PER_SECOND,
        ),
        at_most("JSON lines, reading an edge", LINE_MICROSECONDS, read["lines"] * 1e6, "µs"),
    )
    return Told((table,), bars, () if found["exact"] else ("not all edges were read",))


if __name__ == "__main__":
    pa.set_cpu_count(1)
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
