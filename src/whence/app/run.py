"""A whole run: inputs read, program evaluated, outputs written, and what it cost."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from whence import __version__, session
from whence.engine.local.guard import peak_bytes
from whence.facts.directives import load_inputs, write_outputs
from whence.facts.outputs import Outputs

if TYPE_CHECKING:
    from whence.diagnostics import Diagnostic
    from whence.engine.base import Limits, Observer, Stats
    from whence.facts.schema import OnBadRow
    from whence.session import Compiled

log = logging.getLogger("whence.run")


def run_program(
    compiled: Compiled,
    *,
    facts_dir: Path,
    out_dir: Path | None,
    engine: str,
    limits: Limits,
    threads: int | None = None,
    on_bad_row: OnBadRow = "stop",
    stats_file: Path | None = None,
    observer: Observer | None = None,
    warn: Callable[[Diagnostic], None] | None = None,
) -> Stats:
    """Evaluate a program and write its outputs; no `out_dir` sends them to stdout."""
    started = time.perf_counter()
    inputs = load_inputs(compiled.reading, facts_dir, on_bad_row=on_bad_row, warn=warn)
    loaded = time.perf_counter()
    log.info("read %d facts", sum(table.num_rows for table in inputs.values()))
    evaluation = session.evaluate(
        compiled, inputs, engine=engine, limits=limits, threads=threads, observer=observer
    )
    evaluated = time.perf_counter()
    log.info("evaluated in %.3f s", evaluated - loaded)
    written = write_outputs(
        compiled.source,
        evaluation,
        out_dir or Path(),
        stdout=sys.stdout.buffer,
        everything_to_stdout=out_dir is None,
        warn=warn,
    )
    for path in written:
        log.info("wrote %s", path)
    stats = evaluation.stats
    stats.load_seconds += loaded - started
    stats.write_seconds += time.perf_counter() - evaluated
    stats.peak_memory_bytes = max(stats.peak_memory_bytes, peak_bytes())
    if stats_file is not None:
        write_stats(stats, stats_file)
    return stats


def write_stats(stats: Stats, path: Path) -> None:
    """Write what a run cost as one JSON object."""
    text = json.dumps({"whence": __version__, **asdict(stats)}, indent=2, ensure_ascii=False)
    with Outputs() as outputs:
        with outputs.open(path) as out:
            out.write(text.encode() + b"\n")
        outputs.commit()
