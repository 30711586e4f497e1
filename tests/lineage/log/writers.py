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


def rows(writer: int, number: int) -> int:
    """Return how many edges a writer's segment has."""
    return 1 + (number * 7919 + writer) % 50


def segment(writer: int, number: int) -> pa.RecordBatch:
    """Return the edges of a writer's segment."""
    size = rows(writer, number)
    return make_batch(
        kind=Kind.USED,
        source_space=f"writer/{writer}",
        source=[number] * size,
        target_space="row",
        target=list(range(size)),
    )


class Judge:
    """Reads on from where it was: all segments are whole and in their writer's order."""

    def __init__(self, log: Log, topic: str) -> None:
        self.log = log
        self.topic = topic
        self.offset = 0
        self.segments: dict[int, int] = {}

    def look(self) -> dict[int, int]:
        """Return how many segments each writer has."""
        for after, batch in self.log.read(self.topic, 0, self.offset):
            left = batch.num_rows
            while left:
                first = batch.slice(batch.num_rows - left, 1).to_pylist()[0]
                writer = int(first["source_space"].removeprefix("writer/"))
                number = self.segments.get(writer, 0)
                expected = segment(writer, number)
                found = batch.slice(batch.num_rows - left, expected.num_rows)
                assert found.to_pylist() == expected.to_pylist()
                self.segments[writer] = number + 1
                left -= expected.num_rows
            self.offset = after
        return self.segments


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
            one.add(segment(writer, number))
            one.add(segment(writer, number + 1))
        number += 2
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
