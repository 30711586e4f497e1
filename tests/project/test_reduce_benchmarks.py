"""The benchmarks of reduction run, and do not believe wrong answers."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa

from benchmarks.lineage import partitions, reduce
from benchmarks.lineage.traces import hashtag_trace
from whence.lineage.reduce import reduce as reduced


def test_a_trace_is_the_same_on_every_machine_and_has_an_end_for_each_execution() -> None:
    trace = pa.Table.from_batches(hashtag_trace(500))
    assert trace.equals(pa.Table.from_batches(hashtag_trace(500)))
    with_ends = reduced(hashtag_trace(500), attempts=True)
    assert not with_ends.flow.uncommitted
    assert with_ends.table.num_rows == reduced(hashtag_trace(500)).table.num_rows


def test_reduction_is_judged_by_its_speed_and_by_its_links() -> None:
    found = reduce.measure(quick=True)
    assert found["exact"]
    quick = copy.deepcopy(found)
    for row in (*quick["segments"], *quick["modes"].values()):
        row["seconds"] = row["edges"] / 3e6
    told = reduce.tell(quick)
    assert [bar.met for bar in told.bars] == [True, True]
    assert not told.failures
    for row in (*found["segments"], *found["modes"].values()):
        row["seconds"] = row["edges"] / 1e5
    slow = reduce.tell({**found, "exact": False})
    assert [bar.met for bar in slow.bars] == [False, False]
    assert slow.failures


def test_partitions_are_told_with_what_local_reducers_pass_on() -> None:
    passed = partitions._passed(200, quick=True)
    assert all(row["local"] <= row["edges"] for row in passed)
    assert len({row["links"] for row in passed if row["mode"] == "exact"}) == 1
    stream: dict[str, Any] = {"edges": 10, "batches": 2.0, "whole": 3.0, "links": 5}
    streams = [{**stream, "partitions": 1}, {**stream, "partitions": 2, "batches": 1.0}]
    told = partitions.tell({"passed": passed, "streams": streams})
    assert "2.00 ×" in told.tables[1].notes[0]
    assert not told.failures
    streams[1]["links"] = 6
    assert partitions.tell({"passed": passed, "streams": streams}).failures
