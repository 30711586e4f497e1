"""What is captured into Kafka is reduced to what it would be from a folder."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from lineage.capture.captured import expected, rows_of
from spark.kafka.conftest import broker
from whence.lineage.capture.tracer import Tracer, trace
from whence.lineage.log import Log, open_log
from whence.lineage.reduce.resumed import LogReduction

__all__ = ["broker"]

pytestmark = [
    *(pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.cluster),
    *(pytest.mark.network, pytest.mark.timeout(600)),
]


def links(log: Log, topic: str) -> list[Any]:
    """Return the reduced graph without the name of the run, in an order of its own."""
    rows = [row for batch in LogReduction(log, topic).at_once() for row in batch.to_pylist()]
    return sorted(map(repr, rows))


def counted(tracer: Tracer) -> Any:
    frame = tracer.frame(tracer.spark.range(500, numPartitions=3), "in", key="id")
    return frame.selectExpr("id % 7 as k").groupBy("k").count().collect()


@pytest.mark.parametrize("sample", [1.0, 0.1])
def test_edges_in_kafka_are_those_in_a_folder(
    spark: Any, broker: Any, tmp_path: Path, sample: float
) -> None:
    job = f"job-{uuid.uuid4().hex[:8]}"
    found = []
    for place in (f"kafka://{broker.servers}", str(tmp_path / "log")):
        log = open_log(place)
        tracer = trace(spark, workflow="w", job=job, log=log, sample=sample, partitions=2)
        assert isinstance(tracer, Tracer)
        rows = counted(tracer)
        found.append(links(log, tracer.topic))
        if sample == 1.0:
            meant = [
                ((k, len(range(k, 500, 7))), [("in", n) for n in range(k, 500, 7)])
                for k in range(7)
            ]
            assert rows_of(tracer, rows, {"in"}) == expected(meant)
    assert found[0] == found[1] != []
