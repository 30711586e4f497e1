"""Edges go to logs that are no folders too, and into several partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.capture.captured import edges, expected, rows_of
from whence.lineage.capture.tracer import Tracer, trace
from whence.lineage.log.directory import DirectoryLog

pytestmark = pytest.mark.spark


class Elsewhere:
    """A log that is no folder to its users."""

    def __init__(self, path: Path) -> None:
        self._log = DirectoryLog(path)

    def __getattr__(self, name: str) -> Any:
        assert name not in ("take_over", "leave")
        return getattr(self._log, name)


MEANT = expected(
    [((k, 4), [("in", n) for n in range(12) if n % 3 == k]) for k in range(3)],
)


def counted(tracer: Tracer) -> Any:
    frame = tracer.frame(tracer.spark.range(12, numPartitions=2), "in", key="id")
    return frame.selectExpr("id % 3 as k").groupBy("k").count().collect()


def test_edges_reach_a_log_that_is_no_folder(
    spark: Any, few_partitions: None, tmp_path: Path
) -> None:
    log: Any = Elsewhere(tmp_path / "log")
    tracer = trace(spark, workflow="w", job="j", log=log)
    assert isinstance(tracer, Tracer)
    assert rows_of(tracer, counted(tracer), {"in"}) == MEANT


@pytest.mark.parametrize("strategy", ["vertical", "horizontal"])
def test_edges_go_to_all_partitions_and_no_execution_is_split(
    tracing: Callable[..., Tracer], strategy: str
) -> None:
    tracer = tracing(partitions=2, strategy=strategy)
    assert rows_of(tracer, counted(tracer), {"in"}) == MEANT
    homes: dict[object, set[int]] = {}
    for partition in range(2):
        found = [b for _, b in tracer.log.read(tracer.topic, partition)]
        assert found
        for batch in found:
            activities = zip(
                batch["kind"].to_pylist(),
                batch["source_space"].to_pylist(),
                batch["source"].to_pylist(),
                strict=True,
            )
            for kind, space, number in activities:
                if kind in (0, 4):
                    homes.setdefault((space, number), set()).add(partition)
    assert all(len(places) == 1 for places in homes.values())
    assert len(edges(tracer)) > len(homes)
