"""What a section needs in its own process: timed batches, memory, a way to say what it found."""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.view.base import Batch, View


def timed(view: View, update: Batch) -> tuple[float, int]:
    """Apply a batch and read all of the change; return the seconds and the tuples read."""
    started = time.perf_counter()
    changes = view.apply(update)
    read = sum(c.inserted.num_rows + c.deleted.num_rows for c in changes.values())
    return time.perf_counter() - started, read


def in_turns(turns: Mapping[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Do each of these in turns, so often; return the seconds of each, without the freeing."""
    found: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(runs):
        for name, do in turns.items():
            gc.collect()
            started = time.perf_counter()
            result = do()
            found[name].append(time.perf_counter() - started)
            del result
    return found


def resident_bytes() -> int:
    """Return the memory of this process after a collection; its peak where no more is known."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_bytes()


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def tell(found: object) -> None:
    """Print what was found, for the process that asked."""
    print(json.dumps(found))


def progress(line: str) -> None:
    """Say how far it is."""
    print(line, file=sys.stderr, flush=True)
