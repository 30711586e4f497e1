"""Tracers for tests, all in the one session of the test process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from whence.lineage.capture.tracer import Tracer, trace

_jobs = itertools.count(1)


@pytest.fixture(scope="package")
def few_partitions(spark: Any) -> Iterator[None]:
    """Let shuffles have a few partitions, as the data is small."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.fixture
def tracing(spark: Any, few_partitions: None, tmp_path: Path) -> Callable[..., Tracer]:
    """A function that gives a tracer of a new job, with a log of the test."""

    def make(**options: Any) -> Tracer:
        job = f"job{next(_jobs)}"
        made = trace(spark, workflow="test", job=job, log=tmp_path / "log", **options)
        assert isinstance(made, Tracer)
        return made

    return make
