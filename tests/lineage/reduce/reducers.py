"""A process that forks reducers of a log on demand, to be killed.

For each line it forks one, which says its process number, then `done` once the result is there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa

from whence.lineage.log import open_log
from whence.lineage.reduce.local_global import Settings
from whence.lineage.reduce.resumed import LogReduction
from whence.lineage.reduced import REDUCED

STEP = 400


def reduce(folder: Path, watermark: float | None) -> None:
    """Reduce the topic `job`, in steps, and let the result appear whole."""
    found = LogReduction(open_log(folder / "log"), "job", Settings(watermark=watermark))
    batches = list(found.in_steps(folder / "state", step=STEP))
    table = pa.Table.from_batches(batches, REDUCED).unify_dictionaries()
    beside = folder / "result.tmp"
    with pa.OSFile(str(beside), "wb") as file, pa.ipc.new_file(file, REDUCED) as writer:
        writer.write_table(table)
    os.replace(beside, folder / "result.arrow")


def main() -> None:
    folder, watermark = Path(sys.argv[1]), float(sys.argv[2])
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            os.write(1, b"%d\n" % os.getpid())
            reduce(folder, None if watermark < 0 else watermark)
            os.write(1, b"done\n")
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
