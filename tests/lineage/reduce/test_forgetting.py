"""What a reducer forgets before the end, and what allows it to."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.reduce.streams import SPACES, START, Stream, execution_of, pairs, streams, timed
from lineage.reduce.test_exact import EXAMPLES, meant
from whence.diagnostics import LimitError
from whence.lineage.events import Edge, Kind, batch_of, make_batch
from whence.lineage.reduce.exact import Exact
from whence.lineage.reduce.local_global import LocalGlobal, Settings
from whence.lineage.reduce.spill import Arena


def ends_last(edges: tuple[Edge, ...]) -> list[Edge]:
    """The same edges, with each end marker after all else of its execution."""
    found = [e for e in edges if e.kind is not Kind.END]
    for end in (e for e in edges if e.kind is Kind.END):
        whose = [i for i, e in enumerate(found) if execution_of(e) == execution_of(end)]
        found.insert(whose[-1] + 1 if whose else 0, end)
    return found


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data(), streams() | streams(cycles=True))
def test_forgetting_what_is_complete_changes_nothing(data: st.DataObject, stream: Stream) -> None:
    edges = timed(ends_last(tuple(data.draw(st.permutations(stream.edges)))))
    reducer = Exact(watermark=0, **stream.asked)  # type: ignore[arg-type]
    found = []
    for at, edge in enumerate(edges):
        reducer.add(batch_of([edge]))
        coming = {n[0] for e in edges[at + 1 :] for n in (e.source, e.target) if n}
        reducer.close(*({*SPACES, "f"} - coming))
        reducer.forget()
        found += reducer.drain()
    assert pairs(found + list(reducer.finish())) == meant(stream)
    assert not reducer.counts.late


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data(), streams(), st.integers(1, 4), st.integers(1, 5), st.integers(0, 6))
def test_events_within_the_watermark_are_not_late(
    data: st.DataObject, stream: Stream, partitions: int, size: int, delay: int
) -> None:
    edges = timed(ends_last(stream.edges))
    # Each event comes up to `delay` seconds after its time.
    late = [data.draw(st.integers(0, delay)) for _ in edges]
    order = sorted(range(len(edges)), key=lambda i: (i + late[i], i))
    asked = {**stream.asked, "watermark": delay, "local_batch": size}
    reducer = LocalGlobal(partitions, Settings(**asked))  # type: ignore[arg-type]
    places: dict[object, int] = {}
    for edge in (edges[i] for i in order):
        place = places.setdefault(execution_of(edge), data.draw(st.integers(0, partitions - 1)))
        reducer.add(place, batch_of([edge]))
    assert pairs(list(reducer.finish())) == meant(stream)
    assert not reducer.flow.late


def test_what_comes_after_the_watermark_is_counted_and_left_out() -> None:
    def at(seconds: float, edge: Edge) -> Edge:
        return replace(edge, time=START + timedelta(seconds=seconds))

    first = [
        at(0, Edge(Kind.USED, ("f", 1), ("in", 1))),
        at(0, Edge(Kind.GENERATED, ("out", 1), ("f", 1))),
        at(1, Edge(Kind.END, ("f", 1))),
        at(100, Edge(Kind.USED, ("f", 2), ("in", 2))),
    ]
    reducer = Exact(attempts=True, watermark=10)
    reducer.add(batch_of(first))
    reducer.forget()
    reducer.add(batch_of([at(2, Edge(Kind.USED, ("f", 1), ("in", 7)))]))
    assert pairs(list(reducer.finish())) == {(("out", 1), ("in", 1))}
    assert reducer.counts.late == 1
    assert [d.code for d in reducer.diagnostics] == ["W1125"]


def stage(number: int, rows: int) -> pa.RecordBatch:
    """One stage of a chain: row by row, from dataset to dataset."""
    rows_ = np.arange(rows)
    spaces = (f"f{number}", f"d{number + 1}", f"d{number}")
    kind = np.tile(np.array([0, 1, 4], np.uint8), rows)
    source = np.repeat(rows_, 3)
    texts = pa.array(spaces)
    ends = kind == 4
    return make_batch(
        kind=kind,
        source_space=pa.DictionaryArray.from_arrays(
            pa.array(np.tile([0, 1, 0], rows), pa.int32()), texts
        ),
        source=source,
        target_space=pa.DictionaryArray.from_arrays(
            pa.array(np.tile([2, 0, 0], rows), pa.int32(), mask=ends), texts
        ),
        target=pa.array(source, mask=ends),
    )


def test_state_is_bounded_by_what_is_open() -> None:
    rows, stages = 2000, 20
    reducer = Exact(attempts=True)
    for number in range(stages):
        reducer.add(stage(number, rows))
        reducer.close(f"f{number}")
        if number:
            reducer.close(f"d{number}")
        reducer.forget()
        assert reducer.graph.nodes <= 2 * rows
        assert reducer.graph.edges <= rows
    assert reducer.counts.most_nodes <= 5 * rows
    found = pairs(list(reducer.finish()))
    assert found == {((f"d{stages}", n), ("d0", n)) for n in range(rows)}


def test_links_that_are_final_leave_before_the_end() -> None:
    reducer = Exact(attempts=True)
    reducer.add(stage(0, 100))
    reducer.close("f0", "d0", "d1")
    reducer.forget()
    assert sum(batch.num_rows for batch in reducer.drain()) == 100
    assert reducer.graph.nodes == 0
    reducer.add(batch_of([Edge(Kind.DERIVED, ("x", 1), ("d1", 5))]))
    assert list(reducer.finish()) == []
    assert reducer.counts.late == 1


def test_what_does_not_fit_in_memory_goes_to_files() -> None:
    reducer = Exact(memory=200_000)
    for number in range(3):
        reducer.add(stage(number, 10_000))
    assert reducer.arena.held <= 200_000
    assert reducer.arena.spilled > 500_000
    found = pairs(list(reducer.finish()))
    assert found == {(("d3", n), ("d0", n)) for n in range(10_000)}
    assert reducer.counts.spilled > 500_000


LIMITED = """
import resource, sys
import pyarrow as pa
from lineage.reduce.test_forgetting import stage
from whence.lineage.reduce.compiled import compile_kernels
from whence.lineage.reduce.exact import Exact
warm = Exact()
warm.add(stage(0, 3000))
sum(b.num_rows for b in warm.finish())
data = int(next(l for l in open("/proc/self/status") if l.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (data + 60_000_000,) * 2)
reducer = Exact(memory=int(sys.argv[1]) or None)
for number in range(12):
    reducer.add(stage(number, 100_000))
print(sum(b.num_rows for b in reducer.finish()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limit on private memory")
def test_with_a_limit_it_runs_where_it_would_run_out_of_memory() -> None:
    path = os.pathsep.join(p for p in sys.path if p)

    def run(memory: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", LIMITED, str(memory)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    assert run(5_000_000).stdout == "100000\n"
    without = run(0)
    assert without.returncode
    assert "MemoryError" in without.stderr or "malloc" in without.stderr


def test_a_folder_without_room_is_told() -> None:
    arena = Arena(memory=10, folder="/nowhere")
    with pytest.raises(LimitError, match=r"W1120.*no room in `/nowhere`"):
        arena.empty(100, np.int64)
