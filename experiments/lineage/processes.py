"""Local reducers as processes that read JSON lines; the global one is in the process that asks."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from benchmarks.process import Failed
from experiments.lineage.partition import Global, Partition, edges_in, settings_of
from experiments.lineage.trace import Job, trace
from whence.lineage.events import EDGES
from whence.lineage.jsonl import read_lines, write_lines
from whence.lineage.partitioning import split
from whence.lineage.reduce.local_global import LOCAL_BATCH
from whence.lineage.reduced import flatten

_WARM: Final = 12_000_000
"""Bytes that a local reducer reads before the clock starts: few lines load no kernel."""


def measure(
    job: Job, mode: str, partitions: Sequence[int], runs: int, folder: Path
) -> list[dict[str, Any]]:
    """Reduce the trace so often, in turns over the numbers of partitions; return all runs."""
    files = {count: _write(job, count, folder / str(count)) for count in partitions}
    found = []
    for _ in range(runs):
        for count in partitions:
            row = _reduce(files[count], mode)
            found.append({"system": f"processes, {mode}", "partitions": count, **row})
    return found


def _write(job: Job, count: int, folder: Path) -> list[Path]:
    """Write the trace by worker into as many files."""
    folder.mkdir(parents=True)
    paths = [folder / f"{i}.jsonl" for i in range(count)]
    with ExitStack() as open_:
        files = [open_.enter_context(path.open("wb")) for path in paths]
        for batch in trace(job):
            for partition, part in split(batch, "vertical", count):
                write_lines([part], files[partition])
    return paths


def _reduce(paths: Sequence[Path], mode: str) -> dict[str, Any]:
    start = multiprocessing.get_context("spawn")
    pipes, locals_ = [], []
    settings = settings_of(mode, LOCAL_BATCH)
    warm = Global(settings)
    for batch in trace(Job(10_000)):  # kernels are loaded
        warm.add(batch)
    warm.finish()
    for path in paths:
        here, there = start.Pipe()
        process = start.Process(target=_local, args=(str(path), mode, there), daemon=True)
        process.start()
        there.close()
        pipes.append(here)
        locals_.append(process)
    try:
        for pipe in pipes:
            pipe.recv()
        started = time.perf_counter()
        for pipe in pipes:
            pipe.send("go")
        cpu = time.process_time()
        reduced, told = _gather(pipes, Global(settings))
        seconds = time.perf_counter() - started
        cpu = time.process_time() - cpu
    except (EOFError, BrokenPipeError):
        raise Failed("a local reducer ended early") from None
    finally:
        for process in locals_:
            process.join(10)
            if process.is_alive():
                process.terminate()
    return {
        "seconds": seconds,
        "slowest": max(one["cpu"] for one in told),
        "behind": cpu,
        "largest": max(one["edges"] for one in told),
        "edges": sum(one["edges"] for one in told),
        "bytes": sum(path.stat().st_size for path in paths),
        "passed": sum(one["passed"] for one in told),
        "pairs": flatten(reduced).num_rows,
    }


def _gather(pipes: Sequence[Connection], behind: Global) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Take in what local reducers pass on, until all are over."""
    told, open_ = [], list(pipes)
    while open_:
        for pipe in wait(open_):
            assert isinstance(pipe, Connection)
            data = pipe.recv_bytes()
            if data:
                with pa.ipc.open_stream(data) as passed:
                    for batch in passed:
                        behind.add(batch)
            else:
                told.append(pipe.recv())
                open_.remove(pipe)
    return behind.finish(), told


def _local(path: str, mode: str, pipe: Connection) -> None:
    """Be a local reducer: wait for the start, read, and pass on."""
    pa.set_cpu_count(1)
    settings = settings_of(mode, LOCAL_BATCH)
    warm = Partition(settings)
    for batch in read_lines(_head(path)):
        list(warm.add(batch))
    warm.finish()
    partition = Partition(settings)
    pipe.send("ready")
    pipe.recv()
    cpu, edges, passed = time.process_time(), 0, 0
    for batch in read_lines(path):
        edges += edges_in(batch)
        for out in partition.add(batch):
            passed += edges_in(out)
            _send(pipe, out)
    out = partition.finish()
    _send(pipe, out)
    pipe.send_bytes(b"")
    cost = time.process_time() - cpu
    pipe.send({"cpu": cost, "edges": edges, "passed": passed + edges_in(out)})


def _head(path: str) -> pa.BufferReader:
    with open(path, "rb") as file:
        return pa.BufferReader(file.read(_WARM).rpartition(b"\n")[0])


def _send(pipe: Connection, batch: pa.RecordBatch) -> None:
    if batch.num_rows:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, EDGES) as writer:
            writer.write_batch(batch)
        pipe.send_bytes(memoryview(sink.getvalue()))
