"""Processes that append to a log until they are killed, and say each commit on their output.

The n-th segment of a writer is a function of the writer and of n, so anybody can judge it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from whence.lineage.events import Kind, make_batch
from whence.lineage.log import Log, open_log


def segment(writer: int, number: int) -> pa.RecordBatch:
    """Return the edges of a writer's segment."""
    size = 1 + (number * 7919 + writer) % 50
    return make_batch(
        kind=Kind.USED,
        source_space=f"writer/{writer}",
        source=[number] * size,
        target_space="row",
        target=list(range(size)),
    )


def judge(log: Log, topic: str) -> dict[str, int]:
    """Return how many segments each writer has; all are whole and in its order, without gaps."""
    found: dict[str, list[tuple[int, int]]] = {}
    for _, batch in log.read(topic, 0):
        for row in batch.to_pylist():
            found.setdefault(row["source_space"], []).append((row["source"], row["target"]))
    for space, rows in found.items():
        writer = int(space.split("/")[1])
        expected = [
            (number, target)
            for number in range(rows[-1][0] + 1)
            for target in segment(writer, number).column("target").to_pylist()
        ]
        assert rows == expected, space
    return {space: rows[-1][0] + 1 for space, rows in found.items()}


@contextmanager
def started(folder: Path, writer: int, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that forks a writer for each line it is given."""
    command = [sys.executable, __file__, str(folder), str(writer), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            yield child
        finally:
            child.kill()  # it must not outlive a test that fails


def write(log: Log, writer: int, number: int, pause: float) -> None:
    """Append segments from a number on, as long as somebody listens."""
    parent = os.getppid()
    while os.getppid() == parent:
        with log.writer("t", 0) as one:
            batch = segment(writer, number)
            one.add(batch.slice(0, batch.num_rows // 2))
            one.add(batch.slice(batch.num_rows // 2))
        number += 1
        os.write(1, b"%d\n" % number)
        time.sleep(pause)


def main(folder: str, writer: str, *options: str) -> None:
    log = open_log(folder, sync="sync" in options)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            os.write(1, b"pid %d\n" % os.getpid())
            write(log, int(writer), int(line), 0.02 if "steady" in options else 0.0)
            os._exit(0)
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
